//! Jobs on failing storage, jobs whose process is killed, and jobs on the stores of other clouds.
//!
//! The tests start a real S3 server; where that is impossible they report that they were skipped, or fail when
//! `THRONG_REQUIRE_S3` is set. A proxy between the binary and the server injects faults by a seed. The resulting state
//! is inspected without the proxy and without any code of Throng: the bytes of every release are known beforehand.
//!
//! | variable | value |
//! |---|---|
//! | `THRONG_FAULT_SEED` | seed of the first fault schedule, and of the choice of kills |
//! | `THRONG_FAULT_RUNS` | number of schedules; their seeds are consecutive |
//! | `THRONG_KILLS` | number of runs that are killed on each kind of storage |
//! | `THRONG_S3_ROWS` | number of rows of the whole job on S3 |

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bucket;
mod delta_state;
mod setting;
mod state;
mod trial;

#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/fixture_table.rs"]
mod fixture_table;
#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/release_files.rs"]
mod release_files;
#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/sandbox.rs"]
mod sandbox;
#[allow(dead_code, reason = "the tests of the binary use all of it")]
#[path = "../cli/tables.rs"]
mod tables;

mod clouds;
mod concurrent;
mod delta_s3;
mod full;
mod joined_tables;
mod kills_delta;
mod kills_local;
mod kills_s3;
mod nights;
mod nights_memory;
mod nights_setting;
mod schedules;
mod signals;
mod whole_job;
