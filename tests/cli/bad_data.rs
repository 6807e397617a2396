//! Inputs that can't be released as they are: exit code 65, what to correct and where, and no files left behind.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, pieces, strings, table, write_parquet};

fn sandbox() -> Sandbox {
    Sandbox::with(&people(200), 3, 1, COLUMNS)
}

#[test]
fn values_missing_from_a_hierarchy_are_counted() {
    let columns = COLUMNS.replace(", Africa = [\"Kenya\", \"Ghana\"]", "");
    let sandbox = Sandbox::with(&people(200), 3, 1, &columns);
    let message = sandbox.run_refused(65, &[]);
    assert_contains(&message, &["`country`", "2 distinct values are not in its hierarchy", "add a line"]);
    assert_eq!(sandbox.throng(&["check", "policy.toml"]).refused(65), message);
}

#[test]
fn an_empty_file_is_named() {
    let sandbox = sandbox();
    sandbox.write("input/zero.parquet", "");
    assert_contains(&sandbox.run_refused(65, &[]), &["input/zero.parquet", "0 bytes"]);
}

#[test]
fn a_truncated_parquet_file_is_named() {
    let sandbox = sandbox();
    let bytes = fs::read(sandbox.path("input/people.parquet")).unwrap();
    for kept in [5, bytes.len() / 2, bytes.len() - 1] {
        sandbox.write("input/cut.parquet", &bytes[..kept]);
        assert_contains(&sandbox.run_refused(65, &[]), &["input/cut.parquet", "not readable as Parquet"]);
    }
}

#[test]
fn garbage_in_place_of_a_file_is_named() {
    let mut draws = Draws::new(3);
    let garbage: Vec<u8> = (0..5000).map(|_| draws.below(256) as u8).collect();
    let framed = [b"PAR1", &garbage[..], &3000u32.to_le_bytes(), b"PAR1"].concat();
    for bytes in [&garbage, &framed] {
        let sandbox = sandbox();
        sandbox.write("input/noise.parquet", bytes);
        assert_contains(&sandbox.run_refused(65, &[]), &["input/noise.parquet", "not readable as Parquet"]);
    }
    for name in ["noise.arrow", "noise.csv"] {
        let sandbox = sandbox();
        sandbox.write(&format!("input/{name}"), &garbage);
        assert_contains(&sandbox.run_refused(65, &["--input", &format!("input/{name}")]), &[name]);
    }
}

#[test]
fn damaged_pages_are_reported_with_their_file() {
    let sandbox = sandbox();
    write_parquet(&sandbox.path("input/sound.parquet"), &people(100));
    let path = sandbox.path("input/people.parquet");
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[4..2000] {
        *byte = 0xff;
    }
    fs::write(&path, bytes).unwrap();
    let message = sandbox.run_refused(65, &[]);
    assert_contains(&message, &["input/people.parquet is not readable as Parquet", "write the file again"]);
}

#[test]
fn schemas_that_drift_are_reported_by_file_and_column() {
    let people = people(200);
    let halves = pieces(&people, 2);
    let drifted = |change: fn(&mut Vec<(&str, ArrayRef)>)| -> RecordBatch {
        let names = ["row", "name", "age", "sex", "country", "zip", "diagnosis", "hours"];
        let mut columns = names.into_iter().zip(halves[1].columns().iter().cloned()).collect();
        change(&mut columns);
        table(columns)
    };
    let other_type = drifted(|columns| columns[2].1 = strings((0..100).map(|age| age.to_string())));
    let missing = drifted(|columns| drop(columns.remove(7)));
    let more = drifted(|columns| columns.push(("email", strings((0..100).map(|_| "x")))));
    for (second, parts) in [
        (other_type, &["`age`", "Int64"][..]),
        (missing, &["`hours` is only in the first"]),
        (more, &["`email` is only in the second"]),
    ] {
        let sandbox = Sandbox::with(&halves[0], 3, 1, COLUMNS);
        fs::rename(sandbox.path("input/people.parquet"), sandbox.path("input/a.parquet")).unwrap();
        write_parquet(&sandbox.path("input/b.parquet"), &second);
        let message = sandbox.run_refused(65, &[]);
        assert_contains(&message, parts);
        assert_contains(&message, &["input/a.parquet", "input/b.parquet", "do not have the same schema"]);
    }
}

