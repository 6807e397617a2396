//! `data_folder`: a folder of the release that holds only its data files, for readers that list whole folders.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::{Rows, data_files, read};
use crate::sandbox::{Sandbox, assert_contains, contents, names};
use crate::tables::write_parquet;

const DATA: &str = "data_folder = \"data\"\n";

/// Adds lines to `[output]`.
fn set_output(sandbox: &Sandbox, policy: &str, lines: &str) {
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write(policy, text.replace("[output]\n", &format!("[output]\n{lines}")));
}

/// Several rows go to each of several files.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with(&people(600), 4, 2, COLUMNS);
    let input = fs::File::options().write(true).open(sandbox.path("input/people.parquet")).unwrap();
    input.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    set_output(&sandbox, "plain.toml", "rows_per_file = 250\n");
    set_output(&sandbox, "policy.toml", &format!("rows_per_file = 250\n{DATA}"));
    sandbox
}

fn listed(sandbox: &Sandbox) -> Vec<String> {
    let manifest = fs::read(sandbox.release().join("_throng/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    manifest["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_folder_holds_data_files_and_nothing_else_and_every_command_reads_the_release() {
    let sandbox = sandbox();
    sandbox.throng(&["run", "plain.toml", "--output", "out/plain"]).done();
    let outcome = sandbox.run(&[]);
    assert_eq!((&outcome["rows"], &outcome["files"]), (&600.into(), &3.into()), "{outcome}");
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "data"]);
    let parts = ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"];
    assert_eq!(names(&sandbox.path("out/release/data")), parts);
    assert_eq!(listed(&sandbox), parts.map(|name| format!("data/{name}")));
    for name in parts {
        let bytes = |path: String| fs::read(sandbox.path(&path)).unwrap();
        assert_eq!(bytes(format!("out/release/data/{name}")), bytes(format!("out/plain/{name}")), "{name}");
    }
    assert_eq!(Rows::of(&read(&sandbox.path("out/release/data"))).len(), 600);

    let said = |arguments: &[&str], release: &str| {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace("RELEASE", release)).collect();
        let mut found = sandbox.throng(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).done();
        for field in ["location", "path", "release", "output", "seconds", "total_ms"] {
            found.as_object_mut().unwrap().remove(field);
        }
        found
    };
    let roles = ["--original", "input/", "--policy", "policy.toml"];
    for arguments in [
        vec!["verify", "RELEASE", "--policy", "policy.toml"],
        vec!["risk", "RELEASE", "--quasi", "age,sex,country,zip"],
        vec!["diff", "RELEASE", "RELEASE", "--policy", "policy.toml", "--link", "row"],
        [&["utility", "RELEASE"], &roles[..]].concat(),
        [&["attack", "RELEASE"], &roles[..]].concat(),
    ] {
        assert_eq!(said(&arguments, "out/release"), said(&arguments, "out/plain"), "{arguments:?}");
    }
    // A reader of that folder sees the same table.
    let verify = ["verify", "RELEASE", "--policy", "policy.toml"];
    assert_eq!(said(&verify, "out/release/data")["satisfied"], true);
    sandbox.throng(&["report", "out/release/_throng/metrics.json", "-o", "report.html"]).done();
    let count = ["sql", "--format", "csv", "-c", "SELECT count(*) AS n FROM 'out/release/'"];
    let counted = sandbox.throng(&count);
    assert_eq!((counted.code, counted.stdout.as_str()), (Some(0), "n\n600\n"), "{counted:?}");

    // A file that no manifest lists is found in that folder too.
    fs::copy(sandbox.path("out/release/data/part-00000.parquet"), sandbox.path("out/release/data/more.parquet"))
        .unwrap();
    let refused = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).refused(4);
    assert_contains(&refused, &["more.parquet", "not listed"]);
    sandbox.run_refused(78, &["--overwrite"]);
}

