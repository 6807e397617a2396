//! No value of the data is ever disclosed in errors, in logs at any level, or in the documents of a release.

use std::fs;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};

use crate::release_files::read;
use crate::sandbox::{Ended, Sandbox};
use crate::tables::{strings, table, write_csv, write_parquet};

/// Part of every value of every column.
const CANARY: &str = "canary";
/// A number that occurs nowhere else.
const CANARY_NUMBER: i64 = 7_261_503_948;

const COLUMNS: &str = r#"
[columns.name]
role = "identifier"
[columns.city]
role = "quasi"
[columns.income]
role = "quasi"
[columns.diagnosis]
role = "sensitive"
[columns.note]
role = "insensitive"
"#;

fn people(rows: i64) -> RecordBatch {
    let text = |name: &'static str, of: i64| strings((0..rows).map(move |row| format!("{CANARY}-{name}-{}", row % of)));
    table(vec![
        ("name", text("name", rows)),
        ("city", text("city", 5)),
        ("income", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| CANARY_NUMBER + row % 7)))),
        ("diagnosis", text("diagnosis", 4)),
        ("note", text("note", 11)),
    ])
}

fn sandbox(columns: &str) -> Sandbox {
    Sandbox::with(&people(60), 3, 2, columns)
}

fn assert_silent(ended: &Ended) {
    let said = ended.said();
    for secret in [CANARY, "72615039"] {
        let line = said.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "a value is shown: {}", line.unwrap_or_default());
    }
}

/// Runs a command at the highest verbosity, in both log formats.
fn loudly(sandbox: &Sandbox, arguments: &[&str], code: i32) {
    for format in ["text", "json"] {
        let ended = sandbox.throng(&[arguments, &["-vv", "--log-format", format]].concat());
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_silent(&ended);
    }
}

#[test]
fn a_run_that_succeeds_tells_no_value() {
    let sandbox = sandbox(COLUMNS);
    loudly(&sandbox, &["run", "policy.toml", "--overwrite"], 0);
    loudly(&sandbox, &["check", "policy.toml"], 0);
    loudly(&sandbox, &["verify", "out/release", "--policy", "policy.toml"], 0);
    loudly(&sandbox, &["sweep", "policy.toml", "--k", "3,4,99", "-o", "out/release/_throng/sweep.html"], 0);
    loudly(&sandbox, &["report", "out/release", "-o", "out/release/_throng/report.html"], 0);
    for document in ["manifest.json", "metrics.json", "report.html", "sweep.html"] {
        let text = fs::read_to_string(sandbox.release().join("_throng").join(document)).unwrap();
        assert!(!text.contains(CANARY) && !text.contains("72615039"), "{text}");
    }
    assert!(format!("{:?}", read(&sandbox.release())).contains(CANARY), "the canaries are not in the data");
}

#[test]
fn logs_are_there_to_be_searched() {
    let sandbox = sandbox(COLUMNS);
    let quiet = sandbox.throng(&["run", "policy.toml"]).stderr.lines().count();
    let ended = sandbox.throng(&["run", "policy.toml", "--overwrite", "-vv", "--log-format", "json"]);
    let events = ended.stderr.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    assert!(events.count() >= 6, "{}", ended.stderr);
    assert!(ended.stderr.contains("\"run_id\"") && ended.stderr.contains("survey"), "{}", ended.stderr);
    assert!(quiet >= 6);
}

#[test]
fn a_value_that_a_hierarchy_lacks_is_not_reported() {
    let lacking = "[columns.city]\nrole = \"quasi\"\nhierarchy = { tree = { North = [\"A\"], South = [\"B\"] } }";
    let sandbox = sandbox(&COLUMNS.replace("[columns.city]\nrole = \"quasi\"", lacking));
    for command in ["run", "check"] {
        loudly(&sandbox, &[command, "policy.toml"], 65);
    }
}

#[test]
fn a_target_that_can_not_be_met_tells_no_value() {
    let sandbox = sandbox(COLUMNS);
    for command in ["run", "check"] {
        loudly(&sandbox, &[command, "policy.toml", "-k", "61"], 3);
        loudly(&sandbox, &[command, "policy.toml", "-k", "9", "-p", "5"], 3);
    }
}

#[test]
fn a_promise_that_does_not_hold_tells_no_value() {
    let sandbox = sandbox(COLUMNS);
    let verify = ["verify", "input", "--quasi", "city,income", "--sensitive", "diagnosis", "-k", "9", "-p", "3"];
    loudly(&sandbox, &verify, 4);
    loudly(&sandbox, &["verify", "input", "--policy", "policy.toml"], 4);
}

#[test]
fn broken_files_tell_no_value() {
    let sandbox = sandbox(COLUMNS);
    let whole = fs::read(sandbox.path("input/people.parquet")).unwrap();
    let mut pages = whole.clone();
    let end = whole.len() - 8;
    let footer = u32::from_le_bytes(whole[end..end + 4].try_into().unwrap()) as usize;
    pages[4..end - footer].fill(0xff);
    for bytes in [&whole[..whole.len() / 2], &pages] {
        sandbox.write("input/people.parquet", bytes);
        for command in ["run", "check"] {
            loudly(&sandbox, &[command, "policy.toml"], 65);
        }
    }
}

#[test]
fn broken_lines_tell_no_value() {
    let sandbox = Sandbox::new();
    write_csv(&sandbox.path("input/people.csv"), &people(60));
    sandbox.policy(3, 2, COLUMNS);
    loudly(&sandbox, &["check", "policy.toml"], 0);
    let sound = fs::read_to_string(sandbox.path("input/people.csv")).unwrap();
    for broken in ["canary,canary\n", "canary-a,canary-b,72615039,d,e,f,g\n", "\"canary,72615039\n"] {
        sandbox.write("input/people.csv", format!("{sound}{broken}"));
        loudly(&sandbox, &["run", "policy.toml"], 65);
    }
}

#[test]
fn a_drift_of_types_tells_no_value() {
    let sandbox = sandbox(COLUMNS);
    let other = table(vec![("name", strings(["canary"])), ("city", Arc::new(Int64Array::from(vec![CANARY_NUMBER])))]);
    write_parquet(&sandbox.path("input/other.parquet"), &other);
    loudly(&sandbox, &["run", "policy.toml"], 65);
}
