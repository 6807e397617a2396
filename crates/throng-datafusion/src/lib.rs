//! Throng on DataFusion: the release of a table as a table.
//!
//! ```text
//!  AnonymizedTable ── scan ──► AnonymizeExec over a plan of the input
//!                                    │ first poll
//!                                    ▼
//!   Snapshot      one look at all rows: surveyed stream by stream, kept in memory or spilled
//!   Groups        distinct tuples, whole or in parts that each can be looked at as a whole
//!   Classes       throng-core: partition, cluster, recode; part by part
//!   Release       rows in canonical order, from memory or from buckets on disk; shared by all queries
//! ```
//!
//! Identifiers are never read, and quasi-identifiers are forgotten as soon as they are surveyed: what is kept of a row is
//! its group, and what its release shows besides. Memory is reserved from the session's pool before it is used. The
//! release depends on the content of the input, the policy and its seed, and on nothing else.
//!
//! [`register_all`] teaches a session what SQL can call; [`AnonymizedTable`] is the release of any other table.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod anonymizer;
mod classes;
mod codec;
pub mod distributed;
mod error;
mod examination;
mod exec;
mod external;
pub mod functions;
mod groups;
mod guard;
mod kept;
#[cfg(feature = "leaky")]
mod leaky;
mod method;
mod plain;
mod policy_text;
mod progress;
mod projected;
mod redact;
mod register;
mod release;
mod rows;
mod snapshot;
mod store;
mod table;
mod tried;
mod unseen;
mod verified;
mod workspace;

pub use anonymizer::Anonymizer;
pub use codec::{CodecError, TaskReader, ThrongLogicalCodec, ThrongPhysicalCodec};
pub use error::Error;
pub use examination::{Examination, Prediction};
pub use exec::AnonymizeExec;
pub use external::{DEFAULT_EXTERNAL_FORMAT, ThrongTableFactory};
pub use guard::{guarded, guarded_stream, is_decoding};
pub use kept::kept_names;
pub use plain::{plain, plain_field};
pub use progress::{NoProgress, Progress, Stage};
pub use redact::{EngineFailure, ParquetDamage, classify};
pub use register::register_all;
pub use release::{Facts, Release, released_schema};
pub use table::AnonymizedTable;
pub use tried::{Trials, Tried};

#[cfg(test)]
mod operator_tests;
