//! `throng check`: what a policy would do, and nothing done.

use std::collections::HashMap;

use crate::people::{COLUMNS, QUASI, people};
use crate::released::{Rows, multiset};
use crate::workshop::{Workshop, contents, names};

#[test]
fn a_feasible_policy_is_told_so_and_nothing_is_written() {
    let input = people(400);
    let workshop = Workshop::with(&input, 6, 3, COLUMNS);
    let before = (names(&workshop.path(".")), contents(&workshop.path(".")));
    let ended = workshop.throng(&["check", "policy.toml"]);
    let stderr = ended.stderr.clone();
    let json = ended.done();
    assert!((names(&workshop.path(".")), contents(&workshop.path("."))) == before, "check has written something");
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

/// Condition 2 for p = 3, written out: every class needs three rows, two of another value than the most frequent one,
/// and one of another value than the two most frequent ones.
fn most_classes<T: std::hash::Hash + Eq>(counts: &HashMap<T, usize>, p: u64) -> u64 {
    assert_eq!(p, 3);
    let mut counts: Vec<u64> = counts.values().map(|count| *count as u64).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let rows: u64 = counts.iter().sum();
    (rows / 3).min((rows - counts[0]) / 2).min(rows - counts[0] - counts[1])
}

#[test]
fn check_does_not_mind_a_release_that_is_already_there() {
    let workshop = Workshop::with(&people(100), 3, 1, COLUMNS);
    workshop.run(&[]);
    let before = contents(&workshop.path("out"));
    assert_eq!(workshop.throng(&["check", "policy.toml"]).done()["outcome"], "feasible");
    assert!(contents(&workshop.path("out")) == before);
}

#[test]
fn every_shortfall_is_told() {
    let workshop = Workshop::with(&people(20), 30, 9, COLUMNS);
    let message = workshop.throng(&["check", "policy.toml"]).refused(3);
    assert!(message.contains("k = 30") && message.contains("p = 9"), "{message}");
}
