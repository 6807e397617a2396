//! Crates of this workspace depend on each other in one direction only, and the core on no engine.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Crates that each crate may depend on, except in its tests.
const ALLOWED: [(&str, &[&str]); 13] = [
    ("throng-core", &[]),
    ("throng-policy", &["throng-core"]),
    ("throng-datafusion", &["throng-core", "throng-policy"]),
    ("throng", &["throng-core", "throng-policy", "throng-datafusion"]),
    ("throng-report", &["throng-core"]),
    // The lab shares nothing with what makes releases.
    ("throng-lab", &[]),
    ("throng-job", &["throng-core", "throng-policy", "throng-datafusion", "throng-report", "throng-lab"]),
    ("throng-synthetic", &[]),
    ("throng-cluster", &["throng-core", "throng-policy", "throng-datafusion", "throng-job"]),
    ("throng-studio", &["throng", "throng-job", "throng-report"]),
    (
        "throng-cli",
        &["throng-core", "throng-policy", "throng-job", "throng-cluster", "throng-studio", "throng-synthetic"],
    ),
    (
        "throng-python",
        &["throng-core", "throng-policy", "throng-datafusion", "throng-job", "throng-cli", "throng-synthetic"],
    ),
    ("throng-testkit", &["throng-core"]),
];

/// Dependencies that the core must not have.
const ENGINES: [&str; 5] = ["datafusion", "tokio", "object_store", "parquet", "toml"];

/// Dependencies that the pages and the lab must not have: they use documents and batches alone.
const INPUT_OUTPUT: [&str; 4] = ["datafusion", "tokio", "object_store", "parquet"];

/// Returns the names of the dependencies of each crate.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest])
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let used = package["dependencies"].as_array().unwrap().iter();
            (name(package), used.filter(|used| used["kind"] != "dev").map(name).collect())
        })
        .collect()
}

#[test]
fn arrows_between_crates_point_down_only() {
    let dependencies = dependencies();
    for (package, allowed) in ALLOWED {
        let used = &dependencies[package];
        let wrong: Vec<_> =
            used.iter().filter(|name| name.starts_with("throng") && !allowed.contains(&name.as_str())).collect();
        assert!(wrong.is_empty(), "{package} must not depend on {wrong:?}; it may use {allowed:?}");
    }
    let known = ALLOWED.map(|(package, _)| package);
    let new: Vec<_> = dependencies
        .keys()
        .filter(|name| {
            !known.contains(&name.as_str())
                && !["throng-tests", "throng-benches", "throng-loss", "throng-nights", "throng-papers"]
                    .contains(&name.as_str())
        })
        .collect();
    assert!(new.is_empty(), "say in this test what {new:?} may depend on");
}

#[test]
fn the_core_knows_no_engine_and_no_file_format() {
    let used = &dependencies()["throng-core"];
    let wrong: Vec<_> = used.iter().filter(|name| ENGINES.contains(&name.as_str())).collect();
    assert!(wrong.is_empty(), "throng-core must not depend on {wrong:?}");
}

#[test]
fn pages_are_rendered_without_an_engine_and_without_storage() {
    let used = &dependencies()["throng-report"];
    let wrong: Vec<_> = used.iter().filter(|name| INPUT_OUTPUT.contains(&name.as_str())).collect();
    assert!(wrong.is_empty(), "throng-report must not depend on {wrong:?}");
}

#[test]
fn the_lab_reads_batches_and_no_files() {
    let used = &dependencies()["throng-lab"];
    let wrong: Vec<_> = used.iter().filter(|name| INPUT_OUTPUT.contains(&name.as_str())).collect();
    assert!(wrong.is_empty(), "throng-lab must not depend on {wrong:?}");
}

#[test]
fn the_testkit_is_for_tests_only() {
    for (package, used) in dependencies() {
        let is_test = ["throng-tests", "throng-benches", "throng-loss", "throng-nights", "throng-papers"]
            .contains(&package.as_str());
        assert!(
            is_test || !used.iter().any(|name| name == "throng-testkit"),
            "{package} uses throng-testkit outside of tests"
        );
    }
}
