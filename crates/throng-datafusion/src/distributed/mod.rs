//! A release that is made by many machines, with the same bytes as one that is made by one.
//!
//! ```text
//!  first query     input ─► survey ─► one partition ─► outline ─► object on the store
//!                           values, groups             domains, classes, who goes where
//!
//!  second query    input ─► route ─► by lender ─► deal ─► by file ─► in order ─► written (by the pipeline)
//!                           group                 class
//! ```
//!
//! Both are chains of [`Task`]s over an input ([`TaskTable`]), which any session of DataFusion runs, here or on a cluster.
//! What they have to agree on is in the [`Outline`]: it is made once, from groups alone, by the code that forms the classes
//! of a release in one process. Rows stay where they are until their class is known.
//!
//! - A group is surveyed by whoever reads it, and numbered by its content. So it has the same number for every reader.
//! - Which rows of a group other classes borrow is decided by places ([`throng_core::key::ReleaseKey`]). Of the rows that
//!   one reader has, only those with the least places can be lent. They meet in one task. All others stay at home, and
//!   so nobody gets all rows of a large group.
//! - Which file a row is in follows from the sizes of classes. A class that goes over the end of a file is sent to both
//!   files, each of which takes its part of the order.
//! - An attempt that fails leaves objects that nobody names. Names of objects are drawn, and told by the attempt that
//!   succeeded.

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

/// A number that nobody else draws.
pub fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
#[path = "distributed_tests.rs"]
mod tests;
