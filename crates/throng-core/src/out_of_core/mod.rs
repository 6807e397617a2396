//! Out of core: forms the classes of tables that may not fit into memory.
//!
//! ```text
//!  streams ─► ChunkedSurvey   values and groups of each stream, chunk by chunk
//!          ─► TableSurvey     of all streams; merged into domains
//!          ─► TableParts      one table, or parts that a sample of the cells decides
//!          ─► Classes         part by part: leaves, classes (PartJob); all parts: labels (GatheredClasses)
//!          ─► ClassedGroups   the classes of the groups of each row, whole or part by part
//!  rows    ─► RowAssignment   the class of each row, also where classes share a group
//!          ─► BucketBorders   the piece of the release of each row
//! ```
//!
//! The stages that do the work are those of a table in memory ([`crate::survey`], [`crate::partition`], [`crate::cluster`],
//! [`crate::recode`]). This module decides which of a table they see at a time, and what is kept between them. Lists of
//! numbers are all that it keeps.
//!
//! Nothing here knows an engine. Memory is asked for before it is used ([`MemoryBudget`]), and lists are written where the
//! host wants them, in memory or on disk ([`ListWriter`], [`StoredLists`]); both come from a [`Workspace`]. What is spilled never
//! changes a release: where a table is cut depends on its content alone.

mod bucket_borders;
mod chunked_survey;
mod class_spec;
mod classed_groups;
mod classes;
mod error;
mod form_part;
mod gathered_classes;
mod group_tuples;
mod lent_rows;
mod lists;
mod memory;
mod rank_keys;
mod route_groups;
mod spilled_values;
mod table_parts;
mod table_survey;
#[cfg(test)]
mod test_workspace;
mod workspace;

pub use bucket_borders::BucketBorders;
pub use chunked_survey::{ChunkedSurvey, StreamGroups, SurveyLimits};
pub use class_spec::{BoundTime, ClassSpec};
pub use classed_groups::{ClassedGroups, GroupsInParts, GroupsOfPart};
pub use classes::Classes;
pub use error::{OutOfCoreError, check_feasibility, check_suppression};
pub use form_part::{FormedPart, PartJob};
pub use gathered_classes::GatheredClasses;
pub use lent_rows::{LowestRanks, RowAssignment};
pub use lists::{ListReader, ListWriter, SharedQuota, StoredLists};
pub use memory::{MemoryBudget, MemoryRefusal, UnlimitedMemory, reserve};
pub use table_parts::{PartSizes, PartTable, TableParts};
pub use table_survey::TableSurvey;
pub use workspace::{UnlimitedWorkspace, Workspace};

/// Splits a 64-bit number into two, low half first.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// Joins [`halves`].
fn join_halves([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
#[path = "out_of_core_tests.rs"]
mod tests;
