//! Groups of a table, in parts that each fit into memory.
//!
//! ```text
//!  groups, chunk by chunk ──► place ──► Grouping ──► all cells, or a sample ──► thresholds (RoutingTree)
//!            │                                                                      │
//!            └──────────────► place ─────────────────────────────────► route ◄──────┘
//!                                                                        │
//!                                                                        ▼
//!                                                           the groups of each part, all of them
//! ```
//!
//! Up to [`PartSizes::most_groups`] groups form one part. Beyond that, a sample of the cells determines where the table
//! is cut, and every group is routed to its part. The choice depends on the data alone, and so does the release; memory
//! only determines what is spilled.
//!
//! If the values of a column are not in memory ([`super::spilled_values`]), groups are placed by ranks, the keys of their values
//! accompany them to their part, and each table has a slice of the domain.

use std::sync::Arc;

use super::group_tuples::{group_all, group_stored};
use super::memory::reserve;
use super::route_groups::{WAITING_GROUPS, route};
use super::table_survey::counted;
use super::{MemoryBudget, OutOfCoreError, StoredLists, TableSurvey, Workspace};
use crate::anonymize::{Method, PartitionChoice};
use crate::error::CoreError;
use crate::model::Privacy;
use crate::partition::RoutingTree;
use crate::survey::{CountedTuples, Domains, GroupedTable};
use crate::table::Table;

/// Threshold above which a table is cut into parts, and the size of parts. The same for every table, since the release
/// depends on it.
#[derive(Clone, Copy, Debug)]
pub struct PartSizes {
    /// Maximum number of groups in a table that is not cut.
    pub most_groups: usize,
    /// Approximate number of cells per part.
    pub part_cells: usize,
    /// Whether blocks are classes, so that the table is cut between them, and nowhere else.
    pub between_blocks: bool,
}

impl Default for PartSizes {
    fn default() -> Self {
        Self { most_groups: 1 << 20, part_cells: 1 << 17, between_blocks: false }
    }
}

/// Maximum number of parts: each is an open file. Tables of more cells have larger parts.
const MAX_PARTS: f64 = 512.0;

/// Memory per group, besides its tuple, while the classes of a part are formed.
const FORMING_BYTES: usize = 64;

/// Name of the resource in the out-of-memory error.
pub(super) const GROUPS: &str = "the distinct combinations of quasi-identifiers";

/// Groups of all rows, in parts.
#[derive(Debug)]
pub struct TableParts {
    domains: Domains,
    parts: Vec<GroupedPart>,
    /// Part of each group of each chunk, in the order of streams and chunks, if there are several parts.
    part_of: Option<Box<dyn StoredLists<u32>>>,
    groups: u64,
    workspace: Arc<dyn Workspace>,
    _memory: Box<dyn MemoryBudget>,
}

/// Groups of one part.
#[derive(Debug)]
enum GroupedPart {
    /// The table, and for each group from a chunk its group in the table.
    Whole(Table, Vec<u32>),
    /// Tuples of domain positions in arrival order, each with the keys of its spilled values.
    Stored(Box<dyn StoredLists<u32>>),
}

/// The table of one part.
pub struct PartTable {
    /// Cells and groups of the part.
    pub table: Table,
    /// For each group from a chunk that was routed to the part, in order of arrival, its group in the table.
    pub numbers: Vec<u32>,
    /// Memory of the table, unless it is the only one, whose memory is that of the [`TableParts`].
    pub memory: Option<Box<dyn MemoryBudget>>,
}

impl TableParts {
    /// Groups the rows of a table. Reserves memory for the table if it is not cut, and otherwise for a sample of it and for
    /// groups on their way to their parts. Fails if there are no rows, if memory is refused, or if groups can't be stored.
    pub fn of(
        survey: &mut TableSurvey,
        method: Method,
        privacy: &Privacy,
        sizes: PartSizes,
    ) -> Result<Self, OutOfCoreError> {
        if survey.rows() == survey.suppressed() {
            return Err(CoreError::NoRows { suppressed: survey.suppressed() }.into());
        }
        let domains = survey.domains()?;
        Self::in_domains(survey, domains, method, privacy, sizes)
    }

