//! `throng hierarchy`: make, check, print and convert in both directions.

use std::fs;
use std::sync::Arc;

use arrow::array::{Date32Array, Int64Array};

use crate::fixture_table::people;
use crate::sandbox::{Workshop, assert_says};
use crate::tables::{strings, table, write_parquet};

const COUNTRIES: &str = "France;Europe;*\nItaly;Europe;*\nSpain;Europe;*\nChina;Asia;*\nJapan;Asia;*\nKenya;Africa;*\n";

fn workshop() -> Workshop {
    let workshop = Workshop::new();
    let ages: Vec<i64> = vec![23, 27, 31, 23, 38];
    let days = Date32Array::from(vec![Some(0), Some(40), Some(400), None, Some(0)]);
    let batch = table(vec![
        ("age", Arc::new(Int64Array::from(ages))),
        ("zip", strings(["A10", "A12", "B10", "A10", "A12"])),
        ("day", Arc::new(days)),
    ]);
    write_parquet(&workshop.path("input/people.parquet"), &batch);
    workshop.write("country.csv", COUNTRIES);
    workshop
}

#[test]
fn a_hierarchy_is_made_of_a_column_with_each_builder() {
    let workshop = workshop();
    let made = |column: &str, builder: &str| {
        let file = format!("{column}.csv");
        let make = ["hierarchy", "make", "input/", "--column", column, "--builder", builder, "-o", &file];
        let outcome = workshop.throng(&make).done();
        assert_eq!(outcome["outcome"], "made");
        fs::read_to_string(workshop.path(&file)).unwrap()
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
    let outcome = workshop.throng(&check).done();
    assert_eq!((&outcome["distinct"], &outcome["missing"]), (&4.into(), &0.into()));
    let again = ["hierarchy", "make", "input/", "--column", "age", "--builder", "width = 5", "-o", "age.csv"];
    assert_says(&workshop.throng(&again).refused(78), &["age.csv", "already there"]);
}

#[test]
fn a_builder_is_checked_like_one_in_a_policy() {
    let workshop = workshop();
    let refused = |column: &str, builder: &str, code: i32| {
        let make = ["hierarchy", "make", "input/", "--column", column, "--builder", builder, "-o", "x.csv"];
        let message = workshop.throng(&make).refused(code);
        assert!(!workshop.path("x.csv").exists());
        message
    };
    assert_says(&refused("age", "intervals = [5, 7]", 78), &["--builder:1:", "multiple"]);
    assert_says(&refused("age", "interval = [5]", 78), &["did you mean `intervals`?"]);
    assert_says(&refused("zip", "intervals = [5]", 65), &["column `zip`", "numbers"]);
    assert_says(&refused("zpi", "mask = \"right\"", 2), &["no column `zpi`", "`zip`"]);
}

#[test]
fn missing_values_are_counted_and_never_listed() {
    let workshop = workshop();
    write_parquet(&workshop.path("input/people.parquet"), &people(300));
    let ended = workshop.throng(&["hierarchy", "check", "country.csv", "input/", "--column", "country"]);
    let message = ended.refused(65);
    assert_says(&message, &["1 of 7 distinct values of `country`"]);
    assert_eq!(ended.json()["missing"], 1);
    assert!(!ended.said().contains("Ghana"), "{}", ended.said());
    workshop.write("country.csv", format!("{COUNTRIES}Ghana;Africa;*\n"));
    let outcome = workshop.throng(&["hierarchy", "check", "country.csv", "input/", "--column", "country"]).done();
    assert_eq!((&outcome["values"], &outcome["distinct"]), (&7.into(), &7.into()));
}

#[test]
fn a_broken_hierarchy_is_refused_with_its_line() {
    let workshop = workshop();
    for (lines, told) in [
        ("a;A;*\nb;B;*\na;A;*\n", "line 3"),
        ("a;A;*\nb;A\n", "line 2"),
        ("a;x;y;*\nb;x;z;*\n", "two"),
        ("a;b;a;*\n", "cycle"),
        ("a;A;*\nb;B;all\n", "root"),
    ] {
        workshop.write("broken.csv", lines);
        let message = workshop.throng(&["hierarchy", "check", "broken.csv"]).refused(78);
        let told = if told == "two" { "one place" } else { told };
        assert_says(&message, &["broken.csv", told]);
    }
    assert_says(&workshop.throng(&["hierarchy", "check", "none.csv"]).refused(78), &["no such file"]);
    workshop.throng(&["hierarchy", "check", "country.csv", "input/"]).refused(2);
}

#[test]
fn a_hierarchy_is_printed_as_a_tree() {
    let workshop = workshop();
    let ended = workshop.throng(&["hierarchy", "print", "country.csv"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        ended.stdout,
        "*\n├─ Europe\n│  ├─ France\n│  ├─ Italy\n│  └─ Spain\n├─ Asia\n│  ├─ China\n│  └─ Japan\n└─ Africa\n   └─ Kenya\n"
    );
    let ended = workshop.throng(&["hierarchy", "print", "country.csv", "--depth", "1"]);
    assert_eq!(ended.stdout, "*\n├─ Europe (3 below)\n├─ Asia (2 below)\n└─ Africa (1 below)\n");
}

#[test]
fn a_file_becomes_a_tree_of_a_policy_and_comes_back() {
    let workshop = workshop();
    let ended = workshop.throng(&["hierarchy", "convert", "country.csv"]);
    let line = ended.stdout.clone();
    assert!(line.starts_with("hierarchy = { tree = { \"Europe\" = ["), "{line}");
    // The output can be pasted into a policy.
    let columns = crate::fixture_table::COLUMNS;
    let tree = columns.lines().find(|line| line.starts_with("hierarchy = { tree")).unwrap();
    workshop.write("country.csv", format!("{COUNTRIES}Ghana;Africa;*\n"));
    let line = workshop.throng(&["hierarchy", "convert", "country.csv"]).stdout;
    write_parquet(&workshop.path("input/people.parquet"), &people(300));
    workshop.policy(4, 2, &columns.replace(tree, line.trim_end()));
    workshop.run(&[]);
    // Conversion in both directions restores the file.
    workshop.throng(&["hierarchy", "convert", "country.csv", "-o", "country.toml"]).done();
    workshop.throng(&["hierarchy", "convert", "country.toml", "-o", "again.csv"]).done();
    let read = |name: &str| fs::read_to_string(workshop.path(name)).unwrap();
    assert_eq!(read("again.csv"), read("country.csv"));
    let message = workshop.throng(&["hierarchy", "convert", "country.toml", "-o", "again.csv"]).refused(78);
    assert_says(&message, &["already there"]);
    workshop.write("root.csv", "a;A;all\nb;B;all\n");
    assert_says(&workshop.throng(&["hierarchy", "convert", "root.csv"]).refused(78), &["keep the file"]);
}
