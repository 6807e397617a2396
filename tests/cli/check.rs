//! `throng check`: reports what a policy would do, and writes nothing.

use std::collections::HashMap;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, multiset};
use crate::sandbox::{Sandbox, contents, names};

#[test]
fn a_feasible_policy_is_reported_as_such_and_nothing_is_written() {
    let input = people(400);
    let sandbox = Sandbox::with(&input, 6, 3, COLUMNS);
    let before = (names(&sandbox.path(".")), contents(&sandbox.path(".")));
    let ended = sandbox.throng(&["check", "policy.toml"]);
    let stderr = ended.stderr.clone();
    let json = ended.done();
    assert!((names(&sandbox.path(".")), contents(&sandbox.path("."))) == before, "check has written something");
    let rows = Rows::of(&input);
    let cells = multiset(rows.tuples(&QUASI)).len();
    let diagnoses = multiset(rows.column("diagnosis"));
    assert_eq!(json["outcome"], "feasible");
    assert_eq!(json["rows"], 400);
    assert_eq!(json["files"], 1);
    assert_eq!(json["cells"], cells);
    assert_eq!(json["dropped"], serde_json::json!(["name"]));
    let most = most_classes(&diagnoses, 3);
    let column = serde_json::json!({
        "column": "diagnosis", "counted": "values", "distinct": 5, "highest_p": 5, "max_classes": most
    });
    assert_eq!(json["sensitive"], serde_json::json!([column]));
    assert_eq!(json["max_classes"], most.min(400 / 6));
    assert!(stderr.contains("k = 6 and p = 3 can be met"), "{stderr}");
    assert!(stderr.contains("left out of the release: name"), "{stderr}");
}

/// Condition 2 for p = 3, spelled out: every class needs three rows, two of them not of the most frequent value, and
/// one not of the two most frequent values.
fn most_classes<T: std::hash::Hash + Eq>(counts: &HashMap<T, usize>, p: u64) -> u64 {
    assert_eq!(p, 3);
    let mut counts: Vec<u64> = counts.values().map(|count| *count as u64).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let rows: u64 = counts.iter().sum();
    (rows / 3).min((rows - counts[0]) / 2).min(rows - counts[0] - counts[1])
}

#[test]
fn check_does_not_mind_a_release_that_is_already_there() {
    let sandbox = Sandbox::with(&people(100), 3, 1, COLUMNS);
    sandbox.run(&[]);
    let before = contents(&sandbox.path("out"));
    assert_eq!(sandbox.throng(&["check", "policy.toml"]).done()["outcome"], "feasible");
    assert!(contents(&sandbox.path("out")) == before);
}

#[test]
fn every_shortfall_is_reported() {
    let sandbox = Sandbox::with(&people(20), 30, 9, COLUMNS);
    let message = sandbox.throng(&["check", "policy.toml"]).refused(3);
    assert!(message.contains("k = 30") && message.contains("p = 9"), "{message}");
}

#[test]
fn a_plan_tells_about_what_a_run_then_does() {
    let sandbox = Sandbox::with(&people(900), 5, 2, COLUMNS);
    let before = (names(&sandbox.path(".")), contents(&sandbox.path(".")));
    let ended = sandbox.throng(&["plan", "policy.toml"]);
    let stderr = ended.stderr.clone();
    let planned = ended.done();
    assert!((names(&sandbox.path(".")), contents(&sandbox.path("."))) == before, "plan has written something");
    assert_eq!(planned["outcome"], "planned");
    assert_eq!((&planned["partition"], &planned["cluster"]), (&"mondrian".into(), &"search".into()));
    assert!(planned["plan"].as_str().unwrap().starts_with("AnonymizeExec: k=5, p=2"), "{planned}");
    assert!(stderr.contains("AnonymizeExec: k=5, p=2, quasi=[age, sex, country, zip]"), "{stderr}");
    assert!(planned["memory_bytes"].as_u64().unwrap() > 900 * 20, "{planned}");

    let released = sandbox.run(&[]);
    let (predicted, found) = (planned["predicted_ncp"].as_f64().unwrap(), released["ncp"].as_f64().unwrap());
    // All leaves of a small table are evaluated; intervals are then measured against the released labels.
    assert!((predicted - found).abs() < 0.02, "{predicted} was predicted, {found} was found");
    let metrics: serde_json::Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap()).unwrap();
    assert_eq!(metrics["algorithm"]["leaves"], planned["leaves"]);
}

#[test]
fn a_plan_for_what_can_not_be_met_is_refused() {
    let sandbox = Sandbox::with(&people(60), 61, 2, COLUMNS);
    let message = sandbox.throng(&["plan", "policy.toml"]).refused(3);
    assert!(message.contains("can't be met"), "{message}");
}
