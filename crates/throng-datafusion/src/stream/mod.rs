//! The release of a stream: rows are emitted while others still arrive.
//!
//! ```text
//!  input, one partition ─► RowBuffer ─ the oldest row is due, or the end ─► Emission ─► Release ─► verify ─► batches
//!                          bounded by max_delay                             throng_core::stream    as of a table
//!                             ▲                                               │
//!                             └───────────────── rows that wait ──────────────┘
//! ```
//!
//! Where arrivals are unknown, rows may join classes of earlier emissions (`joined_rows`), and emissions are verified together with
//! what was released before (`published`).
//!
//! What is promised, and why, is described in [`throng_core::stream`].

mod buffer;
mod emitter;
mod exec;
mod joined_rows;
mod published;
mod table;

pub use exec::AnonymizeStreamExec;
pub use table::AnonymizedStreamTable;

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

#[cfg(test)]
mod unknown_arrival_tests;
