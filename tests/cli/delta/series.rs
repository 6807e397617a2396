//! A series of releases as versions of a Delta table.

use std::collections::HashMap;
use std::fs;

use arrow::array::RecordBatch;
use serde_json::{Value, json};

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Cell, Rows, read_file};
use crate::sandbox::{Sandbox, assert_contains, names};
use crate::tables::write_parquet;

const K: usize = 4;
const VERIFY: [&str; 5] = ["verify", "delta+out/release", "--policy", "policy.toml", "--ledger"];

fn sandbox() -> Sandbox {
    let columns = format!("unit = \"row\"\n[series]\nledger = \"ledger\"\n{COLUMNS}");
    let sandbox = Sandbox::with(&people(500), K as u64, 2, &columns);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nmode = \"series\"\nformat = \"delta\"\n"));
    sandbox
}

/// Publishes a night with these people in the input.
fn night(sandbox: &Sandbox, rows: &RecordBatch) -> Value {
    write_parquet(&sandbox.path("input/people.parquet"), rows);
    sandbox.run(&[])
}

fn document(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng").join(name)).unwrap()).unwrap()
}

/// Adds an entry of another program to the log.
fn add_entry(sandbox: &Sandbox, version: u64, lines: &[Value]) {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    sandbox.write(&format!("out/release/_delta_log/{version:020}.json"), text.join("\n"));
}

/// Returns the quasi-identifiers of each row of the version that the manifest describes.
fn classes(sandbox: &Sandbox) -> HashMap<Cell, Vec<Cell>> {
    let manifest = document(sandbox, "manifest.json");
    let files = manifest["files"].as_array().unwrap().iter();
    let batches = files.flat_map(|file| read_file(&sandbox.release().join(file["path"].as_str().unwrap())));
    let mut found = HashMap::new();
    for rows in batches.map(|batch| Rows::of(&batch)) {
        for (at, row) in rows.column("row").iter().enumerate() {
            found.insert(row.clone(), QUASI.map(|name| rows.column(name)[at].clone()).to_vec());
        }
    }
    found
}

#[test]
fn versions_that_time_travel_reaches_are_safe_together() {
    let sandbox = sandbox();
    let mut nights = Vec::new();
    for (version, rows) in [people(500), people(600).slice(1, 599), people(700).slice(9, 691)].iter().enumerate() {
        night(&sandbox, rows);
        let metrics = document(&sandbox, "metrics.json");
        assert_eq!(metrics["output"]["version"], version);
        assert_eq!(metrics["output"]["earlier_versions"], version);
        assert_eq!(metrics["series"]["releases"], version + 1);
        nights.push(classes(&sandbox));
    }
    // Files of all versions are still there, and someone who follows a person through them finds at least k.
    assert_eq!(names(&sandbox.release()).iter().filter(|name| name.starts_with("part-")).count(), 3);
    let mut blocks: HashMap<Vec<Option<&Vec<Cell>>>, usize> = HashMap::new();
    let everybody: std::collections::HashSet<&Cell> = nights.iter().flat_map(HashMap::keys).collect();
    for person in everybody {
        *blocks.entry(nights.iter().map(|night| night.get(person)).collect()).or_default() += 1;
    }
    let smallest = blocks.values().min().unwrap();
    assert!(*smallest >= K, "{smallest} people can be followed through all versions");
    let verified = sandbox.throng(&VERIFY).done();
    assert_eq!((&verified["satisfied"], &verified["ledger"]["releases"]), (&true.into(), &3.into()), "{verified}");
    assert_eq!(names(&sandbox.path("ledger")).iter().filter(|name| name.starts_with("ledger-")).count(), 1);
}

#[test]
fn the_entry_and_not_the_manifest_decides_which_ledger_counts() {
    let sandbox = sandbox();
    night(&sandbox, &people(500));
    let manifest = fs::read(sandbox.release().join("_throng/manifest.json")).unwrap();
    night(&sandbox, &people(560));
    // As if the second run had been killed after its commit.
    sandbox.write("out/release/_throng/manifest.json", &manifest);
    assert_eq!(sandbox.throng(&VERIFY).done()["ledger"]["releases"], 2);
    night(&sandbox, &people(600));
    assert_eq!(document(&sandbox, "metrics.json")["series"]["releases"], 3);
    // Entries that change no files, as of a program that has removed old ones, leave the release as it is.
    add_entry(&sandbox, 3, &[json!({ "commitInfo": { "operation": "VACUUM END" } })]);
    night(&sandbox, &people(640));
    assert_eq!(document(&sandbox, "metrics.json")["output"]["version"], 4);
    assert_eq!(sandbox.throng(&VERIFY).done()["ledger"]["releases"], 4);
}

#[test]
fn files_of_another_program_end_a_series() {
    let sandbox = sandbox();
    night(&sandbox, &people(500));
    let path = document(&sandbox, "manifest.json")["files"][0]["path"].clone();
    let remove = json!({ "remove": { "path": path, "dataChange": true, "deletionTimestamp": 0 } });
    add_entry(&sandbox, 1, &[json!({ "commitInfo": { "operation": "DELETE" } }), remove]);
    assert_contains(&sandbox.run_refused(78, &[]), &["another program", "--rebase"]);
    let refused = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml", "--ledger"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    sandbox.run(&["--rebase"]);
    let metrics = document(&sandbox, "metrics.json");
    assert_eq!((&metrics["series"]["releases"], &metrics["output"]["version"]), (&1.into(), &2.into()), "{metrics}");
}

#[test]
fn a_version_that_the_series_has_forgotten_must_expire_first() {
    let sandbox = sandbox();
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("ledger = \"ledger\"\n", "ledger = \"ledger\"\nremember = 2\n"));
    for rows in [500, 540, 580] {
        night(&sandbox, &people(rows));
    }
    write_parquet(&sandbox.path("input/people.parquet"), &people(620));
    assert_contains(&sandbox.run_refused(75, &[]), &["3 earlier releases", "remembers 2", "expire an hour after"]);
    assert_eq!(document(&sandbox, "metrics.json")["output"]["version"], 2);
    // Without their files they can't be read any more.
    let manifest = document(&sandbox, "manifest.json");
    let latest = manifest["files"][0]["path"].as_str().unwrap();
    for name in names(&sandbox.release()).iter().filter(|name| name.starts_with("part-") && *name != latest) {
        fs::remove_file(sandbox.release().join(name)).unwrap();
    }
    sandbox.run(&[]);
    assert_eq!(document(&sandbox, "metrics.json")["output"]["earlier_versions"], 1);
}
