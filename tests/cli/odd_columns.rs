//! Ambiguous column names: repeated names, names that differ by case, no names at all.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use parquet::data_type::Int64Type;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::label_covers::{Domain, set_covers};
use crate::release_files::{Rows, multiset, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{strings, table, texts, write_csv, write_ipc, write_parquet};

const AGE: &str = "[columns.age]\nrole = \"quasi\"\n";

#[test]
fn names_of_derived_columns_are_reserved() {
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    for (name, role) in [("__throng_block", "quasi"), ("__throng_unit", "quasi"), ("__throng_unit", "insensitive")] {
        let sandbox = Sandbox::new();
        write_csv(&sandbox.path("input/people.csv"), &table(vec![("age", ages.clone()), (name, ages.clone())]));
        sandbox.policy(2, 1, &format!("{AGE}[columns.{name}]\nrole = \"{role}\"\n"));
        let message = sandbox.run_refused(78, &["--input", "input/people.csv"]);
        assert_contains(&message, &[name, "reserved", "rename the column"]);
    }
}

#[test]
fn names_that_repeat_are_refused_by_name() {
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    let twice = table(vec![("age", ages.clone()), ("row", ages.clone()), ("age", ages)]);
    let sandbox = Sandbox::new();
    sandbox.policy(2, 1, AGE);
    write_ipc(&sandbox.path("input/people.arrow"), &twice);
    write_csv(&sandbox.path("input/people.csv"), &twice);
    // Arrow's writer refuses repeated names, which the format allows.
    let schema = parse_message_type("message m { required int64 age; required int64 row; required int64 age; }");
    let file = File::create(sandbox.path("input/people.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema.unwrap()), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<Int64Type>().write_batch(&[1, 2, 3], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    for name in ["input/people.parquet", "input/people.arrow", "input/people.csv"] {
        let message = sandbox.run_refused(65, &["--input", name]);
        assert_contains(&message, &[name, "more than one column `age`", "a name of its own"]);
    }
}

#[test]
fn names_that_differ_by_case_are_different_columns() {
    const ROWS: usize = 60;
    let number = |factor: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * factor % 37)))
    };
    let input = table(vec![
        ("row", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("Age", number(7)),
        ("age", number(11)),
        ("AGE", number(5)),
        ("City", strings((0..ROWS).map(|row| ["Rome", "Oslo", "Bern"][row % 3]))),
        ("city", strings((0..ROWS).map(|row| format!("secret city {row}")))),
    ]);
    let role = |name: &str, role: &str| format!("[columns.{name}]\nrole = \"{role}\"\n");
    let columns = [
        role("row", "insensitive"),
        role("Age", "quasi"),
        role("age", "insensitive"),
        role("AGE", "sensitive"),
        role("City", "quasi") + "release = \"set\"\n",
        role("city", "identifier"),
    ];
    for name in ["people.parquet", "people.arrow", "people.csv"] {
        let sandbox = Sandbox::new();
        let path = sandbox.path("input").join(name);
        match name.rsplit_once('.').unwrap().1 {
            "parquet" => write_parquet(&path, &input),
            "arrow" => write_ipc(&path, &input),
            _ => write_csv(&path, &input),
        }
        sandbox.policy(4, 2, &columns.concat());
        sandbox.run(&[]);
        let release = Rows::of(&read(&sandbox.release()));
        assert_eq!(release.names(), ["row", "Age", "age", "AGE", "City"]);
        let count = release.count(&["Age", "City"], &["AGE"]);
        assert!(count.smallest >= 4 && count.fewest[0] >= 2, "{count:?}");
        let before = Rows::of(&input);
        let kept = ["row", "age", "AGE"];
        assert_eq!(multiset(release.tuples(&kept)), multiset(before.tuples(&kept)), "{name}");
        let ages = Domain::ascending(texts(&arrow::compute::sort(input.column(1), None).unwrap()));
        for (row, place) in release.by("row") {
            let origin: usize = row.parse().unwrap();
            assert!(ages.interval_covers(&release.column("Age")[place], &before.column("Age")[origin]));
            assert!(set_covers(&release.column("City")[place], &before.column("City")[origin]));
        }
    }
}

#[test]
fn a_policy_that_has_the_case_wrong_is_refused_with_a_guess() {
    let input = table(vec![("Age", Arc::new(Int64Array::from_iter_values(0..10)))]);
    let sandbox = Sandbox::with(&input, 2, 1, AGE);
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.age", "no such column", "did you mean `Age`?"]);
    let dropping = format!("[columns]\ndefault = \"drop\"\n{AGE}");
    sandbox.policy(2, 1, &dropping);
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.age", "no such column"]);
}

#[test]
fn files_whose_names_differ_by_case_have_drifted() {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    let sandbox = Sandbox::with(&table(vec![("age", column.clone())]), 2, 1, AGE);
    write_parquet(&sandbox.path("input/second.parquet"), &table(vec![("Age", column)]));
    let message = sandbox.run_refused(65, &[]);
    assert_contains(&message, &["do not have the same schema", "`age` is only in the first"]);
}

#[test]
fn a_table_without_columns_is_refused() {
    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let nothing = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    for name in ["people.parquet", "people.arrow"] {
        let sandbox = Sandbox::new();
        sandbox.policy(2, 1, &format!("[columns]\ndefault = \"drop\"\n{AGE}"));
        let path = sandbox.path("input").join(name);
        if name.ends_with("arrow") {
            write_ipc(&path, &nothing)
        } else {
            write_parquet(&path, &nothing)
        }
        assert_contains(&sandbox.run_refused(65, &[]), &[name, "has no columns"]);
    }
}