    /// Like [`TableParts::of`], for a table with rows and known domains.
    pub fn in_domains(
        survey: &TableSurvey,
        mut domains: Domains,
        method: Method,
        privacy: &Privacy,
        sizes: PartSizes,
    ) -> Result<Self, OutOfCoreError> {
        let (workspace, count) = (survey.workspace(), survey.groups());
        let memory = workspace.budget("groups");
        // Only Mondrian starts with cuts that can be made on a sample, and only for models that further rows can't break.
        // Everything else needs the whole table, unless its classes are given.
        let starts_with_cuts = method.partition == PartitionChoice::Mondrian || sizes.between_blocks;
        let is_cut = starts_with_cuts && privacy.is_closed_under_adding_rows();
        let most = if is_cut && !privacy.needs_release() { sizes.most_groups } else { usize::MAX };
        let GroupedTable { table, groups, share } = group_all(survey, &domains, most, memory.as_ref())?;
        let (parts, part_of) = match groups {
            Some(numbers) => {
                let size = table.group_count() * (domains.width() * 4 + 16) + numbers.len() * 4;
                reserve(memory.as_ref(), size, GROUPS)?;
                (vec![GroupedPart::Whole(table, numbers)], None)
            }
            None => {
                let tree = cut(&table, share, privacy, sizes);
                drop(table);
                tracing::info!(
                    parts = tree.len(),
                    "too many distinct quasi-identifier tuples for one pass; divided into parts"
                );
                let width = domains.width() + 2 * survey.spilled().len() + 1;
                reserve(memory.as_ref(), WAITING_GROUPS * width * 8, GROUPS)?;
                let (parts, part_of) = route(survey, &domains, &tree)?;
                let parts: Vec<GroupedPart> = parts.into_iter().map(GroupedPart::Stored).collect();
                // Many groups of few cells are one part, which is like a table that is not cut.
                let part_of = (parts.len() > 1).then_some(part_of);
                if part_of.is_some() {
                    domains.forget_numbers();
                }
                (parts, part_of)
            }
        };
        Ok(Self { domains, parts, part_of, groups: count, workspace: Arc::clone(workspace), _memory: memory })
    }

    /// Returns the domains of all rows.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Returns the number of groups over all chunks. A group that occurs in several chunks counts several times.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether there is no part. Always false.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the table of a part. Must be called at most once per part. Reserves memory for the table, and for forming
    /// its classes; fails if it is refused.
    pub fn part(&mut self, part: usize) -> Result<PartTable, OutOfCoreError> {
        let gone = GroupedPart::Whole(Table::empty(&self.domains), Vec::new());
        match std::mem::replace(&mut self.parts[part], gone) {
            GroupedPart::Whole(table, numbers) => Ok(PartTable { table, numbers, memory: None }),
            GroupedPart::Stored(stored) => {
                let memory = self.workspace.budget("part");
                let (table, numbers) = group_stored(stored.as_ref(), &self.domains, memory.as_ref())?;
                let group_bytes = size_of::<u32>() * self.domains.width() + FORMING_BYTES;
                let size = table.group_count() * group_bytes + numbers.len() * size_of::<u32>();
                reserve(memory.as_ref(), size, GROUPS)?;
                Ok(PartTable { table, numbers, memory: Some(memory) })
            }
        }
    }

    /// Returns the tuples of a part, to form its classes in another task. Fails if there is only one part, or if values
    /// were spilled: other tasks have the whole domains.
    pub fn tuples(&self, part: usize) -> Result<CountedTuples, OutOfCoreError> {
        match &self.parts[part] {
            GroupedPart::Stored(stored) if self.domains.slices().next().is_none() => {
                let mut tuples = CountedTuples::new(self.domains.width());
                for list in stored.read()? {
                    counted(&list?, tuples.width()).for_each(|(tuple, rows)| tuples.push(tuple, rows));
                }
                Ok(tuples)
            }
            _ => Err(OutOfCoreError::Damaged),
        }
    }

    /// Takes the part of each group of each chunk, one list per chunk, in the order of streams and chunks. `None` if
    /// there is only one part.
    pub(super) fn take_part_of(&mut self) -> Option<Box<dyn StoredLists<u32>>> {
        self.part_of.take()
    }
}

/// Returns where a table is cut into parts, given a sample with this share of its cells.
fn cut(sample: &Table, share: f64, privacy: &Privacy, sizes: PartSizes) -> RoutingTree {
    let part_cells = (sizes.part_cells as f64 * share).max(sample.cell_count() as f64 / MAX_PARTS);
    let tree = match sizes.between_blocks {
        true => RoutingTree::between_blocks(sample, part_cells as usize),
        false => RoutingTree::of(sample, privacy, part_cells as usize),
    };
    tree.in_whole(sample)
}
