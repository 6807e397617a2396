//! Tables of the Python package `deltalake`, and releases that it, polars, DuckDB and pyarrow read.
//!
//! The scripts run the binary themselves.

use std::process::Stdio;

use throng_testkit::{PythonPackages, skip};

use crate::sandbox::{Ended, SECRET, Sandbox};

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// If this variable is set, tests fail instead of being skipped when there is no Python or no package registry.
const REQUIRE: &str = "THRONG_REQUIRE_PYTHON";

/// Runs a script with the path of the binary, a folder, and more arguments.
fn run(script: &str, arguments: &[&str]) {
    let packages = match PythonPackages::install("python", "delta", REQUIREMENTS) {
        Ok(packages) => packages,
        Err(why) if std::env::var_os(REQUIRE).is_some() => panic!("{REQUIRE} is set, but {why}"),
        Err(why) => return skip(&format!("there are no readers of Delta tables to test with: {why}")),
    };
    let sandbox = Sandbox::new();
    let mut command = packages.script(script);
    command.arg(env!("CARGO_BIN_EXE_throng")).arg(sandbox.path("")).args(arguments);
    command.env("THRONG_SECRET", SECRET).env_remove("THRONG_LOG").stdin(Stdio::null());
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

#[test]
fn every_version_of_a_table_has_the_rows_that_deltalake_reads() {
    let seed = std::env::var("THRONG_DELTA_SEED").unwrap_or_else(|_| "1".to_owned());
    run(include_str!("read.py"), &[&seed]);
}

#[test]
fn unusual_tables_of_deltalake_are_read_or_refused_by_name() {
    run(include_str!("unusual.py"), &[]);
}

#[test]
fn deltalake_polars_and_duckdb_read_every_version_of_a_release() {
    run(include_str!("release.py"), &[]);
}
