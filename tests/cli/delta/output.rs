//! Releases as versions of a Delta table.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::read_file;
use crate::sandbox::{Ended, Sandbox, assert_contains, names};
use crate::tables::write_parquet;

fn sandbox(rows: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/people.parquet"), &people(rows));
    let policy = format!(
        "version = 1\n[input]\nlocation = \"input/\"\n[output]\nlocation = \"out/release\"\nformat = \"delta\"\n\
         rows_per_file = 100\n[privacy]\nk = 3\n{COLUMNS}"
    );
    sandbox.write("policy.toml", policy);
    sandbox
}

fn entry_path(sandbox: &Sandbox, version: u64) -> PathBuf {
    sandbox.release().join(format!("_delta_log/{version:020}.json"))
}

fn entry(sandbox: &Sandbox, version: u64) -> Vec<Value> {
    let text = fs::read_to_string(entry_path(sandbox, version)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the paths that an entry adds or removes.
fn paths(entry: &[Value], action: &str) -> Vec<String> {
    let paths = entry.iter().filter_map(|line| line[action]["path"].as_str().map(str::to_owned));
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    paths
}

fn data_files(sandbox: &Sandbox) -> Vec<String> {
    names(&sandbox.release()).into_iter().filter(|name| name.ends_with(".parquet")).collect()
}

fn document(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng").join(name)).unwrap()).unwrap()
}

#[test]
fn a_release_is_a_version_and_replaces_the_one_before() {
    let sandbox = sandbox(250);
    let first = sandbox.run(&[]);
    let (log, metrics) = (entry(&sandbox, 0), document(&sandbox, "metrics.json"));
    assert_eq!(paths(&log, "add"), data_files(&sandbox));
    assert_eq!(paths(&log, "add").len(), 3);
    let info = &log[0]["commitInfo"];
    assert_eq!((&info["throngRunId"], &info["throngPolicyDigest"]), (&first["run_id"], &metrics["policy_digest"]));
    assert_eq!((&metrics["output"]["version"], &metrics["output"]["earlier_versions"]), (&json!(0), &json!(0)));
    let text = fs::read_to_string(entry_path(&sandbox, 0)).unwrap();
    assert!(!text.contains("minValues") && !text.contains("France"), "the log shows values: {text}");
    for line in log.iter().filter(|line| line["add"].is_object()) {
        let file = sandbox.release().join(line["add"]["path"].as_str().unwrap());
        let stats: Value = serde_json::from_str(line["add"]["stats"].as_str().unwrap()).unwrap();
        assert_eq!(stats["numRecords"], read_file(&file).iter().map(|batch| batch.num_rows()).sum::<usize>());
        assert_eq!(line["add"]["size"], fs::metadata(&file).unwrap().len());
    }

    assert_contains(&sandbox.run_refused(78, &[]), &["already holds files", "overwrite"]);
    let second = sandbox.run(&["--overwrite", "--seed", "5", "--lineage-file", "lineage.json"]);
    let (older, newer) = (log, entry(&sandbox, 1));
    assert_eq!(paths(&newer, "remove"), paths(&older, "add"));
    assert_eq!(newer[0]["commitInfo"]["throngRunId"], second["run_id"]);
    assert_eq!(data_files(&sandbox).len(), 6, "the earlier version stays readable");
    let (metrics, manifest) = (document(&sandbox, "metrics.json"), document(&sandbox, "manifest.json"));
    assert_eq!((&metrics["output"]["version"], &metrics["output"]["earlier_versions"]), (&json!(1), &json!(1)));
    assert_eq!((&manifest["table_version"], &manifest["run_id"]), (&json!(1), &second["run_id"]));
    let id = |entry: &[Value]| entry.iter().find_map(|line| line["metaData"]["id"].as_str().map(str::to_owned));
    assert_eq!(id(&older), id(&newer));
    let event: Value = serde_json::from_slice(&fs::read(sandbox.path("lineage.json")).unwrap()).unwrap();
    assert_eq!(event["outputs"][0]["facets"]["version"]["datasetVersion"], "1");
    assert_eq!(sandbox.out(), ["release"], "staging is left");

    sandbox.throng(&["verify", "delta+out/release", "--policy", "policy.toml"]).done();
    assert_contains(&sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).refused(78), &["`delta+`"]);
    let counted = sandbox.throng(&["sql", "--format", "csv", "-c", "SELECT count(*) AS n FROM 'delta+out/release/'"]);
    assert_contains(&counted.stdout, &[&metrics["output"]["rows"].to_string()]);
    assert_eq!(sandbox.run(&["--overwrite", "--seed", "5", "--if-changed"])["unchanged"], Value::Null, "just written");
}

#[test]
fn files_of_earlier_versions_are_removed_when_no_reader_needs_them() {
    let sandbox = sandbox(150);
    sandbox.run(&[]);
    sandbox.run(&["--overwrite"]);
    let cleaned = sandbox.throng(&["clean", "out/release"]).done();
    assert_eq!(cleaned["removed"], 0, "{cleaned}");
    let old = paths(&entry(&sandbox, 0), "add");
    age_removals(&sandbox, 1);
    let planned = sandbox.throng(&["clean", "out/release", "--dry-run"]).done();
    assert_eq!(planned["leftovers"].as_array().map(Vec::len), Some(old.len()), "{planned}");
    sandbox.throng(&["clean", "out/release"]).done();
    assert!(data_files(&sandbox).iter().all(|name| !old.contains(name)));
    sandbox.throng(&["verify", "delta+out/release", "--policy", "policy.toml"]).done();

    // The next run removes them too, and counts the remaining versions.
    sandbox.run(&["--overwrite"]);
    assert_eq!(document(&sandbox, "metrics.json")["output"]["earlier_versions"], 1);
    age_removals(&sandbox, 2);
    sandbox.run(&["--overwrite"]);
    assert_eq!(document(&sandbox, "metrics.json")["output"]["earlier_versions"], 1);
    let kept = [paths(&entry(&sandbox, 2), "add"), paths(&entry(&sandbox, 3), "add")].concat();
    assert!(data_files(&sandbox).iter().all(|name| kept.contains(name)));
}

/// Sets the times at which an entry removes files to the past.
fn age_removals(sandbox: &Sandbox, version: u64) {
    let mut lines = entry(sandbox, version);
    for line in lines.iter_mut().filter(|line| line["remove"].is_object()) {
        let time = line["remove"]["deletionTimestamp"].as_i64().unwrap();
        line["remove"]["deletionTimestamp"] = (time - 2 * 3_600_000).into();
    }
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(entry_path(sandbox, version), text.join("\n")).unwrap();
}

#[test]
fn a_writer_that_was_faster_wins_and_nothing_is_left_of_the_other() {
    let sandbox = sandbox(3_000);
    sandbox.run(&[]);
    let before = data_files(&sandbox);
    let mut run = sandbox.start(&["run", "policy.toml", "--overwrite", "--log-format", "json", "-v"]);
    let log = BufReader::new(run.stderr.take().unwrap());
    let mut said = String::new();
    for line in log.lines() {
        let line = line.unwrap();
        if line.contains("\"stage\":\"survey\"") {
            fs::write(entry_path(&sandbox, 1), "{\"commitInfo\":{\"operation\":\"OPTIMIZE\"}}\n").unwrap();
        }
        said.push_str(&line);
    }
    let ended = Ended::from(run.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(75), "{said}");
    assert_contains(&said, &["another run published"]);
    assert_eq!(data_files(&sandbox), before);
    assert_eq!(sandbox.out(), ["release"]);
    assert_eq!(names(&sandbox.release().join("_delta_log")).len(), 2);
    sandbox.run(&["--overwrite"]);
    assert_eq!(paths(&entry(&sandbox, 2), "remove"), before);
}

#[test]
fn only_tables_of_releases_are_replaced() {
    let sandbox = sandbox(150);
    // A plain release, and files of others.
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("plain.toml", text.replace("format = \"delta\"\n", ""));
    sandbox.throng(&["run", "plain.toml"]).done();
    assert_contains(&sandbox.run_refused(78, &["--overwrite"]), &["not a release of Throng"]);
    fs::remove_dir_all(sandbox.release()).unwrap();
    sandbox.run(&[]);
    let refused = sandbox.throng(&["run", "plain.toml", "--overwrite"]).refused(78);
    assert_contains(&refused, &["not a release of Throng"]);
    // The table of another program.
    let mut lines = entry(&sandbox, 0);
    for line in lines.iter_mut().filter(|line| line["metaData"].is_object()) {
        line["metaData"]["configuration"] = json!({});
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(entry_path(&sandbox, 0), lines.join("\n")).unwrap();
    assert_contains(&sandbox.run_refused(78, &["--overwrite"]), &["not a release of Throng"]);
    assert_contains(&sandbox.throng(&["clean", "out/release"]).refused(78), &["not a release of Throng"]);
}

#[test]
fn columns_that_a_table_can_not_have_are_named_before_anything_is_read() {
    use arrow::array::{ArrayRef, Int64Array, UInt64Array};
    use std::sync::Arc;
    let sandbox = sandbox(10);
    let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..50));
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50));
    let batch = crate::tables::table(vec![("big", numbers), ("age", Arc::clone(&ages)), ("Age", ages)]);
    write_parquet(&sandbox.path("input/people.parquet"), &batch);
    let head = "version = 1\n[input]\nlocation = \"input/\"\n[output]\nlocation = \"out/release\"\nformat = \"delta\"\n\
                [privacy]\nk = 3\n[columns.age]\nrole = \"quasi\"\n";
    let role = |name: &str, role: &str| format!("[columns.{name}]\nrole = \"{role}\"\n");
    sandbox.write("policy.toml", format!("{head}{}{}", role("big", "insensitive"), role("Age", "identifier")));
    assert_contains(&sandbox.run_refused(78, &[]), &["column `big`", "UInt64"]);
    sandbox.write("policy.toml", format!("{head}{}{}", role("big", "identifier"), role("Age", "insensitive")));
    assert_contains(&sandbox.run_refused(78, &[]), &["two columns"]);
}
