//! `throng verify`: promises recomputed from released values alone.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Ended, Sandbox};
use crate::tables::{strings, table, write_csv, write_parquet};

const K: u64 = 5;

/// Returns a valid release and its sandbox.
fn released() -> (Sandbox, RecordBatch) {
    let sandbox = Sandbox::with(&people(400), K, 2, COLUMNS);
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    (sandbox, release)
}

fn verify(sandbox: &Sandbox, path: &str) -> Ended {
    sandbox.throng(&["verify", path, "--policy", "policy.toml"])
}

/// Returns a copy of a release with one of its columns replaced or added.
fn with_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let schema = batch.schema();
    let known = schema.fields().iter().map(|field| field.name().as_str()).zip(batch.columns());
    let mut columns: Vec<(&str, ArrayRef)> = known.map(|(name, column)| (name, column.clone())).collect();
    match columns.iter_mut().find(|(known, _)| *known == name) {
        Some(place) => place.1 = column,
        None => columns.push((name, column)),
    }
    table(columns)
}

/// Writes a table where `verify` finds it.
fn store(sandbox: &Sandbox, batch: &RecordBatch) {
    fs::create_dir_all(sandbox.path("other")).unwrap();
    write_parquet(&sandbox.path("other/part.parquet"), batch);
}

#[test]
fn a_good_release_is_verified() {
    let (sandbox, release) = released();
    let count = Rows::of(&release).count(&QUASI, &["diagnosis"]);
    let ended = verify(&sandbox, "out/release");
    let json = ended.json();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(json["outcome"], "verified");
    assert_eq!(json["satisfied"], true);
    assert_eq!((&json["rows"], &json["classes"]), (&400.into(), &count.classes.into()));
    assert_eq!(json["smallest_class"], count.smallest);
    assert_eq!(json["classes_below_k"], 0);
    assert_eq!(json["sensitive"][0]["fewest"], count.fewest[0]);
    assert!(ended.stderr.contains("verified"), "{ended:?}");
}

#[test]
fn any_table_can_be_verified_without_a_policy() {
    let sandbox = Sandbox::new();
    let city = ["Rome", "Rome", "Rome", "Oslo", "Oslo", "Oslo", "Oslo"];
    let ill = ["flu", "gout", "flu", "flu", "flu", "flu", "flu"];
    let batch = table(vec![("city", strings(city)), ("ill", strings(ill))]);
    write_parquet(&sandbox.path("table.parquet"), &batch);
    write_csv(&sandbox.path("table.csv"), &batch);
    for path in ["table.parquet", "table.csv", "table.par*"] {
        let with = |k: &str, p: &str| {
            sandbox.throng(&["verify", path, "--quasi", "city", "--sensitive", "ill", "-k", k, "-p", p])
        };
        assert_eq!(with("3", "1").done()["smallest_class"], 3);
        let refused = with("4", "2");
        assert_eq!(refused.code, Some(4), "{refused:?}");
        let json = refused.json();
        assert_eq!((&json["outcome"], &json["satisfied"]), (&"refused".into(), &false.into()));
        assert_eq!(json["classes_below_k"], 1, "Rome has three rows");
        assert_eq!(json["sensitive"][0]["classes_below"], 1, "Oslo has one value");
        assert!(refused.stderr.contains("error: the promise does not hold"), "{refused:?}");
    }
    let both = ["verify", "table.parquet", "--quasi", "city,ill", "-k", "2"];
    assert_eq!(sandbox.throng(&both).code, Some(4), "one row has gout");
}

#[test]
fn a_release_with_one_changed_value_is_refused() {
    let (sandbox, release) = released();
    let rows = Rows::of(&release);
    let ages: Vec<&str> = rows.column("age").iter().map(|age| age.as_deref().unwrap()).collect();
    let tuples = rows.tuples(&QUASI);
    let size = |row: usize| tuples.iter().filter(|tuple| **tuple == tuples[row]).count() as u64;
    let victim = (0..rows.len()).find(|row| size(*row) == K).expect("a class of k rows");
    let changed = ages.iter().enumerate().map(|(row, age)| if row == victim { "[17-99]" } else { age });
    store(&sandbox, &with_column(&release, "age", strings(changed)));
    let ended = verify(&sandbox, "other");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(ended.json()["classes_below_k"], 2, "the class that lost the row, and the row on its own");
    assert_eq!(ended.json()["smallest_class"], 1);
    store(&sandbox, &release);
    verify(&sandbox, "other").done();
}

