//! `--cluster` without a reachable cluster. `tests/processes` has one.
//!
//! `cargo test --workspace` builds `throng` with the feature `cluster`, `cargo test -p throng-cli` without it.

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains};

/// A port of the loopback interface on which no process listens.
const NOWHERE: &str = "df://127.0.0.1:1";

fn sandbox() -> Sandbox {
    Sandbox::with(&people(500), 4, 2, COLUMNS)
}

#[test]
#[cfg(feature = "cluster")]
fn a_cluster_that_does_not_answer_is_a_temporary_failure() {
    let sandbox = sandbox();
    let message = sandbox.run_refused(75, &["--cluster", NOWHERE, "--if-changed", "--metrics-file", "run.prom"]);
    assert_contains(&message, &[NOWHERE, "try again"]);
    let metrics = std::fs::read_to_string(sandbox.path("run.prom")).unwrap();
    assert!(metrics.contains("throng_run_exit_code") && metrics.contains(" 75"), "{metrics}");
    let ended = sandbox.throng(&["sql", "--cluster", NOWHERE, "--format", "ndjson", "-c", "SELECT 1"]);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert_contains(&ended.stderr, &["statement 1", NOWHERE]);
}

#[test]
#[cfg(feature = "cluster")]
fn a_cluster_is_named_by_its_scheduler() {
    let message = sandbox().run_refused(2, &["--cluster", "http://localhost:50050"]);
    assert_contains(&message, &["--cluster", "df://host:port"]);
}

#[test]
#[cfg(not(feature = "cluster"))]
fn a_build_without_clusters_refuses_and_says_how_to_build_one() {
    let sandbox = sandbox();
    let message = sandbox.run_refused(2, &["--cluster", NOWHERE]);
    assert_contains(&message, &["--cluster", "no support for clusters", "--features cluster"]);
    let ended = sandbox.command(&["run", "policy.toml"]).env("THRONG_CLUSTER", NOWHERE).output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "a variable is not ignored either");
    assert_eq!(sandbox.throng(&["sql", "--cluster", NOWHERE, "-c", "SELECT 1"]).code, Some(2));
}
