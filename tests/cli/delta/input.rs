//! Versions, times, partition columns, and what is refused by name.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::hand_made::{HandMade, metadata, protocol, remove, rows, with_values};
use crate::release_files::{Rows, read};
use crate::sandbox::{Ended, Sandbox, assert_contains};

const COLUMNS: &str = "[columns.row]\nrole = \"insensitive\"\n[columns.sex]\nrole = \"quasi\"\nrelease = \"set\"\n";

/// A table of three versions: rows 0 to 9; then also 10 to 19; then 10 to 24.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let table = HandMade::new(&sandbox, "lake");
    table.entry(0, &[protocol(), metadata(&[]), table.file("a.parquet", &rows(0..10))]);
    table.entry(1, &[table.file("b%20c.parquet", &rows(10..20))]);
    table.entry(2, &[table.file("sub folder/d.parquet", &rows(20..25)), remove("a.parquet")]);
    // A file that no entry names.
    table.file("invisible.parquet", &rows(100..200));
    policy(&sandbox, "", COLUMNS);
    sandbox
}

fn policy(sandbox: &Sandbox, pin: &str, columns: &str) {
    let text = format!(
        "version = 1\n[input]\nlocation = \"delta+lake\"\n{pin}\n[output]\nlocation = \"out/release\"\nmode = \"overwrite\"\n\
         [privacy]\nk = 2\n{columns}"
    );
    sandbox.write("policy.toml", text);
}

