//! `--if-changed`: a run that would only reproduce the current release does nothing.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Workshop, contents};
use crate::tables::write_parquet;

const IF_CHANGED: [&str; 2] = ["--if-changed", "--overwrite"];

/// Sets the modification time of an input file to the past.
fn age(workshop: &Workshop, name: &str) {
    let file = fs::File::options().write(true).open(workshop.path(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
}

fn workshop() -> Workshop {
    let workshop = Workshop::with(&people(200), 3, 1, COLUMNS);
    age(&workshop, "input/people.parquet");
    workshop
}

fn is_unchanged(outcome: &Value) -> bool {
    let told = outcome["unchanged"] == true;
    assert_eq!(told, outcome["outcome"] == "unchanged", "{outcome}");
    told
}

#[test]
fn a_run_that_would_repeat_a_release_leaves_it() {
    let workshop = workshop();
    let first = workshop.run(&["--if-changed"]);
    assert!(!is_unchanged(&first));
    let before = contents(&workshop.path("out"));
    for more in [&IF_CHANGED[..], &["--if-changed"]] {
        let second = workshop.run(more);
        assert!(is_unchanged(&second), "{second}");
        for field in ["run_id", "output", "rows", "files", "bytes"] {
            assert_eq!(second[field], first[field], "{field}");
        }
    }
    assert_eq!(contents(&workshop.path("out")), before);
    assert!(!is_unchanged(&workshop.run(&["--overwrite"])), "only when asked");
}

/// A change: its name, the action, and additional arguments.
type Changed = (&'static str, fn(&Workshop), &'static [&'static str]);

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
        let workshop = workshop();
        let first = workshop.run(&[]);
        change(&workshop);
        let second = workshop.run(&[&IF_CHANGED[..], more].concat());
        assert!(!is_unchanged(&second), "{what}");
        assert_ne!(second["run_id"], first["run_id"], "{what}");
    }
}

#[test]
fn a_missing_report_is_made_again_and_the_log_says_why() {
    let workshop = workshop();
    let text = fs::read_to_string(workshop.path("policy.toml")).unwrap();
    workshop.write("policy.toml", text.replace("[output]\n", "[output]\nreport = true\n"));
    let run = || workshop.throng(&["run", "policy.toml", "--if-changed", "--overwrite", "--log-format", "json"]);
    assert!(run().stderr.contains("no complete release"));
    assert!(is_unchanged(&run().done()));
    fs::remove_file(workshop.release().join("_throng/report.html")).unwrap();
    let ended = run();
    assert!(ended.stderr.contains("the report of the release is missing"), "{ended:?}");
    assert!(!is_unchanged(&ended.done()) && workshop.release().join("_throng/report.html").is_file());
    write_parquet(&workshop.path("input/people.parquet"), &people(201));
    age(&workshop, "input/people.parquet");
    assert!(run().stderr.contains("the input has changed"));
}

#[test]
fn with_mode_error_a_change_is_refused_as_always() {
    let workshop = workshop();
    workshop.run(&[]);
    write_parquet(&workshop.path("input/people.parquet"), &people(201));
    let message = workshop.run_refused(78, &["--if-changed"]);
    assert!(message.contains("already holds files"), "{message}");
}

#[test]
fn a_file_that_may_change_within_its_time_is_in_doubt() {
    let workshop = workshop();
    write_parquet(&workshop.path("input/people.parquet"), &people(200));
    let file = fs::File::options().write(true).open(workshop.path("input/people.parquet")).unwrap();
    // In the future, so that the test does not depend on its own speed.
    file.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
    workshop.run(&[]);
    assert!(!is_unchanged(&workshop.run(&IF_CHANGED)));
}