#[test]
fn a_release_with_a_lost_row_is_refused() {
    let (sandbox, release) = released();
    let rows = Rows::of(&release);
    let tuples = rows.tuples(&QUASI);
    // The rows of a class are contiguous, so a cut through one leaves too few of it.
    let border = (1..rows.len()).rev().find(|row| tuples[*row] != tuples[row - 1]).unwrap();
    store(&sandbox, &release.slice(0, border + 1));
    let ended = verify(&sandbox, "other");
    assert_eq!((ended.code, ended.json()["smallest_class"].as_u64()), (Some(4), Some(1)));
}

#[test]
fn a_class_whose_sensitive_values_became_alike_is_refused() {
    let (sandbox, release) = released();
    let nulls: StringArray = (0..release.num_rows()).map(|_| None::<&str>).collect();
    for (column, fewest) in [(strings(vec!["flu"; release.num_rows()]), 1), (Arc::new(nulls) as ArrayRef, 0)] {
        store(&sandbox, &with_column(&release, "diagnosis", column));
        let ended = verify(&sandbox, "other");
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert_eq!(ended.json()["sensitive"][0]["fewest"], fewest);
        assert_eq!(ended.json()["classes_below_k"], 0);
    }
}

#[test]
fn a_column_that_the_policy_does_not_release_is_refused() {
    let (sandbox, release) = released();
    let names = release.column_by_name("country").unwrap().as_string::<i32>().clone();
    store(&sandbox, &with_column(&release, "name", Arc::new(names)));
    let message = verify(&sandbox, "other").refused(4);
    assert!(message.contains("`name`"), "{message}");
    store(&sandbox, &people(400));
    assert_eq!(verify(&sandbox, "other").refused(4), message, "the input itself is no release");
}

#[test]
fn a_missing_column_is_named() {
    let (sandbox, release) = released();
    let without: Vec<usize> =
        (0..release.num_columns()).filter(|index| release.schema().field(*index).name() != "zip").collect();
    store(&sandbox, &release.project(&without).unwrap());
    assert!(verify(&sandbox, "other").refused(65).contains("no column `zip`"));
    let quasi = ["verify", "out/release", "--quasi", "age,shoe_size", "-k", "2"];
    assert!(sandbox.throng(&quasi).refused(65).contains("no column `shoe_size`"));
    let sensitive = ["verify", "out/release", "--quasi", "age", "--sensitive", "salary", "-k", "2", "-p", "2"];
    assert!(sandbox.throng(&sensitive).refused(65).contains("no column `salary`"));
}

#[test]
fn a_release_without_rows_keeps_no_promise() {
    let (sandbox, release) = released();
    store(&sandbox, &release.slice(0, 0));
    let ended = verify(&sandbox, "other");
    assert_eq!((ended.code, ended.json()["rows"].as_u64()), (Some(4), Some(0)));
}

#[test]
fn bounds_are_verified_by_both_of_their_columns() {
    let columns =
        COLUMNS.replace("[columns.age]\nrole = \"quasi\"", "[columns.age]\nrole = \"quasi\"\nrelease = \"bounds\"");
    let sandbox = Sandbox::with(&people(300), K, 2, &columns);
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    let quasi = ["age_min", "age_max", "sex", "country", "zip"];
    let count = Rows::of(&release).count(&quasi, &["diagnosis"]);
    assert!(count.smallest >= K && count.fewest[0] >= 2, "{count:?}");
    let json = verify(&sandbox, "out/release").done();
    assert_eq!(json["classes"], count.classes);
    assert!(release.column_by_name("age").is_none());
}
