//! Throng in SQL: files of queries with their answers, the barrier, and the examples.
//!
//! `THRONG_UPDATE_SQL=1 cargo test --workspace --test sql` writes the answers of today into the files; look at the
//! difference before you keep it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod barrier;
mod engine;
mod examples;
mod files;
mod people;
mod releases;
mod spy;