#[test]
fn columns_in_another_order_are_no_drift() {
    let people = people(200);
    let halves = pieces(&people, 2);
    let sandbox = Sandbox::with(&halves[0], 3, 1, COLUMNS);
    let backwards: Vec<usize> = (0..people.num_columns()).rev().collect();
    write_parquet(&sandbox.path("input/second.parquet"), &halves[1].project(&backwards).unwrap());
    sandbox.run(&[]);
    let release = crate::release_files::Rows::of(&crate::release_files::read(&sandbox.release()));
    let input = crate::release_files::Rows::of(&people);
    let kept = &crate::fixture_table::KEPT;
    assert_eq!(
        crate::release_files::multiset(release.tuples(kept)),
        crate::release_files::multiset(input.tuples(kept))
    );
}

#[test]
fn numbers_that_are_not_finite_are_counted() {
    let weights = |bad: f64| Float64Array::from_iter_values((0..20).map(|row| if row % 7 == 0 { bad } else { 1.5 }));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let columns = "[columns.weight]\nrole = \"quasi\"";
        let sandbox = Sandbox::with(&table(vec![("weight", Arc::new(weights(bad)))]), 2, 1, columns);
        assert_contains(&sandbox.run_refused(65, &[]), &["`weight`", "NaN or infinite", "3 rows"]);
        let small: Float32Array = weights(bad).iter().map(|value| value.map(|value| value as f32)).collect();
        let sandbox = Sandbox::with(&table(vec![("weight", Arc::new(small))]), 2, 1, columns);
        assert_contains(&sandbox.run_refused(65, &[]), &["`weight`", "NaN or infinite", "3 rows"]);
    }
}

#[test]
fn a_table_without_rows_is_refused() {
    let sandbox = Sandbox::with(&people(0), 3, 1, COLUMNS);
    assert_contains(&sandbox.run_refused(65, &[]), &["the input has no rows"]);
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).refused(65), &["the input has no rows"]);
}

#[test]
fn an_empty_part_of_a_table_is_fine() {
    let sandbox = sandbox();
    write_parquet(&sandbox.path("input/empty.parquet"), &people(0));
    assert_eq!(sandbox.run(&[])["rows"], 200);
}

#[test]
fn a_table_whose_rows_are_all_suppressed_is_refused() {
    let input = table(vec![("age", Arc::new(Int64Array::from(vec![None; 30])))]);
    let sandbox = Sandbox::with(&input, 3, 1, "[columns.age]\nrole = \"quasi\"\nnulls = \"suppress\"");
    assert_contains(&sandbox.run_refused(65, &[]), &["no rows left after 30 with nulls were suppressed"]);
}

#[test]
fn nulls_are_refused_where_the_policy_says_so() {
    let input = table(vec![("age", Arc::new(Int64Array::from_iter((0..30).map(|row| (row > 2).then_some(row)))))]);
    let sandbox = Sandbox::with(&input, 3, 1, "[columns.age]\nrole = \"quasi\"\nnulls = \"error\"");
    assert_contains(&sandbox.run_refused(65, &[]), &["`age`", "nulls in 3 rows"]);
}

#[test]
fn a_csv_value_that_breaks_the_inferred_type_is_placed_and_not_quoted() {
    let sandbox = Sandbox::new();
    let mut text = "row,age\n".to_owned();
    for row in 0..100_050 {
        writeln!(text, "{row},{}", row % 60).unwrap();
    }
    text.push_str("100051,canary-in-a-number\n");
    sandbox.write("input/people.csv", text);
    sandbox.write("input/more.csv", "row,age\n0,20\n");
    sandbox.policy(5, 1, "[columns.row]\nrole = \"identifier\"\n[columns.age]\nrole = \"quasi\"");
    let ended = sandbox.throng(&["run", "policy.toml", "-vv"]);
    assert_contains(&ended.refused(65), &["input/people.csv", "column 2 at line 100052", "does not fit the type"]);
    assert!(!ended.said().contains("canary"), "the value is shown: {}", ended.said());
    assert!(sandbox.out().is_empty());
}

#[test]
fn a_csv_row_of_another_length_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("input/people.csv", "row,age\n1,20\n2,21\n3,22,canary-beyond\n");
    sandbox.policy(2, 1, "[columns.row]\nrole = \"identifier\"\n[columns.age]\nrole = \"quasi\"");
    let ended = sandbox.throng(&["run", "policy.toml", "-vv"]);
    assert_contains(&ended.refused(65), &["input/people.csv", "line 4", "number of fields"]);
    assert!(!ended.said().contains("canary"), "{}", ended.said());
    assert!(sandbox.out().is_empty());
}
