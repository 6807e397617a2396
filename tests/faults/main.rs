//! The job against storage that fails, and under a process that is killed.
//!
//! A real S3 server is started by the tests themselves; where that is impossible they say that they skipped, or fail when
//! `THRONG_REQUIRE_S3` is set. Between the binary and the server stands a proxy that fails by a seed. What is there
//! afterwards is looked at past the proxy, and with nothing of Throng: the bytes of every release are known beforehand.
//!
//! | variable | what it sets |
//! |---|---|
//! | `THRONG_FAULT_SEED` | the seed of the first fault schedule, and of the choice of kills |
//! | `THRONG_FAULT_RUNS` | how many schedules there are; the seed of each is the one before and one |
//! | `THRONG_KILLS` | how many runs are killed on each kind of storage |
//! | `THRONG_S3_ROWS` | how many rows the whole job on S3 has |

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bucket;
mod setting;
mod state;
mod trial;

#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/release_files.rs"]
mod release_files;
#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/sandbox.rs"]
mod sandbox;
#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/tables.rs"]
mod tables;

mod concurrent;
mod full;
mod kills_local;
mod kills_s3;
mod schedules;
mod signals;
mod whole_job;
