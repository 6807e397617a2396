//! Guards of scheduled releases: a bad delivery is refused, and the release before it stays byte for byte.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains, contents};
use crate::tables::write_parquet;

/// A sandbox with a good release of 1000 rows, and these guards.
fn guarded(guards: &str) -> Sandbox {
    let sandbox = Sandbox::with(&people(1000), 3, 1, &format!("{guards}\n{COLUMNS}"));
    sandbox.run(&[]);
    sandbox
}

/// Delivers another table, which must be refused with this code, and returns the message.
fn refused(sandbox: &Sandbox, delivery: &RecordBatch, code: i32) -> String {
    let before = contents(&sandbox.path("out"));
    write_parquet(&sandbox.path("input/people.parquet"), delivery);
    let message = sandbox.run_refused(code, &["--overwrite"]);
    assert!(contents(&sandbox.path("out")) == before, "the old release was touched");
    message
}

/// The table with a column in another type.
fn with_type(batch: &RecordBatch, name: &str, data_type: &DataType) -> RecordBatch {
    let schema = batch.schema();
    let changed = |(field, column): (&Arc<Field>, &ArrayRef)| match field.name() == name {
        true => (Field::new(name, data_type.clone(), true), cast(column, data_type).unwrap()),
        false => (field.as_ref().clone(), Arc::clone(column)),
    };
    let (fields, columns): (Vec<_>, Vec<_>) = schema.fields().iter().zip(batch.columns()).map(changed).unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

#[test]
fn a_tiny_delivery_does_not_replace_a_release() {
    let sandbox = guarded("min_rows = 500");
    let message = refused(&sandbox, &people(20), 65);
    assert_contains(&message, &["20 rows", "`min_rows = 500`", "nothing is published", "check the delivery"]);
    let checked = sandbox.throng(&["check", "policy.toml"]).refused(65);
    assert_contains(&checked, &["20 rows", "`min_rows = 500`"]);
    write_parquet(&sandbox.path("input/people.parquet"), &people(500));
    assert_eq!(sandbox.run(&["--overwrite"])["rows"], 500);
}

#[test]
fn a_csv_delivery_is_counted_when_it_has_been_read() {
    let sandbox = Sandbox::new();
    sandbox.policy(3, 1, "min_rows = 100\n[columns]\nage.role = \"quasi\"\n");
    sandbox.write("input/people.csv", format!("age\n{}", "41\n".repeat(99)));
    assert_contains(&sandbox.run_refused(65, &[]), &["99 rows", "`min_rows = 100`"]);
    sandbox.write("input/people.csv", format!("age\n{}", "41\n".repeat(100)));
    sandbox.run(&[]);
}

#[test]
fn too_many_rows_more_or_less_do_not_replace_a_release() {
    let sandbox = guarded("max_rows_change = 0.5");
    let message = refused(&sandbox, &people(499), 65);
    assert_contains(&message, &["499 rows", "50.1 % fewer", "1000", "`max_rows_change = 0.5`", "check the delivery"]);
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).refused(65), &["`max_rows_change = 0.5`"]);
    assert_contains(&refused(&sandbox, &people(1501), 65), &["1501 rows", "50.1 % more"]);
    write_parquet(&sandbox.path("input/people.parquet"), &people(1500));
    assert_eq!(sandbox.run(&["--overwrite"])["rows"], 1500);
    // From now on 1500 rows are the reference.
    assert_contains(&refused(&sandbox, &people(740), 65), &["50.7 % fewer", "1500"]);
}

#[test]
fn an_unreadable_manifest_is_no_release_to_compare_with() {
    let sandbox = guarded("max_rows_change = 0.5");
    fs::write(sandbox.release().join("_throng/manifest.json"), "{}").unwrap();
    let before = contents(&sandbox.path("out"));
    let ended = sandbox.throng(&["run", "policy.toml", "--overwrite"]);
    assert!(matches!(ended.code, Some(65 | 78)), "{ended:?}");
    assert!(contents(&sandbox.path("out")) == before, "the old release was touched");
}

#[test]
fn a_release_that_loses_too_much_is_not_published() {
    let loss = guarded("").run(&["--overwrite"])["ncp"].as_f64().unwrap();
    let sandbox = guarded(&format!("loss_limit = {}", loss + 0.02));
    let before = contents(&sandbox.path("out"));
    let message = sandbox.run_refused(3, &["--overwrite", "-k", "200"]);
    assert_contains(&message, &["NCP", "`loss_limit = ", "nothing is published", "raise the limit"]);
    assert!(contents(&sandbox.path("out")) == before, "the old release was touched");
}

#[test]
fn an_age_that_became_text_does_not_replace_a_release() {
    let columns = COLUMNS.replace("[columns.age]\n", "[columns.age]\ntype = \"integer\"\n");
    let sandbox = Sandbox::with(&people(1000), 3, 1, &columns);
    sandbox.run(&[]);
    let message = refused(&sandbox, &with_type(&people(1000), "age", &DataType::Utf8), 65);
    assert_contains(&message, &["column `age` is of type text", "`type = \"integer\"`", "nothing is published"]);
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).refused(65), &["column `age` is of type text"]);
    // A different width does not count as a different type.
    write_parquet(&sandbox.path("input/people.parquet"), &with_type(&people(1000), "age", &DataType::Int16));
    sandbox.run(&["--overwrite"]);
}

#[test]
fn types_hold_for_columns_of_every_role_and_all_are_reported() {
    let columns = COLUMNS.replace("role = ", "type = \"text\"\nrole = ");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    let message = sandbox.run_refused(65, &[]);
    assert_contains(&message, &["`row` is of type integer", "`age` is of type integer", "`hours` is of type number"]);
    assert!(!message.contains("`diagnosis`") && !message.contains("Int64"), "{message}");
}

#[test]
fn sidecar_and_report_state_the_guards() {
    let guards = "min_rows = 10\nmax_rows_change = 0.5\nloss_limit = 0.9\ninsensitive_uniqueness = 1.0";
    let sandbox = Sandbox::with(&people(300), 3, 1, &format!("{guards}\n{COLUMNS}"));
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[privacy]", "report = true\n[privacy]"));
    sandbox.run(&[]);
    let metrics = fs::read(sandbox.release().join("_throng/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    let expected =
        serde_json::json!({ "min_rows": 10, "max_rows_change": 0.5, "loss_limit": 0.9, "insensitive_uniqueness": 1.0 });
    assert_eq!(metrics["privacy"]["guards"], expected);
    let report = fs::read_to_string(sandbox.release().join("_throng/report.html")).unwrap();
    assert_contains(&report, &["Guards", "fewest rows of the input"]);
}

#[test]
fn guards_out_of_range_are_refused_together() {
    let guards = "min_rows = 0\nmax_rows_change = -0.1\nloss_limit = 1.5\ninsensitive_uniqueness = -1.0";
    let sandbox = Sandbox::with(&people(50), 3, 1, &format!("{guards}\n{COLUMNS}"));
    let message = sandbox.run_refused(78, &[]);
    for field in ["privacy.min_rows", "privacy.max_rows_change", "privacy.loss_limit", "privacy.insensitive_uniqueness"]
    {
        assert!(message.contains(field), "{field}: {message}");
    }
}
