//! Throng on DataFusion: the release of a table as a [`TableProvider`](datafusion::catalog::TableProvider).
//!
//! ```text
//!  AnonymizedTable ── scan ──► AnonymizeExec over a plan of the input
//!                                    │ first poll
//!                                    ▼
//!   Snapshot      one look at all rows: surveyed stream by stream, kept in memory or spilled
//!   Classes       throng-core: survey, partition, cluster, recode; part by part (throng_core::out_of_core)
//!   Release       rows in canonical order, from memory or from buckets on disk; shared by all queries
//! ```
//!
//! Identifiers are never read, and quasi-identifiers are dropped once they are surveyed: of each row only its group and
//! its pass-through columns are buffered. Memory is reserved from the session's pool before it is used. A release
//! depends on the content of the input, the policy and its seed alone.
//!
//! [`register_all`] registers Throng's SQL functions with a session; [`AnonymizedTable`] is the release of any other
//! table.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod anonymizer;
mod borrowed_rows;
mod buffered_rows;
mod canonical_types;
mod catch_decode_panic;
mod choose_method;
mod codec;
pub mod distributed;
mod dry_run;
mod error;
mod examine;
mod exec;
mod external;
pub mod functions;
mod guard_decoders;
#[cfg(feature = "leaky")]
mod leaky;
mod memory_refusal;
mod opaque_table;
mod passthrough;
mod plan_input;
mod policy_text;
mod redact;
mod register;
mod release;
mod release_plan;
mod resources;
mod single_input;
mod snapshot;
mod spill_buffer;
mod stream;
mod sweep;
mod table;
mod threads;
mod unit_column;
mod verification;
mod workspace;

pub use anonymizer::Anonymizer;
pub use canonical_types::{to_canonical_array, to_canonical_field};
pub use catch_decode_panic::{catch_decode_panic, catch_decode_panics, is_decoding};
pub use codec::{CodecError, ThrongLogicalCodec, ThrongPhysicalCodec};
pub use dry_run::{DryRun, Prediction};
pub use error::AnonymizeError;
pub use examine::{ExamineRelease, ReleaseExaminer};
pub use exec::AnonymizeExec;
pub use external::ThrongTableFactory;
pub use guard_decoders::GuardDecoders;
pub use memory_refusal::memory_refusal;
pub use redact::{EngineFailure, ParquetDamage, classify};
pub use register::register_all;
pub use release::{Facts, Release};
pub use stream::{AnonymizeStreamExec, AnonymizedStreamTable};
pub use sweep::{Candidate, SweepResult};
pub use table::AnonymizedTable;
pub use throng_core::progress::{NoProgress, Progress, Stage};
pub use verification::{Verification, VerifiedTable};

#[cfg(test)]
mod operator_tests;
#[cfg(test)]
mod spilled_values_tests;
