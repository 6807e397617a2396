//! Black-box tests of the binary `throng`, and properties of the whole job.
//!
//! Every release is read back with the Parquet reader alone and counted with plain maps: Throng's own verifier, metrics
//! and recoding do not decide whether a test passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

/// The allocator of the binary, for jobs that run inside the tests: memory for a length that a damaged file declares is
/// reserved but never touched.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod field_metadata;
mod fixture_table;
mod label_covers;
mod prometheus_parser;
mod release_files;
mod sandbox;
mod tables;
mod web;

#[path = "../browser/mod.rs"]
mod browser;

mod adult;
mod append;
mod attacks;
mod bad_data;
mod bad_files;
mod bad_hierarchies;
mod bad_locations;
mod bad_policies;
mod check;
mod clean;
mod cluster;
mod configs;
mod cover;
mod csv;
mod data_folder;
mod delta;
mod deploy;
mod determinism;
mod doctored;
mod every_type;
mod exit_codes;
mod foreign_corpus;
mod foreign_files;
mod frequencies;
mod fuzzed;
mod generate;
mod guards;
mod guide;
mod hierarchies;
mod if_changed;
mod init_end_to_end;
mod insensitive;
mod killed;
mod lab;
mod large;
mod leaks;
mod lineage_file;
mod linked;
mod lists;
mod locations;
mod look_alikes;
mod memory;
mod messages;
mod metrics_file;
mod models;
mod mutations;
mod nested;
mod odd_columns;
#[cfg(feature = "otel")]
mod otel;
mod overwrite;
mod partitions;
mod population;
mod presets;
mod properties;
mod report;
mod risk;
mod run;
mod secret;
mod secret_rules;
mod series;
mod sidecar;
mod sql;
mod sweep;
mod terminal;
mod types;
mod units;
mod verify;
mod web_inputs;
mod widths;
mod workload;
