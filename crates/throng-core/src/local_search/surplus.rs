//! Surplus rows of cells that satisfy the privacy model alone.
//!
//! A *core* of rows that satisfies the models stays with the cell at no loss. If all models are closed under adding rows,
//! the cell stays satisfied whatever else it lends; otherwise it lends nothing here. A class that lacks rows borrows them from a near lender, which costs less than
//! growing towards the next movable cell.

use crate::cluster::Portion;
use crate::model::{Need, Privacy, Tally};
use crate::table::Table;

/// Rows that one cell can lend, by group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Surplus {
    first_group: u32,
    by_group: Vec<u32>,
    rows: u32,
}

impl Surplus {
    /// Returns the surplus of a home. The core, chosen as an allocation to an empty class, stays with the cell.
    pub(super) fn of_singleton(table: &Table, privacy: &Privacy, cell: u32, home: &[Portion]) -> Self {
        let mut surplus = Self::none(table, cell);
        surplus.give_back(home);
        match surplus.allocate(table, privacy, &Tally::empty(table.tally_shape())) {
            Some(_core) => surplus,
            None => surplus.emptied(),
        }
    }

    /// Returns the surplus of a cell that lends nothing.
    pub(super) fn none(table: &Table, cell: u32) -> Self {
        let groups = table.groups(cell);
        Self { first_group: groups.start, by_group: vec![0; groups.len()], rows: 0 }
    }

    /// Returns an empty surplus of the same cell.
    pub(super) fn emptied(&self) -> Self {
        Self { first_group: self.first_group, by_group: vec![0; self.by_group.len()], rows: 0 }
    }

    /// Returns the number of rows that can be lent.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    pub(super) fn give_back(&mut self, portions: &[Portion]) {
        for portion in portions {
            self.by_group[(portion.group - self.first_group) as usize] += portion.rows;
            self.rows += portion.rows;
        }
    }

    /// Removes portions, which must be available.
    pub(super) fn take(&mut self, portions: &[Portion]) {
        for portion in portions {
            self.by_group[(portion.group - self.first_group) as usize] -= portion.rows;
            self.rows -= portion.rows;
        }
    }

    /// Allocates the rows that a class lacks. Returns `None` and leaves the surplus unchanged if it has too few.
    pub(super) fn allocate(&mut self, table: &Table, privacy: &Privacy, class: &Tally) -> Option<Vec<Portion>> {
        let mut tally = class.clone();
        let mut allocated: Vec<Portion> = Vec::new();
        loop {
            let (helping, most) = match privacy.need(&tally) {
                Need::Nothing => return Some(allocated),
                Need::AnyRow(rows) => (false, rows),
                Need::DiverseRow(_) => (true, 1),
            };
            let left = self.by_group.iter().zip(self.first_group..).filter(|(rows, _)| **rows > 0);
            let wanted = left.filter(|(_, group)| !helping || privacy.helps(&tally, table.codes(*group)));
            let Some((left, group)) = wanted.max_by_key(|(rows, group)| (**rows, std::cmp::Reverse(*group))) else {
                self.give_back(&allocated);
                return None;
            };
            let portion = Portion { group, rows: (*left).min(u32::try_from(most).unwrap_or(u32::MAX)) };
            self.take(&[portion]);
            tally.add(table.codes(group), u64::from(portion.rows));
            match allocated.iter_mut().find(|known| known.group == group) {
                Some(known) => known.rows += portion.rows,
                None => allocated.push(portion),
            }
        }
    }
}