/// Runs the policy with this pin, and returns the released numbers in order.
fn numbers(sandbox: &Sandbox, pin: &str) -> Vec<i64> {
    policy(sandbox, pin, COLUMNS);
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    let mut numbers: Vec<i64> =
        released.column("row").iter().map(|cell| cell.as_ref().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

fn sidecar(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng").join(name)).unwrap()).unwrap()
}

fn refused(sandbox: &Sandbox, pin: &str, code: i32, parts: &[&str]) {
    policy(sandbox, pin, COLUMNS);
    assert_contains(&sandbox.run_refused(code, &[]), parts);
}

#[test]
fn a_version_has_the_files_that_its_log_names_and_no_others() {
    let sandbox = sandbox();
    assert_eq!(numbers(&sandbox, "version = 0"), (0..10).collect::<Vec<_>>());
    assert_eq!(sidecar(&sandbox, "metrics.json")["input"]["version"], 0);
    assert_eq!(numbers(&sandbox, "version = 1"), (0..20).collect::<Vec<_>>());
    assert_eq!(numbers(&sandbox, "version = 2"), (10..25).collect::<Vec<_>>());
    assert_eq!(numbers(&sandbox, ""), (10..25).collect::<Vec<_>>());
    assert_eq!(sidecar(&sandbox, "metrics.json")["input"]["version"], 2);
    assert_eq!(sidecar(&sandbox, "manifest.json")["input_version"], 2);
    refused(&sandbox, "version = 3", 66, &["no version 3", "latest is 2"]);
    policy(&sandbox, "", COLUMNS);
    let url = format!("delta+file://{}", sandbox.path("lake").display());
    assert_eq!(sandbox.run(&["--input", &url])["rows"], 15);
    let counted = sandbox.throng(&["sql", "--format", "csv", "-c", "SELECT count(*) AS n FROM 'delta+lake/'"]);
    assert_contains(&counted.stdout, &["15"]);
}

#[test]
fn a_time_selects_the_version_that_was_the_latest_then() {
    let sandbox = sandbox();
    let table = HandMade::new(&sandbox, "lake");
    let time = |text: &str| humane(text);
    // The second file is older than the first, as after a copy with a clock that was set back.
    for (version, seconds) in [(0, time("2026-01-10")), (1, time("2026-01-09")), (2, time("2026-01-20"))] {
        let file = fs::File::options().write(true).open(table.entry_path(version)).unwrap();
        file.set_modified(seconds).unwrap();
    }
    assert_eq!(numbers(&sandbox, "as_of = \"2026-01-10\"").len(), 20);
    assert_eq!(numbers(&sandbox, "as_of = \"2026-01-19T23:59:59Z\"").len(), 20);
    assert_eq!(numbers(&sandbox, "as_of = \"2026-01-20T02:00:00+02:00\"").len(), 15);
    refused(&sandbox, "as_of = \"2026-01-09\"", 66, &["as old as 2026-01-09"]);
    refused(&sandbox, "as_of = \"2999-01-01\"", 78, &["as_of", "future"]);
    // Times in the log take precedence over those of files.
    let info = |time: SystemTime| {
        let millis = time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
        json!({ "commitInfo": { "inCommitTimestamp": millis } })
    };
    for (version, date) in [(1, "2026-02-01"), (2, "2026-03-01")] {
        let text = fs::read_to_string(table.entry_path(version)).unwrap();
        fs::write(table.entry_path(version), format!("{}\n{text}", info(time(date)))).unwrap();
    }
    assert_eq!(numbers(&sandbox, "as_of = \"2026-03-01\"").len(), 15);
    assert_eq!(numbers(&sandbox, "as_of = \"2026-02-28\"").len(), 20);
    assert_eq!(numbers(&sandbox, "as_of = \"2026-01-31\"").len(), 10);
}

/// Returns the first moment of a date of 2026.
fn humane(date: &str) -> SystemTime {
    let parts: Vec<u64> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let days_before = [0, 31, 59][parts[1] as usize - 1];
    // 2026-01-01 was day 20454.
    SystemTime::UNIX_EPOCH + Duration::from_secs((20_454 + days_before + parts[2] - 1) * 86_400)
}

#[test]
fn partition_columns_are_columns_with_their_types() {
    let sandbox = Sandbox::new();
    let table = HandMade::new(&sandbox, "lake");
    let north = with_values(
        table.file("region=North/a.parquet", &rows(0..10)),
        json!({ "region": "North", "day": "2026-01-02" }),
    );
    let none = with_values(table.file("b.parquet", &rows(10..20)), json!({ "region": null, "day": "" }));
    table.entry(0, &[protocol(), metadata(&[("region", "string"), ("day", "date")]), north, none]);
    policy(&sandbox, "", COLUMNS);
    let unnamed = sandbox.run_refused(78, &[]);
    assert_contains(&unnamed, &["region", "day"]);
    let kept = "[columns.region]\nrole = \"insensitive\"\n[columns.day]\nrole = \"insensitive\"\n";
    policy(&sandbox, "", &format!("{COLUMNS}{kept}"));
    sandbox.run(&[]);
    let batch = read(&sandbox.release());
    assert_eq!(batch.schema().field_with_name("day").unwrap().data_type().to_string(), "Date32");
    let released = Rows::of(&batch);
    for (row, (region, day)) in
        released.column("row").iter().zip(released.column("region").iter().zip(released.column("day")))
    {
        let is_north = row.as_ref().unwrap().parse::<i64>().unwrap() < 10;
        assert_eq!(region.as_deref(), is_north.then_some("North"));
        assert_eq!(day.as_deref(), is_north.then_some("2026-01-02"));
    }
    // A damaged file is named without the value of its folder.
    fs::write(sandbox.path("lake/region=North/a.parquet"), vec![0; table_size(&sandbox)]).unwrap();
    let damaged = sandbox.throng(&["run", "policy.toml"]).refused(65);
    assert_contains(&damaged, &["region=…/a.parquet"]);
    assert!(!damaged.contains("North"), "{damaged}");
    // A value that is not of its type.
    let bad = with_values(table.file("c.parquet", &rows(20..30)), json!({ "region": "x", "day": "yesterday" }));
    table.entry(1, &[bad]);
    let bad = sandbox.throng(&["run", "policy.toml"]).refused(65);
    assert_contains(&bad, &["partition column `day`"]);
    assert!(!bad.contains("yesterday"), "{bad}");
}

fn table_size(sandbox: &Sandbox) -> usize {
    fs::metadata(sandbox.path("lake/region=North/a.parquet")).unwrap().len() as usize
}

#[test]
fn a_file_may_lack_a_column_that_came_later() {
    let sandbox = Sandbox::new();
    let table = HandMade::new(&sandbox, "lake");
    table.entry(0, &[protocol(), metadata(&[]), table.file("a.parquet", &rows(0..10))]);
    let fields = [("row", "long"), ("sex", "string"), ("note", "double")];
    let field = |(name, kind)| json!({ "name": name, "type": kind, "nullable": true, "metadata": {} });
    let mut wider = metadata(&[]);
    wider["metaData"]["schemaString"] = json!({ "type": "struct", "fields": fields.map(field) }).to_string().into();
    table.entry(1, &[wider]);
    policy(&sandbox, "", COLUMNS);
    assert_contains(&sandbox.run_refused(78, &[]), &["note"]);
    policy(&sandbox, "", &format!("{COLUMNS}[columns.note]\nrole = \"insensitive\"\n"));
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    assert!(released.column("note").iter().all(Option::is_none));
    // A type that the files do not have.
    let mut other = metadata(&[]);
    other["metaData"]["schemaString"] =
        metadata(&[])["metaData"]["schemaString"].as_str().unwrap().replace("long", "integer").into();
    table.entry(2, &[other]);
    policy(&sandbox, "", COLUMNS);
    assert_contains(&sandbox.run_refused(65, &[]), &["column `row` is Int64, and Int32 in the table"]);
}

#[test]
fn features_that_would_change_the_meaning_of_a_file_are_refused_by_name() {
    let features = |names: &[&str]| json!({ "protocol": { "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names } });
    let mapped = |mode: &str| {
        let mut mapped = metadata(&[]);
        mapped["metaData"]["configuration"] = json!({ "delta.columnMapping.mode": mode });
        mapped
    };
    let sandbox = sandbox();
    let table = HandMade::new(&sandbox, "lake");
    let mut deleted = table.file("e.parquet", &rows(30..40));
    deleted["add"]["deletionVector"] = json!({ "storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6 });
    let outside = |path: &str| json!({ "add": { "path": path, "partitionValues": {}, "size": 1, "dataChange": true } });
    for (lines, said) in [
        (vec![features(&["typeWidening-preview"])], "reader feature `typeWidening-preview`"),
        (vec![features(&["catalogManaged"])], "reader feature `catalogManaged`"),
        (
            vec![json!({ "protocol": { "minReaderVersion": 4, "minWriterVersion": 8 } })],
            "version 4 of the reader protocol",
        ),
        (vec![features(&["deletionVectors"]), deleted], "deletion vectors"),
        (vec![features(&["columnMapping"]), mapped("name")], "column mapping (`delta.columnMapping.mode` = `name`)"),
        (vec![outside("s3://other/a.parquet")], "outside of its folder"),
        (vec![outside("../a.parquet")], "a path is not one below its folder"),
        (vec![outside("%2e%2e/a.parquet")], "a path is not one below its folder"),
        (vec![json!("no action")], "can't be read"),
    ] {
        table.entry(3, &lines);
        refused(&sandbox, "", 65, &[said]);
    }
    // Features that no file uses are accepted, and so is an empty column mapping.
    table.entry(3, &[features(&["deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint"]), mapped("none")]);
    assert_eq!(numbers(&sandbox, "").len(), 15);
    let third = table.file("f.parquet", &rows(25..26));
    fs::remove_file(sandbox.path("lake/f.parquet")).unwrap();
    table.entry(3, &[third]);
    refused(&sandbox, "", 66, &["a file of the Delta table", "is missing"]);
    fs::remove_file(table.entry_path(3)).unwrap();
    fs::remove_file(table.entry_path(0)).unwrap();
    refused(&sandbox, "", 66, &["entry 0 of its log is missing"]);
    fs::write(
        sandbox.path("lake/_delta_log/00000000000000000001.checkpoint.0f0f0f0f-0000-4000-8000-000000000001.parquet"),
        "",
    )
    .unwrap();
    refused(&sandbox, "", 65, &["v2Checkpoint"]);
}

#[test]
fn a_folder_with_a_log_is_not_read_as_plain_files() {
    let sandbox = sandbox();
    for input in ["lake", "lake/", "lake/*.parquet"] {
        assert_contains(&sandbox.run_refused(78, &["--input", input]), &["is a Delta table", "`delta+`"]);
    }
    assert_contains(&sandbox.run_refused(66, &["--input", "delta+input"]), &["no Delta table"]);
    assert_contains(&sandbox.run_refused(78, &["--input", "delta+lake", "--output", "lake/out"]), &["overlap"]);
    let said: Ended = sandbox.throng(&["run", "policy.toml", "--input", "delta+lake", "--input", "input"]);
    assert_contains(&said.refused(78), &["a Delta table is read alone"]);
}

#[test]
fn an_empty_version_is_an_empty_table() {
    let sandbox = sandbox();
    let table = HandMade::new(&sandbox, "lake");
    table.entry(3, &[remove("b%2520c.parquet"), remove("sub%20folder/d.parquet")]);
    policy(&sandbox, "", COLUMNS);
    let ended = sandbox.throng(&["run", "policy.toml"]);
    let empty = Sandbox::with(&rows(0..0), 2, 1, COLUMNS).throng(&["run", "policy.toml"]);
    assert_eq!(ended.code, empty.code, "{ended:?}");
}

#[test]
fn a_run_is_repeated_when_the_version_is_another_and_only_then() {
    let sandbox = sandbox();
    policy(&sandbox, "", COLUMNS);
    let is_unchanged = || sandbox.run(&["--if-changed"])["unchanged"] == true;
    assert!(!is_unchanged());
    assert!(is_unchanged());
    policy(&sandbox, "version = 2", COLUMNS);
    assert!(is_unchanged(), "the same version by its number");
    policy(&sandbox, "version = 1", COLUMNS);
    assert!(!is_unchanged());
    policy(&sandbox, "", COLUMNS);
    assert!(!is_unchanged());
    let table = HandMade::new(&sandbox, "lake");
    table.entry(3, &[json!({ "commitInfo": {} })]);
    assert!(!is_unchanged(), "another version with the same rows");
    sandbox.run(&["--lineage-file", "lineage.json"]);
    let event: Value = serde_json::from_slice(&fs::read(sandbox.path("lineage.json")).unwrap()).unwrap();
    assert_eq!(event["inputs"][0]["facets"]["version"]["datasetVersion"], "3");
    assert!(event["inputs"][0]["name"].as_str().unwrap().ends_with("/lake"), "{event}");
}
