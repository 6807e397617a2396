//! Throng in SQL: files of queries with their expected results, the optimizer barrier, and the examples.
//!
//! `THRONG_UPDATE_SQL=1 cargo test --workspace --test sql` writes the current results to the files; review the diff
//! before committing it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod barrier;
mod engine;
mod examples;
mod files;
mod people;
mod queries;
mod releases;
mod spy;
mod streams;
