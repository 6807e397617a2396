//! Black-box tests of the binary `throng`, and properties of the whole job.
//!
//! Every release is read back with the Parquet reader alone and counted with plain maps: nothing of Throng's own
//! verifier, metrics or recoding decides whether a test passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod cover;
mod people;
mod released;
mod tables;
mod workshop;

#[path = "../browser/mod.rs"]
mod browser;

mod adult;
mod bad_data;
mod bad_locations;
mod bad_policies;
mod canaries;
mod check;
mod configs;
mod csv;
mod determinism;
mod generate;
mod killed;
mod locations;
mod memory;
mod models;
mod nested;
mod overwrite;
mod properties;
mod report;
mod run;
mod sidecar;
mod sql;
mod sweep;
mod types;
mod verify;
