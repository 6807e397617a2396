//! The page about the documents of a release lists all of their fields.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::Value;

use super::repository;
use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::Sandbox;
use crate::tables::{strings, table};

const PAGE: &str = "docs/src/reference/sidecar.md";

/// Collects the path of every field with a number or a text, without names of columns and stages.
fn ways(value: &Value, way: &str, found: &mut BTreeSet<String>) {
    let named = ["utility.columns", "timing_ms"].contains(&way);
    match value {
        Value::Object(fields) => {
            for (name, below) in fields {
                let name = if named { "NAME" } else { name };
                ways(below, format!("{way}.{name}").trim_start_matches('.'), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| ways(item, &format!("{way}[]"), found)),
        _ => {
            found.insert(way.to_owned());
        }
    }
}

/// Returns the first cells of the table below a heading.
fn shown(page: &str, heading: &str) -> BTreeSet<String> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

/// Forty people of one age and one of another, whose class must borrow rows.
fn crowd_and_one() -> RecordBatch {
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..41).map(|row| 30 + row / 40)));
    let illnesses = strings((0..41).map(|row| format!("illness {}", row % 4)));
    table(vec![("age", ages), ("illness", illnesses)])
}

/// Limits that every release meets whose population is its input.
const LIMITS: &str = "k_map = 2, delta_min = 0.0, delta_max = 1.0";

/// Visits with a code of the illness, and guards.
const CODED: &str = "min_rows = 1\nmax_rows_change = 9.0\nloss_limit = 1.0\ninsensitive_uniqueness = 1.0\n\
                     [columns]\npatient.role = \"identifier\"\nage.role = \"quasi\"\ncode.role = \"insensitive\"\n\
                     illness.role = \"sensitive\"\n";

fn coded() -> RecordBatch {
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..200).map(|row| 30 + row / 40)));
    let of = |kind: &str, count: usize| strings((0..200).map(|row| format!("{kind} {}", row % count)));
    table(vec![("patient", of("patient", 50)), ("age", ages), ("code", of("code", 4)), ("illness", of("illness", 4))])
}

#[test]
fn the_reference_of_the_documents_has_every_field() {
    let (mut metrics, mut manifest) = (BTreeSet::new(), BTreeSet::new());
    let means = COLUMNS.replacen("role = \"quasi\"", "role = \"quasi\"\nrelease = \"mean\"", 1);
    let inputs = [
        (people(2000), COLUMNS.to_owned()),
        (people(2000), means),
        (people(2000), format!("attacks = {{ max_gain = 100.0 }}\n{COLUMNS}")),
        (people(2000), format!("population = {{ fraction = 0.1 }}\n{COLUMNS}")),
        (people(2000), format!("population = {{ table = \"input/\", {LIMITS} }}\n{COLUMNS}")),
        (people(2000), format!("[workload]\nqueries = [[\"age\"]]\n{COLUMNS}")),
        (coded(), CODED.to_owned()),
        (crowd_and_one(), "[columns]\nage.role = \"quasi\"\nillness.role = \"sensitive\"\n".to_owned()),
    ];
    // A policy ends with its columns, so the tables of a series come first.
    let series = format!("unit = \"name\"\n[series]\nledger = \"ledger\"\n{COLUMNS}");
    for (people, columns) in inputs.into_iter().chain([(people(2000), series)]) {
        let sandbox = Sandbox::with(&people, 4, 2, &columns);
        let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
        let text = match columns.contains("[series]") {
            true => text.replace("[output]\n", "[output]\nmode = \"series\"\n"),
            false if columns.contains("[algorithm]") => text,
            false => text.replace("[privacy]\n", "[algorithm]\nbound = true\n[privacy]\n"),
        };
        sandbox.write("policy.toml", text);
        // A release has no input digest if a file was written just before.
        let file = fs::File::options().append(true).open(sandbox.path("input/people.parquet")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        sandbox.run(&[]);
        add_fields(&sandbox, &mut metrics, &mut manifest);
    }
    release_of_tables(&mut metrics, &mut manifest);
    linked_tables(&mut metrics, &mut manifest);
    appended_release(&mut metrics, &mut manifest);
    // Only a release on an object store that replaces one in another folder has these.
    manifest.insert("replaced_folders[]".to_owned());
    let page = fs::read_to_string(repository(PAGE)).unwrap();
    assert_eq!(shown(&page, "`_throng/metrics.json`"), metrics);
    assert_eq!(shown(&page, "`_throng/manifest.json`"), manifest);
}

/// Adds the fields of a Delta table that was released to a Delta table.
fn release_of_tables(metrics: &mut BTreeSet<String>, manifest: &mut BTreeSet<String>) {
    let sandbox =
        Sandbox::with(&crowd_and_one(), 4, 2, "[columns]\nage.role = \"quasi\"\nillness.role = \"sensitive\"\n");
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nformat = \"delta\"\n"));
    sandbox.run(&["--output", "out/first"]);
    let columns = "[columns]\nage.role = \"quasi\"\nillness.role = \"insensitive\"\n[privacy]\nk = 2\n";
    let places = "[input]\nlocation = \"delta+out/first\"\n[output]\nlocation = \"out/release\"\nformat = \"delta\"\n";
    sandbox.write("policy.toml", format!("version = 1\n{places}{columns}"));
    sandbox.run(&[]);
    add_fields(&sandbox, metrics, manifest);
}

/// Adds the fields of two tables that join.
fn linked_tables(metrics: &mut BTreeSet<String>, manifest: &mut BTreeSet<String>) {
    let sandbox = Sandbox::with(&coded(), 4, 2, "");
    let columns = "columns.patient = { role = \"identifier\", release = \"pseudonym\" }\ncolumns.age.role = \"quasi\"\n\
                   columns.code.role = \"identifier\"\ncolumns.illness.role = \"sensitive\"\n";
    let input = "input.location = \"input/people.parquet\"\n";
    sandbox.write(
        "policy.toml",
        format!(
            "version = 1\ntable = \"one\"\noutput.location = \"out/release\"\n{input}{columns}\
             privacy = {{ k = 4, p = 2, unit = \"patient\" }}\n[tables.two]\n{input}{columns}"
        ),
    );
    sandbox.run(&[]);
    add_fields(&sandbox, metrics, manifest);
}

/// Adds the fields of a release to which rows are appended.
fn appended_release(metrics: &mut BTreeSet<String>, manifest: &mut BTreeSet<String>) {
    let sandbox =
        Sandbox::with(&crowd_and_one(), 4, 2, "[columns]\nage.role = \"quasi\"\nillness.role = \"sensitive\"\n");
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nmode = \"append\"\n"));
    let file = fs::File::options().append(true).open(sandbox.path("input/people.parquet")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    sandbox.run(&[]);
    add_fields(&sandbox, metrics, manifest);
}

/// Adds the fields of the documents of a release.
fn add_fields(sandbox: &Sandbox, metrics: &mut BTreeSet<String>, manifest: &mut BTreeSet<String>) {
    for (name, found) in [("metrics", metrics), ("manifest", manifest)] {
        let bytes = fs::read(sandbox.release().join(format!("_throng/{name}.json"))).unwrap();
        ways(&serde_json::from_slice(&bytes).unwrap(), "", found);
    }
}
