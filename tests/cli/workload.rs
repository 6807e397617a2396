//! `[workload]`: the questions that a release is made for.

use std::fs;

use serde_json::{Value, json};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains};

const WORKLOAD: &str = "[workload]\nqueries = [[\"age\", \"sex\"]]\n";

fn sidecar(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng/metrics.json")).unwrap()).unwrap()
}

#[test]
fn questions_of_the_workload_are_answered_better() {
    let plain = Sandbox::with(&people(3000), 5, 2, COLUMNS);
    let made = Sandbox::with(&people(3000), 5, 2, &format!("{WORKLOAD}{COLUMNS}"));
    let errors = |sandbox: &Sandbox| {
        sandbox.run(&[]);
        // Both are asked the questions of the workload.
        sandbox.write("asked.toml", fs::read_to_string(made.path("policy.toml")).unwrap());
        let arguments = ["utility", "out/release", "--original", "input/", "--policy", "asked.toml"];
        let ended = sandbox.throng(&arguments);
        assert_contains(&ended.stderr, &["those of [workload]"]);
        let workload = ended.done()["count_queries"]["workload"].clone();
        assert_eq!(workload["queries"], 500);
        (workload["median_error"].as_f64().unwrap(), workload["p95_error"].as_f64().unwrap())
    };
    let (before, after) = (errors(&plain), errors(&made));
    assert!(after.0 < 0.8 * before.0 && after.1 < before.1, "{before:?} and {after:?}");
    let ncp = |sandbox: &Sandbox, column: &str| sidecar(sandbox)["utility"]["columns"][column]["ncp"].as_f64().unwrap();
    assert!(ncp(&made, "age") < ncp(&plain, "age") && ncp(&made, "zip") > ncp(&plain, "zip"));
    assert_eq!(made.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
}

#[test]
fn documents_say_what_the_release_was_made_for() {
    let sandbox = Sandbox::with(&people(300), 5, 2, &format!("{WORKLOAD}{COLUMNS}"));
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", policy.replacen("[output]\n", "[output]\nreport = true\n", 1));
    sandbox.run(&[]);
    let documents = sidecar(&sandbox);
    assert_eq!(documents["algorithm"]["workload"], json!([["age", "sex"]]));
    let weights = documents["columns"]["released"].as_array().unwrap().iter().map(|of| of["weight"].clone());
    // The row number, age, sex, country, zip, diagnosis and hours.
    let (four, none) = (json!(4.0), Value::Null);
    assert_eq!(weights.collect::<Vec<_>>(), [&none, &four, &four, &none, &none, &none, &none].map(Value::clone));
    let page = fs::read_to_string(sandbox.release().join("_throng/report.html")).unwrap();
    assert_contains(&page, &["formed for questions about age × sex", "age (interval, weight 4)"]);
    let checked = sandbox.throng(&["check", "policy.toml"]);
    assert_contains(&checked.stderr, &["weights, with those of [workload]: `age` 4, `sex` 4"]);
}

/// A workload is weights: the digest of the policy and the release are those of the weights, written by hand.
#[test]
fn a_workload_is_weights() {
    let by_hand = COLUMNS.replace("[columns.age]\n", "[columns.age]\nweight = 4\n");
    let by_hand = by_hand.replace("[columns.sex]\n", "[columns.sex]\nweight = 4.0\n");
    let released = |columns: &str| {
        let sandbox = Sandbox::with(&people(300), 5, 2, columns);
        sandbox.run(&[]);
        let files = fs::read(sandbox.release().join("part-00000.parquet")).unwrap();
        (sidecar(&sandbox)["policy_digest"].clone(), files)
    };
    assert!(released(&by_hand) == released(&format!("{WORKLOAD}{COLUMNS}")));
}

#[test]
fn a_question_about_an_unknown_column_is_refused_with_its_place() {
    let text = WORKLOAD.replace("\"sex\"", "\"sexx\"");
    let sandbox = Sandbox::with(&people(50), 5, 2, &format!("{text}{COLUMNS}"));
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["workload.queries[0][1]: the policy has no column `sexx`; did you mean `sex`?"]);
}
