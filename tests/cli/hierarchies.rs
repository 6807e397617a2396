//! `throng hierarchy`: make, check, print and convert in both directions.

use std::fs;
use std::sync::Arc;

use arrow::array::{Date32Array, Int64Array};

use crate::fixture_table::people;
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{strings, table, write_parquet};

const COUNTRIES: &str = "France;Europe;*\nItaly;Europe;*\nSpain;Europe;*\nChina;Asia;*\nJapan;Asia;*\nKenya;Africa;*\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let ages: Vec<i64> = vec![23, 27, 31, 23, 38];
    let days = Date32Array::from(vec![Some(0), Some(40), Some(400), None, Some(0)]);
    let batch = table(vec![
        ("age", Arc::new(Int64Array::from(ages))),
        ("zip", strings(["A10", "A12", "B10", "A10", "A12"])),
        ("day", Arc::new(days)),
    ]);
    write_parquet(&sandbox.path("input/people.parquet"), &batch);
    sandbox.write("country.csv", COUNTRIES);
    sandbox
}

#[test]
fn a_hierarchy_is_made_of_a_column_with_each_builder() {
    let sandbox = sandbox();
    let made = |column: &str, builder: &str| {
        let file = format!("{column}.csv");
        let make = ["hierarchy", "make", "input/", "--column", column, "--builder", builder, "-o", &file];
        let outcome = sandbox.throng(&make).done();
        assert_eq!(outcome["outcome"], "made");
        fs::read_to_string(sandbox.path(&file)).unwrap()
    };
    assert_eq!(
        made("age", "intervals = [5, 10]"),
        "23;[20-24];[20-29];*\n27;[25-29];[20-29];*\n31;[30-34];[30-39];*\n38;[35-39];[30-39];*\n"
    );
    assert_eq!(made("zip", "mask = \"right\""), "A10;A1*;A**;*\nA12;A1*;A**;*\nB10;B1*;B**;*\n");
    assert_eq!(
        made("day", "date = [\"month\", \"year\"]"),
        "1970-01-01;1970-01;1970;*\n1970-02-10;1970-02;1970;*\n1971-02-05;1971-02;1971;*\n"
    );
    // The new file fits its column, and is not replaced.
    let check = ["hierarchy", "check", "age.csv", "input/", "--column", "age"];
    let outcome = sandbox.throng(&check).done();
    assert_eq!((&outcome["distinct"], &outcome["missing"]), (&4.into(), &0.into()));
    let again = ["hierarchy", "make", "input/", "--column", "age", "--builder", "width = 5", "-o", "age.csv"];
    assert_contains(&sandbox.throng(&again).refused(78), &["age.csv", "already there"]);
}

#[test]
fn a_builder_is_checked_like_one_in_a_policy() {
    let sandbox = sandbox();
    let refused = |column: &str, builder: &str, code: i32| {
        let make = ["hierarchy", "make", "input/", "--column", column, "--builder", builder, "-o", "x.csv"];
        let message = sandbox.throng(&make).refused(code);
        assert!(!sandbox.path("x.csv").exists());
        message
    };
    assert_contains(&refused("age", "intervals = [5, 7]", 78), &["--builder:1:", "multiple"]);
    assert_contains(&refused("age", "interval = [5]", 78), &["did you mean `intervals`?"]);
    assert_contains(&refused("zip", "intervals = [5]", 65), &["column `zip`", "numbers"]);
    assert_contains(&refused("zpi", "mask = \"right\"", 2), &["no column `zpi`", "`zip`"]);
}

#[test]
fn missing_values_are_counted_and_never_listed() {
    let sandbox = sandbox();
    write_parquet(&sandbox.path("input/people.parquet"), &people(300));
    let ended = sandbox.throng(&["hierarchy", "check", "country.csv", "input/", "--column", "country"]);
    let message = ended.refused(65);
    assert_contains(&message, &["1 of 7 distinct values of `country`"]);
    assert_eq!(ended.json()["missing"], 1);
    assert!(!ended.said().contains("Ghana"), "{}", ended.said());
    sandbox.write("country.csv", format!("{COUNTRIES}Ghana;Africa;*\n"));
    let outcome = sandbox.throng(&["hierarchy", "check", "country.csv", "input/", "--column", "country"]).done();
    assert_eq!((&outcome["values"], &outcome["distinct"]), (&7.into(), &7.into()));
}

#[test]
fn a_broken_hierarchy_is_refused_with_its_line() {
    let sandbox = sandbox();
    for (lines, expected) in [
        ("a;A;*\nb;B;*\na;A;*\n", "line 3"),
        ("a;A;*\nb;A\n", "line 2"),
        ("a;x;y;*\nb;x;z;*\n", "two"),
        ("a;b;a;*\n", "cycle"),
        ("a;A;*\nb;B;all\n", "root"),
    ] {
        sandbox.write("broken.csv", lines);
        let message = sandbox.throng(&["hierarchy", "check", "broken.csv"]).refused(78);
        let expected = if expected == "two" { "one place" } else { expected };
        assert_contains(&message, &["broken.csv", expected]);
    }
    assert_contains(&sandbox.throng(&["hierarchy", "check", "none.csv"]).refused(78), &["no such file"]);
    sandbox.throng(&["hierarchy", "check", "country.csv", "input/"]).refused(2);
}

#[test]
fn a_hierarchy_is_printed_as_a_tree() {
    let sandbox = sandbox();
    let ended = sandbox.throng(&["hierarchy", "print", "country.csv"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        ended.stdout,
        "*\n├─ Europe\n│  ├─ France\n│  ├─ Italy\n│  └─ Spain\n├─ Asia\n│  ├─ China\n│  └─ Japan\n└─ Africa\n   └─ Kenya\n"
    );
    let ended = sandbox.throng(&["hierarchy", "print", "country.csv", "--depth", "1"]);
    assert_eq!(ended.stdout, "*\n├─ Europe (3 below)\n├─ Asia (2 below)\n└─ Africa (1 below)\n");
}

#[test]
fn a_file_becomes_a_tree_of_a_policy_and_comes_back() {
    let sandbox = sandbox();
    let ended = sandbox.throng(&["hierarchy", "convert", "country.csv"]);
    let line = ended.stdout.clone();
    assert!(line.starts_with("hierarchy = { tree = { \"Europe\" = ["), "{line}");
    // The output can be pasted into a policy.
    let columns = crate::fixture_table::COLUMNS;
    let tree = columns.lines().find(|line| line.starts_with("hierarchy = { tree")).unwrap();
    sandbox.write("country.csv", format!("{COUNTRIES}Ghana;Africa;*\n"));
    let line = sandbox.throng(&["hierarchy", "convert", "country.csv"]).stdout;
    write_parquet(&sandbox.path("input/people.parquet"), &people(300));
    sandbox.policy(4, 2, &columns.replace(tree, line.trim_end()));
    sandbox.run(&[]);
    // Conversion in both directions restores the file.
    sandbox.throng(&["hierarchy", "convert", "country.csv", "-o", "country.toml"]).done();
    sandbox.throng(&["hierarchy", "convert", "country.toml", "-o", "again.csv"]).done();
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap();
    assert_eq!(read("again.csv"), read("country.csv"));
    let message = sandbox.throng(&["hierarchy", "convert", "country.toml", "-o", "again.csv"]).refused(78);
    assert_contains(&message, &["already there"]);
    sandbox.write("root.csv", "a;A;all\nb;B;all\n");
    assert_contains(&sandbox.throng(&["hierarchy", "convert", "root.csv"]).refused(78), &["keep the file"]);
}
