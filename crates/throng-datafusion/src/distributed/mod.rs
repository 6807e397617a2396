//! Distributed computation of a release. Its bytes equal those of a release computed in one process.
//!
//! ```text
//!  first query     input ─► survey ─► one partition ─► plan ─► release plan, an object on the store
//!                           values, groups             domains, classes, row assignment
//!
//!  second query    input ─► route ─► by group ─► assign ─► by file ─► in order ─► written (by the job)
//!                           group                class
//!
//!  third query     files ─► by class ─► verify ─► counts
//! ```
//!
//! A job is a chain of [`Task`]s over an input ([`TaskTable`]), executed by any DataFusion session, local or
//! distributed. The state that tasks share is the [`ReleasePlan`]. It is computed once, from groups alone, by the code
//! that forms classes in a single process, and broadcast through the object store. Rows are not shuffled before it
//! exists.
//!
//! - A group is surveyed by the task that reads it and identified by its content, so its id is the same for every
//!   reader.
//! - A keyed hash ([`throng_core::key::ReleaseKey`]) ranks the rows of a group and decides which of them other classes
//!   borrow. Of the rows of one reader only those with the lowest ranks can be lent; they are shuffled to one task. All
//!   others are assigned locally, so no task receives all rows of a large group.
//! - The file of a row follows from the class sizes. A class that crosses a file boundary is sent to both files, each
//!   of which writes its range of the order.
//! - A failed attempt leaves unreferenced objects. Object names are random and returned by the attempt that succeeds.

mod assign;
mod cluster;
mod gather_surveys;
mod merge_plan;
mod message;
mod partitioned_plan;
mod plan;
mod plan_object;
mod refusal;
mod route;
mod shuffle_rows;
mod store_folder;
mod survey;
mod task;
mod task_exec;
mod task_params;
mod task_table;
mod values_wire;
mod verify;

pub use assign::ASSIGN_TASK;
pub use cluster::CLUSTER_TASK;
pub use merge_plan::MERGE_PLAN_TASK;
pub use plan::{PLAN_TASK, PartitionedPlan, PlanAnswer, PlannedRelease};
pub use plan_object::PlanRows;
pub use refusal::Refusal;
pub use route::ROUTE_TASK;
pub use shuffle_rows::{BYTES_ROW, CHECKSUM_ROW, FileRanges, ShuffledRows, batch_bytes};
pub use store_folder::StoreFolder;
pub use survey::SURVEY_TASK;
pub use task::{InputDistribution, Task, TaskFuture, TaskInput, TaskKind, TaskOutput};
pub use task_exec::TaskExec;
pub use task_params::TaskParams;
pub use task_table::TaskTable;
pub use verify::VERIFY_TASK;

pub(crate) use message::TaskMessage;

pub use crate::release_plan::ReleasePlan;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::AnonymizeError;

/// Returns a random 64-bit id, for example of an object or a reader.
pub(crate) fn random_id() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// Encodes as CBOR, in which floating-point numbers are exact.
fn to_cbor(value: &impl Serialize) -> Result<Vec<u8>, AnonymizeError> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).map_err(|_| AnonymizeError::Task)?;
    Ok(bytes)
}

fn from_cbor<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, AnonymizeError> {
    ciborium::from_reader(bytes).map_err(|_| AnonymizeError::Task)
}

#[cfg(test)]
#[path = "distributed_tests.rs"]
mod tests;
