//! Locations of an input: a file, a folder, a glob, several of them.

use std::fs;

use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::{Rows, read};
use crate::sandbox::Sandbox;
use crate::tables::{pieces, write_csv, write_parquet};

/// Returns the ids of the rows of the release.
fn ids(sandbox: &Sandbox) -> Vec<i64> {
    let release = Rows::of(&read(&sandbox.release()));
    let mut ids: Vec<i64> = release.column("row").iter().map(|id| id.as_ref().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    ids
}

fn expected(rows: std::ops::Range<i64>) -> Vec<i64> {
    rows.map(|row| 1_000_000 + row).collect()
}

/// Creates three files with a hundred rows each.
fn three_files(names: [&str; 3]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (piece, name) in pieces(&people(300), 3).iter().zip(names) {
        let path = sandbox.path("input").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_parquet(&path, piece);
    }
    sandbox.policy(4, 1, COLUMNS);
    sandbox
}

#[test]
fn a_folder_is_read_with_the_folders_in_it() {
    let sandbox = three_files(["a.parquet", "2024/b.parquet", "2025/deep/c.parquet"]);
    assert_eq!(sandbox.run(&[])["rows"], 300);
    assert_eq!(ids(&sandbox), expected(0..300));
}

#[test]
fn a_single_file_is_read_alone() {
    let sandbox = three_files(["a.parquet", "b.parquet", "c.parquet"]);
    sandbox.run(&["--input", "input/b.parquet"]);
    assert_eq!(ids(&sandbox), expected(100..200));
}

#[test]
fn a_glob_takes_what_matches() {
    let sandbox = three_files(["a1.parquet", "a2.parquet", "b1.parquet"]);
    sandbox.run(&["--input", "input/a*.parquet"]);
    assert_eq!(ids(&sandbox), expected(0..200));
    sandbox.run(&["--input", "input/[ab]1.parquet", "--overwrite"]);
    assert_eq!(ids(&sandbox), [expected(0..100), expected(200..300)].concat());
    let absolute = sandbox.path("input/?2.parquet");
    sandbox.run(&["--input", absolute.to_str().unwrap(), "--overwrite"]);
    assert_eq!(ids(&sandbox), expected(100..200));
}

#[test]
fn a_glob_crosses_folders_only_with_two_stars() {
    let sandbox = three_files(["a.parquet", "x/b.parquet", "x/y/c.parquet"]);
    sandbox.run(&["--input", "input/*.parquet"]);
    assert_eq!(ids(&sandbox), expected(0..100));
    sandbox.run(&["--input", "input/*/*.parquet", "--overwrite"]);
    assert_eq!(ids(&sandbox), expected(100..200));
    sandbox.run(&["--input", "input/**/*.parquet", "--overwrite"]);
    assert_eq!(ids(&sandbox), expected(0..300));
}

#[test]
fn several_inputs_are_one_table_and_no_file_is_read_twice() {
    let sandbox = three_files(["a.parquet", "b.parquet", "c.parquet"]);
    sandbox.run(&["--input", "input/a.parquet", "-i", "input/c.parquet", "-i", "input/a*"]);
    assert_eq!(ids(&sandbox), [expected(0..100), expected(200..300)].concat());
    let list =
        crate::sandbox::policy_text("x", 4, 1, COLUMNS).replace("\"x\"", "[\"input/b.parquet\", \"input/c.parquet\"]");
    sandbox.write("policy.toml", list);
    sandbox.run(&["--overwrite"]);
    assert_eq!(ids(&sandbox), expected(100..300));
}

#[test]
fn a_file_url_is_a_location() {
    let sandbox = three_files(["a.parquet", "b.parquet", "c.parquet"]);
    let url = |path: &str| format!("file://{}", sandbox.path(path).display());
    let outcome = sandbox.run(&["--input", &url("input/"), "--output", &url("out/release")]);
    assert_eq!(outcome["rows"], 300);
    assert_eq!(ids(&sandbox), expected(0..300));
}

#[test]
fn hidden_and_foreign_files_are_passed_over() {
    let sandbox = three_files(["a.parquet", "_x.parquet", ".y.parquet"]);
    for name in ["_SUCCESS", "notes.txt", ".part.crc"] {
        fs::write(sandbox.path("input").join(name), "not a table").unwrap();
    }
    fs::create_dir(sandbox.path("input/_throng")).unwrap();
    write_parquet(&sandbox.path("input/_throng/z.parquet"), &people(10));
    let outcome = sandbox.run(&[]);
    assert_eq!(outcome["rows"], 100);
    assert_eq!(ids(&sandbox), expected(0..100));
}

#[test]
fn names_with_spaces_brackets_and_signs_are_names() {
    let names = ["my people [1].parquet", "50% & more #2.parquet", "größe + café?.parquet"];
    let sandbox = three_files(names);
    sandbox.run(&[]);
    assert_eq!(ids(&sandbox), expected(0..300));
    for (number, name) in names.into_iter().enumerate() {
        sandbox.run(&["--input", &format!("input/{name}"), "--overwrite"]);
        let first = number as i64 * 100;
        assert_eq!(ids(&sandbox), expected(first..first + 100), "{name}");
    }
}

#[test]
fn an_output_with_spaces_and_brackets_is_written_and_verified() {
    let sandbox = three_files(["a.parquet", "b.parquet", "c.parquet"]);
    let outcome = sandbox.run(&["--output", "out/my release [2] 100%/"]);
    assert_eq!(outcome["rows"], 300);
    assert_eq!(sandbox.out(), ["my release [2] 100%"]);
    assert_eq!(read(&sandbox.path("out/my release [2] 100%")).num_rows(), 300);
    let verify = ["verify", "out/my release [2] 100%", "--quasi", "age,sex,country,zip", "-k", "4"];
    assert_eq!(sandbox.throng(&verify).done()["rows"], 300);
}

#[test]
fn folders_above_the_output_are_made() {
    let sandbox = three_files(["a.parquet", "b.parquet", "c.parquet"]);
    sandbox.run(&["--output", "out/new/deep/release"]);
    assert_eq!(read(&sandbox.path("out/new/deep/release")).num_rows(), 300);
}

#[test]
fn environment_variables_stand_in_locations() {
    let sandbox = three_files(["a.parquet", "b.parquet", "c.parquet"]);
    sandbox.write("policy.toml", crate::sandbox::policy_text("${PEOPLE_FOLDER}/a.parquet", 4, 1, COLUMNS));
    let output = sandbox.command(&["run", "policy.toml"]).env("PEOPLE_FOLDER", "input").output().unwrap();
    assert_eq!(crate::sandbox::Ended::from(output).done()["rows"], Value::from(100));
}

#[test]
fn csv_has_its_own_delimiter_and_may_lack_a_header() {
    let sandbox = Sandbox::new();
    write_csv(&sandbox.path("people.csv"), &people(100));
    let text = fs::read_to_string(sandbox.path("people.csv")).unwrap();
    let bare = text.split_once('\n').unwrap().1.replace(',', ";");
    sandbox.write("input/people.txt", bare);
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let mut columns = COLUMNS.to_owned();
    for (number, name) in names.iter().enumerate() {
        columns = columns.replace(&format!("[columns.{name}]"), &format!("[columns.column_{}]", number + 1));
    }
    let policy = crate::sandbox::policy_text("input/people.txt", 4, 1, &columns)
        .replace("[output]", "format = \"csv\"\ndelimiter = \";\"\nheader = false\n[output]");
    sandbox.write("policy.toml", policy);
    assert_eq!(sandbox.run(&[])["rows"], 100);
    let release = Rows::of(&read(&sandbox.release()));
    assert_eq!(release.column("column_1").len(), 100);
}
