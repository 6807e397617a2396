//! `--if-changed`: a run that would only reproduce the current release does nothing.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, contents};
use crate::tables::write_parquet;

const IF_CHANGED: [&str; 2] = ["--if-changed", "--overwrite"];

/// Sets the modification time of an input file to the past.
fn age(sandbox: &Sandbox, name: &str) {
    let file = fs::File::options().write(true).open(sandbox.path(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with(&people(200), 3, 1, COLUMNS);
    age(&sandbox, "input/people.parquet");
    sandbox
}

fn is_unchanged(outcome: &Value) -> bool {
    let reported = outcome["unchanged"] == true;
    assert_eq!(reported, outcome["outcome"] == "unchanged", "{outcome}");
    reported
}

#[test]
fn a_run_that_would_repeat_a_release_leaves_it() {
    let sandbox = sandbox();
    let first = sandbox.run(&["--if-changed"]);
    assert!(!is_unchanged(&first));
    let before = contents(&sandbox.path("out"));
    for more in [&IF_CHANGED[..], &["--if-changed"]] {
        let second = sandbox.run(more);
        assert!(is_unchanged(&second), "{second}");
        for field in ["run_id", "output", "rows", "files", "bytes"] {
            assert_eq!(second[field], first[field], "{field}");
        }
    }
    assert_eq!(contents(&sandbox.path("out")), before);
    assert!(!is_unchanged(&sandbox.run(&["--overwrite"])), "only when asked");
}

/// A change: its name, the action, and additional arguments.
type Changed = (&'static str, fn(&Sandbox), &'static [&'static str]);

#[test]
fn whatever_has_changed_makes_it_run() {
    let changes: [Changed; 9] = [
        ("the input", |w| write_parquet(&w.path("input/people.parquet"), &people(201)), &[]),
        ("another file", |w| write_parquet(&w.path("input/more.parquet"), &people(50)), &[]),
        ("the time of a file", |w| age(w, "input/people.parquet"), &[]),
        ("k", |_| {}, &["-k", "4"]),
        ("the seed", |_| {}, &["--seed", "1"]),
        (
            "a hierarchy",
            |w| {
                let text = fs::read_to_string(w.path("policy.toml")).unwrap();
                w.write("policy.toml", text.replace("mask = \"right\"", "mask = \"left\""));
            },
            &[],
        ),
        ("a file that is gone", |w| fs::remove_file(w.path("out/release/part-00000.parquet")).unwrap(), &[]),
        ("a file that was cut", |w| w.write("out/release/part-00000.parquet", "PAR1"), &[]),
        ("the mark of success", |w| fs::remove_file(w.path("out/release/_SUCCESS")).unwrap(), &[]),
    ];
    for (what, change, more) in changes {
        let sandbox = sandbox();
        let first = sandbox.run(&[]);
        change(&sandbox);
        let second = sandbox.run(&[&IF_CHANGED[..], more].concat());
        assert!(!is_unchanged(&second), "{what}");
        assert_ne!(second["run_id"], first["run_id"], "{what}");
    }
}

#[test]
fn a_missing_report_is_made_again_and_the_log_says_why() {
    let sandbox = sandbox();
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nreport = true\n"));
    let run = || sandbox.throng(&["run", "policy.toml", "--if-changed", "--overwrite", "--log-format", "json"]);
    assert!(run().stderr.contains("no complete release"));
    assert!(is_unchanged(&run().done()));
    fs::remove_file(sandbox.release().join("_throng/report.html")).unwrap();
    let ended = run();
    assert!(ended.stderr.contains("the report of the release is missing"), "{ended:?}");
    assert!(!is_unchanged(&ended.done()) && sandbox.release().join("_throng/report.html").is_file());
    write_parquet(&sandbox.path("input/people.parquet"), &people(201));
    age(&sandbox, "input/people.parquet");
    assert!(run().stderr.contains("the input has changed"));
}

#[test]
fn with_mode_error_a_change_is_refused_as_always() {
    let sandbox = sandbox();
    sandbox.run(&[]);
    write_parquet(&sandbox.path("input/people.parquet"), &people(201));
    let message = sandbox.run_refused(78, &["--if-changed"]);
    assert!(message.contains("already holds files"), "{message}");
}

#[test]
fn a_file_that_may_change_within_its_time_is_in_doubt() {
    let sandbox = sandbox();
    write_parquet(&sandbox.path("input/people.parquet"), &people(200));
    let file = fs::File::options().write(true).open(sandbox.path("input/people.parquet")).unwrap();
    // In the future, so that the test does not depend on its own speed.
    file.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
    sandbox.run(&[]);
    assert!(!is_unchanged(&sandbox.run(&IF_CHANGED)));
}
