//! A cluster of real processes on this machine, with its tables on a real S3 server.
//!
//! Each test starts one scheduler and two executors on free ports of the loopback interface, and ends them. Where there
//! is no S3 server the tests report that they were skipped, or fail when `THRONG_REQUIRE_S3` is set.
//!
//! `cargo test --workspace --test processes` runs them. They are not part of `cargo test --workspace`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bucket;
mod cluster;
mod process;

#[allow(dead_code, reason = "the tests of SQL use all of it")]
#[path = "../sql/people.rs"]
mod people;
#[path = "../sql/queries.rs"]
mod queries;

mod append;
mod errors;
mod job;
mod killed;
mod lists;
mod lost;
mod secured;
mod series;
mod sql;