#[test]
fn releases_are_replaced_in_both_directions_and_a_change_of_the_folder_is_noticed() {
    let sandbox = sandbox();
    let run = |policy: &str| sandbox.throng(&["run", policy, "--overwrite", "--if-changed"]).done();
    let is_new = |outcome: Value| outcome["outcome"] == "released";
    assert!(is_new(run("policy.toml")));
    assert!(!is_new(run("policy.toml")), "nothing has changed");
    assert!(is_new(run("plain.toml")), "the files lie elsewhere");
    assert_eq!(names(&sandbox.release())[2..], ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]);
    assert!(!is_new(run("plain.toml")));
    assert!(is_new(run("policy.toml")));
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "data"]);
    set_output(&sandbox, "other.toml", "");
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("other.toml", text.replace("\"data\"", "\"people\""));
    assert!(is_new(run("other.toml")));
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "people"]);
    assert_eq!(sandbox.out(), ["release"]);
    let before = contents(&sandbox.release());
    sandbox.run_refused(78, &[]);
    sandbox.run_refused(3, &["--overwrite", "-k", "601"]);
    assert!(contents(&sandbox.release()) == before, "a run that failed changed the release");
    assert_eq!(sandbox.throng(&["clean", "policy.toml"]).done()["removed"], 0);
}

#[test]
fn appends_go_to_the_folder_and_nowhere_else() {
    let sandbox = sandbox();
    set_output(&sandbox, "policy.toml", "mode = \"append\"\n");
    sandbox.run(&[]);
    write_parquet(&sandbox.path("input/more.parquet"), &people(900).slice(600, 300));
    let outcome = sandbox.run(&[]);
    assert_eq!(
        (&outcome["append"]["new_files"], &outcome["append"]["total_rows"]),
        (&1.into(), &900.into()),
        "{outcome}"
    );
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "data"]);
    assert_eq!(data_files(&sandbox.path("out/release/data")).len(), 5);
    assert_eq!(Rows::of(&read(&sandbox.path("out/release/data"))).len(), 900);
    let verified = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
    assert_eq!(verified["rows"], 900, "{verified}");
    // Files of one release lie in one folder.
    write_parquet(&sandbox.path("input/again.parquet"), &people(1200).slice(900, 300));
    let before = contents(&sandbox.release());
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace(DATA, ""));
    assert_contains(&sandbox.run_refused(78, &[]), &["data_folder", "take the change back"]);
    assert!(contents(&sandbox.release()) == before);
    sandbox.write("policy.toml", text);
    assert_eq!(sandbox.run(&[])["append"]["total_rows"], 1200);
}

#[test]
fn a_series_goes_to_the_folder() {
    let columns = format!("unit = \"row\"\n[series]\nledger = \"ledger\"\n{COLUMNS}");
    let sandbox = Sandbox::with(&people(500), 4, 2, &columns);
    set_output(&sandbox, "policy.toml", &format!("mode = \"series\"\n{DATA}"));
    sandbox.run(&[]);
    write_parquet(&sandbox.path("input/people.parquet"), &people(600).slice(1, 599));
    sandbox.run(&[]);
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "data"]);
    let verified = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml", "--ledger"]).done();
    assert_eq!((&verified["satisfied"], &verified["ledger"]["releases"]), (&true.into(), &2.into()), "{verified}");
}

#[test]
fn pseudonyms_of_one_table_go_to_the_folder() {
    let columns = format!("unit = \"name\"\n{COLUMNS}").replace(
        "[columns.name]\nrole = \"identifier\"",
        "[columns.name]\nrole = \"identifier\"\nrelease = \"pseudonym\"",
    );
    let sandbox = Sandbox::with(&people(600), 4, 2, &columns);
    set_output(&sandbox, "policy.toml", DATA);
    sandbox.run(&[]);
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "data"]);
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
}

#[test]
fn names_that_readers_would_misread_are_refused() {
    let sandbox = sandbox();
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    for name in ["", "_data", ".data", "a/b", "..", "year=2024", "a b"] {
        sandbox.write("policy.toml", text.replace("\"data\"", &format!("\"{name}\"")));
        assert_contains(&sandbox.run_refused(78, &[]), &["output.data_folder", "name of one folder"]);
    }
    sandbox.write("policy.toml", text.replace(DATA, &format!("{DATA}format = \"delta\"\n")));
    assert_contains(&sandbox.run_refused(78, &[]), &["output.data_folder", "Delta table"]);
    assert!(!sandbox.path("out").exists() || sandbox.out().is_empty());
}
