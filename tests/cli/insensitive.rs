//! Columns that the policy calls insensitive, and identifiers of people with several rows: warnings, refusals, and counts from
//! outside.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::Value;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains, contents};
use crate::tables::{Draws, strings, table};

fn metrics(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng/metrics.json")).unwrap()).unwrap()
}

/// Share of the rows whose values in these columns no other row has.
fn singled_out(rows: &Rows, columns: &[&str]) -> f64 {
    let mut counts: HashMap<Vec<&Option<String>>, usize> = HashMap::new();
    let tuples: Vec<Vec<&Option<String>>> = rows.tuples(columns);
    tuples.iter().for_each(|tuple| *counts.entry(tuple.clone()).or_default() += 1);
    tuples.iter().filter(|tuple| counts[*tuple] == 1).count() as f64 / tuples.len() as f64
}

/// People with an insensitive code of their illness, and a ward that says little.
fn coded(rows: usize) -> RecordBatch {
    let mut draws = Draws::new(3);
    let illnesses: Vec<u64> = (0..rows).map(|_| draws.below(6)).collect();
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 20 + draws.below(40) as i64)));
    table(vec![
        ("age", ages),
        ("code", strings(illnesses.iter().map(|illness| format!("Z{illness}")))),
        ("ward", strings((0..rows).map(|_| format!("ward {}", draws.below(4))))),
        ("illness", strings(illnesses.iter().map(|illness| format!("illness {illness}")))),
    ])
}

const CODED: &str = "[columns]\nage.role = \"quasi\"\ncode.role = \"insensitive\"\nward.role = \"insensitive\"\n\
                     illness.role = \"sensitive\"\n";

#[test]
fn run_check_sidecar_and_report_name_columns_that_single_rows_out() {
    let sandbox = Sandbox::with(&people(400), 4, 1, COLUMNS);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[privacy]", "report = true\n[privacy]"));
    let ended = sandbox.throng(&["run", "policy.toml"]);
    assert_contains(
        &ended.stderr,
        &["warning: insensitive columns single out 100.0 % of the rows", "`row` 100.0 %", "`hours` "],
    );
    assert_contains(ended.json()["warnings"][0].as_str().unwrap(), &["insensitive_uniqueness"]);
    let found = &metrics(&sandbox)["privacy"]["insensitive"];
    let release = Rows::of(&read(&sandbox.release()));
    let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
    assert_eq!(found["singled_out"], rounded(singled_out(&release, &["row", "hours"])));
    assert_eq!(found["columns"][1]["column"], "hours");
    assert_eq!(found["columns"][1]["singled_out"], rounded(singled_out(&release, &["hours"])));
    assert_eq!(found["estimated"], false);
    let report = fs::read_to_string(sandbox.release().join("_throng/report.html")).unwrap();
    assert_contains(&report, &["Columns that are released as they are", "all of them, with the quasi-identifiers"]);
    let checked = sandbox.throng(&["check", "policy.toml"]);
    assert_contains(&checked.stderr, &["warning: insensitive columns single out 100.0 % of the rows", "`row` 100.0 %"]);
}

#[test]
fn shares_with_quasi_identifiers_are_those_of_the_release() {
    let columns = COLUMNS.replace("[columns.row]\nrole = \"insensitive\"", "[columns.row]\nrole = \"identifier\"");
    let sandbox = Sandbox::with(&people(3000), 10, 2, &columns);
    sandbox.run(&[]);
    let release = Rows::of(&read(&sandbox.release()));
    let share = singled_out(&release, &[&QUASI[..], &["hours"]].concat());
    assert!(share > 0.05, "{share}");
    let found = &metrics(&sandbox)["privacy"]["insensitive"];
    assert_eq!(found["singled_out_with_quasi"], (share * 1000.0).round() / 1000.0);
    assert_eq!(found["singled_out"], 0.0);

    let refused = Sandbox::with(&people(3000), 10, 2, &format!("insensitive_uniqueness = 0.05\n{columns}"));
    let message = refused.run_refused(3, &[]);
    assert_contains(
        &message,
        &["single out 0.0 %", "together with the released quasi-identifiers", "insensitive_uniqueness = 0.05"],
    );
    // The limit is compared with the larger share, and a release at the limit is published.
    let at = Sandbox::with(&people(3000), 10, 2, &format!("insensitive_uniqueness = {share}\n{columns}"));
    at.run(&[]);
}

