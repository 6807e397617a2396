//! Decides about each row of the buffer: release, wait or suppress.

use super::published_boxes::PublishedBoxes;
use super::reuse::joining;
use crate::anonymize::Method;
use crate::error::Result;
use crate::feasibility::Feasibility;
use crate::model::Privacy;
use crate::partition::FeasibleRegions;
use crate::survey::SUPPRESSED;
use crate::table::Table;

/// Maximum number of proposals per cell in a cycle of the local search of an emission: as many as a very large table gets. A separate
/// table of that size would get many times as many, and all emissions together would then be searched that much longer than all of
/// their rows in one table. On a census that lost 6 to 9 % less, in five times the time.
pub const EMISSION_PROPOSALS: u32 = 1;

/// Decision about the rows of a buffer. Rows are indices in order of arrival; each is in one of four sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emission {
    /// Rows that are released in new classes. They are anonymized together, and can satisfy the models.
    pub released: Vec<u32>,
    /// Rows that are released in published boxes, with the number of the box.
    pub joining: Vec<(u32, u32)>,
    /// Rows that can't be in a class yet, and wait.
    pub waiting: Vec<u32>,
    /// Number of rows that can't be in a class and must not wait any longer, or have a null that the policy suppresses.
    pub suppressed: u64,
}

/// Where the rows of a group go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere yet.
    None,
    /// To a new class.
    Class,
    /// To a published box.
    Box(u32),
}

impl Emission {
    /// Decides the rows of a buffer, of which the oldest `due` must not wait. `groups` has the group of each row, or
    /// [`SUPPRESSED`].
    ///
    /// A row can be in a class if the rows with which column limits allow it to share a class satisfy the models
    /// together.
    pub fn of(table: &Table, groups: &[u32], privacy: &Privacy, due: usize) -> Self {
        let allowed = FeasibleRegions::of(table, privacy);
        let mut places = vec![Place::None; table.group_count()];
        if Feasibility::of(table, privacy, &allowed).shortfalls.is_empty() {
            for group in allowed.classes.iter().flatten().flat_map(|cell| table.groups(*cell)) {
                places[group as usize] = Place::Class;
            }
        }
        Self::partition(groups, due, |group| places[group as usize])
    }

    /// Decides the rows of a buffer like [`Emission::of`]. Some of them join classes of earlier emissions, whose `boxes` are known;
    /// `method` forms the new classes.
    pub fn joining(
        table: &Table,
        groups: &[u32],
        privacy: &Privacy,
        due: usize,
        boxes: &PublishedBoxes,
        method: Method,
    ) -> Result<Self> {
        let places = joining(table, privacy, &boxes.in_table(table)?, method.with_cycles(1))?;
        Ok(Self::partition(groups, due, |group| places[group as usize]))
    }

    /// Releases nothing: rows that are due are suppressed, and all others wait.
    pub fn nothing(groups: &[u32], due: usize) -> Self {
        Self::partition(groups, due, |_| Place::None)
    }

    fn partition(groups: &[u32], due: usize, place: impl Fn(u32) -> Place) -> Self {
        let mut emission = Self::default();
        for (row, group) in (0..).zip(groups) {
            match *group {
                SUPPRESSED => emission.suppressed += 1,
                group => match place(group) {
                    Place::Class => emission.released.push(row),
                    Place::Box(number) => emission.joining.push((row, number)),
                    Place::None if (row as usize) < due => emission.suppressed += 1,
                    Place::None => emission.waiting.push(row),
                },
            }
        }
        emission
    }
}
