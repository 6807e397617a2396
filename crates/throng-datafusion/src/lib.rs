//! Throng on DataFusion: one look at a table, and its release in canonical order.
//!
//! ```text
//!  DataFrame ──► Snapshot::read ──► Table of cells ──► (throng-core: partition, cluster, recode) ──► Recoding
//!                    │ rows that are kept                                                              │
//!                    └────────────────────────────► Release ◄──────────────────────────────────────────┘
//!                                                      └──► RecordBatches, any range of rows at a time
//! ```
//!
//! The streams of a query are surveyed in parallel, each on its own. Identifiers are never read, quasi-identifiers are
//! forgotten as soon as they are surveyed, and what is kept of a row is what its release shows besides. Everything is
//! held in memory.
//!
//! [`register_all`] teaches a session what SQL can call; [`AnonymizedTable`] is the release of any other table.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod anonymizer;
mod error;
mod exec;
mod external;
pub mod functions;
mod kept;
mod method;
mod plain;
mod policy_text;
mod progress;
mod redact;
mod register;
mod release;
mod snapshot;
mod table;
mod unseen;

pub use anonymizer::Anonymizer;
pub use error::Error;
pub use exec::AnonymizeExec;
pub use external::{DEFAULT_EXTERNAL_FORMAT, ThrongTableFactory};
pub use kept::kept_names;
pub use plain::{plain, plain_field};
pub use progress::{Progress, Step};
pub use register::register_all;
pub use release::{Facts, Release, released_schema};
pub use snapshot::Snapshot;
pub use table::AnonymizedTable;