#[test]
fn a_refusal_leaves_the_release_that_stands() {
    let sandbox = Sandbox::with(&people(400), 4, 1, COLUMNS);
    sandbox.run(&[]);
    let before = contents(&sandbox.path("out"));
    sandbox.policy(4, 1, &format!("insensitive_uniqueness = 0.5\n{COLUMNS}"));
    sandbox.run_refused(3, &["--overwrite"]);
    assert!(contents(&sandbox.path("out")) == before, "the old release was touched");
}

#[test]
fn sql_refuses_too() {
    let sandbox = Sandbox::with(&people(400), 4, 1, &format!("insensitive_uniqueness = 0.5\n{COLUMNS}"));
    let query = "CREATE TABLE people AS SELECT * FROM 'input/people.parquet'; SELECT count(*) FROM anonymize('people', 'policy.toml')";
    let ended = sandbox.throng(&["sql", "-c", query]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_contains(&ended.stderr, &["insensitive columns single out 100.0 % of the rows"]);
}

#[test]
fn a_code_of_a_sensitive_column_is_found() {
    let sandbox = Sandbox::with(&coded(600), 5, 2, CODED);
    let ended = sandbox.throng(&["run", "policy.toml"]);
    assert_contains(
        &ended.stderr,
        &["insensitive `code` nearly determines the sensitive `illness`", "right for 100.0 %"],
    );
    assert!(!ended.stderr.contains("`ward` nearly"), "{}", ended.stderr);
    let determined = &metrics(&sandbox)["privacy"]["insensitive"]["determined"];
    assert_eq!((&determined[0]["column"], &determined[0]["right"]), (&"code".into(), &1.0.into()));
    assert_eq!(determined.as_array().unwrap().len(), 1);
    assert_contains(
        &sandbox.throng(&["check", "policy.toml"]).stderr,
        &["`code` nearly determines the sensitive `illness`"],
    );
}

#[test]
fn a_table_without_insensitive_columns_has_nothing_to_warn_of() {
    let columns = CODED.replace("\"insensitive\"", "\"quasi\"");
    let sandbox = Sandbox::with(&coded(600), 5, 2, &format!("insensitive_uniqueness = 0.0\n{columns}"));
    let outcome = sandbox.run(&[]);
    assert_eq!((&outcome["warnings"], &metrics(&sandbox)["privacy"]["insensitive"]), (&Value::Null, &Value::Null));
}

/// Visits of few patients.
fn visits() -> RecordBatch {
    let mut draws = Draws::new(9);
    let rows = 600;
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 20 + draws.below(40) as i64)));
    table(vec![
        ("patient", strings((0..rows).map(|row| format!("patient {}", row % 150)))),
        ("ward", strings((0..rows).map(|row| format!("ward {}", row % 4)))),
        ("age", ages),
    ])
}

#[test]
fn people_with_several_rows_are_warned_of_in_run_check_and_report() {
    let columns = "[columns]\npatient.role = \"identifier\"\nward.role = \"quasi\"\nage.role = \"quasi\"\n";
    let sandbox = Sandbox::with(&visits(), 5, 1, columns);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[privacy]", "report = true\n[privacy]"));
    let warning = "column `patient` has 150 distinct values in 600 rows: if a value is a person, k counts rows and not people; \
                   set `unit = \"patient\"`";
    let ended = sandbox.throng(&["run", "policy.toml"]);
    assert_contains(&ended.stderr, &[warning]);
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).stderr, &[warning]);
    let metrics = metrics(&sandbox);
    assert_eq!(metrics["privacy"]["repeating_identifiers"], 1);
    assert!(!metrics.to_string().contains("patient"), "a column that is left out is named");
    let report = fs::read_to_string(sandbox.release().join("_throng/report.html")).unwrap();
    assert_contains(&report, &["several of them may belong to one person", "count rows"]);
    assert!(!report.contains("people who can't be told apart"), "the report counts people");

    let sandbox = Sandbox::with(&visits(), 5, 1, &format!("unit = \"patient\"\n{columns}"));
    let outcome = sandbox.run(&[]);
    assert_eq!(outcome["warnings"], Value::Null);
}

#[test]
fn of_columns_that_are_dropped_unnamed_only_those_whose_name_says_so_may_be_people() {
    let sandbox = Sandbox::with(&visits(), 5, 1, "[columns]\ndefault = \"drop\"\nage.role = \"quasi\"\n");
    let ended = sandbox.throng(&["run", "policy.toml"]);
    assert_contains(&ended.stderr, &["column `patient` has 150 distinct values"]);
    assert!(!ended.stderr.contains("`ward`"), "{}", ended.stderr);
}
