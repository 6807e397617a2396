//! Distributed computation of a release. Its bytes equal those of a release computed in one process.
//!
//! ```text
//!  first query     input ─► survey ─► one partition ─► outline ─► object on the store
//!                           values, groups             domains, classes, who goes where
//!
//!  second query    input ─► route ─► by lender ─► deal ─► by file ─► in order ─► written (by the pipeline)
//!                           group                 class
//! ```
//!
//! Both are chains of [`Task`]s over an input ([`TaskTable`]), executed by any DataFusion session, local or
//! distributed. The state that tasks share is the release plan ([`Outline`]). It is computed once, from groups alone,
//! by the code that forms classes in a single process, and broadcast through the object store. Rows are not shuffled
//! before it exists.
//!
//! - A group is surveyed by the task that reads it and identified by its content, so its id is the same for every
//!   reader.
//! - A keyed hash ([`throng_core::key::ReleaseKey`]) ranks the rows of a group and decides which of them other classes
//!   borrow. Of the rows of one reader only those with the lowest ranks can be lent; they are shuffled to one task. All
//!   others are assigned locally, so no task receives all rows of a large group.
//! - The file of a row follows from the class sizes. A class that crosses a file boundary is sent to both files, each
//!   of which writes its range of the order.
//! - A failed attempt leaves unreferenced objects. Object names are random and returned by the attempt that succeeds.

mod body;
mod deal;
mod error;
mod exec;
mod facts;
mod form;
mod join;
mod message;
mod outline;
mod outliner;
mod place;
mod route;
mod rows;
mod seen;
mod sketch;
mod survey;
mod table;

pub use deal::Deals;
pub use error::Refusal;
pub use exec::{Arrival, Task, TaskExec, emitted};
pub use form::Forms;
pub use join::Joins;
pub use outline::{Outline, OutlineRows};
pub use outliner::{Answer, Outlined, Outliner, Sketched};
pub use place::StorePlace;
pub use route::Routes;
pub use rows::{ACCOUNT, DealtRows, Files, RECEIVED, Spread, bytes_of};
pub use survey::Surveys;
pub use table::TaskTable;

pub(crate) use body::policy_of_message;
pub(crate) use message::TaskMessage;

/// Returns a random 64-bit id, for example of an object or a reader.
pub fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
#[path = "distributed_tests.rs"]
mod tests;
