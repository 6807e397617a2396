//! A cluster of real processes on this machine, with its tables on a real S3 server.
//!
//! One scheduler and two executors are started for each test, on free ports of the loopback interface, and are ended with it.
//! Where there is no S3 server the tests say that they skipped, or fail when `THRONG_REQUIRE_S3` is set.
//!
//! `cargo test --workspace --test processes` runs them. They are no part of `cargo test --workspace`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bucket;
mod cluster;
mod process;

#[allow(dead_code, reason = "the tests of SQL use all of it")]
#[path = "../sql/people.rs"]
mod people;

mod errors;
mod job;
mod killed;
mod lost;
mod sql;
