//! The release of a stream: rows are emitted while others still arrive.
//!
//! ```text
//!  input, one partition ─► RowBuffer ─ the oldest row is due, or the end ─► Emission ─► Release ─► verify ─► batches
//!                          bounded by max_delay                             throng_core::stream    as of a table
//!                             ▲                                               │
//!                             └───────────────── rows that wait ──────────────┘
//! ```
//!
//! What is promised, and why, is described in [`throng_core::stream`].

mod buffer;
mod emitter;
mod exec;
mod table;

pub use exec::AnonymizeStreamExec;
pub use table::AnonymizedStreamTable;

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
