//! Releases that are replaced, and releases that must not be.

use std::fs;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Workshop, contents, names};
use crate::tables::write_parquet;

#[test]
fn overwrite_replaces_all_of_a_release() {
    let workshop = Workshop::with(&people(300), 3, 1, COLUMNS);
    let first = workshop.run(&[]);
    write_parquet(&workshop.path("input/people.parquet"), &people(120));
    let second = workshop.run(&["--overwrite", "-k", "6"]);
    assert_ne!(first["run_id"], second["run_id"]);
    assert_eq!(workshop.out(), ["release"]);
    assert_eq!(names(&workshop.release()), ["_SUCCESS", "_throng", "part-00000.parquet"]);
    let release = Rows::of(&read(&workshop.release()));
    assert_eq!(release.len(), 120);
    assert!(release.count(&QUASI, &[]).smallest >= 6);
    let manifest = fs::read_to_string(workshop.path("out/release/_throng/manifest.json")).unwrap();
    assert!(manifest.contains(second["run_id"].as_str().unwrap()));
}

#[test]
fn a_release_beside_files_of_others_is_not_overwritten() {
    let workshop = Workshop::with(&people(300), 3, 1, COLUMNS);
    workshop.run(&[]);
    fs::write(workshop.release().join("notes.txt"), "precious").unwrap();
    let before = contents(&workshop.release());
    workshop.run_refused(78, &["--overwrite"]);
    assert_eq!(contents(&workshop.release()), before);
}

#[test]
fn the_mode_of_the_policy_overwrites_too() {
    let workshop = Workshop::with(&people(300), 3, 1, COLUMNS);
    let text = fs::read_to_string(workshop.path("policy.toml")).unwrap();
    workshop.write("policy.toml", text.replace("[privacy]", "mode = \"overwrite\"\n[privacy]"));
    workshop.run(&[]);
    workshop.run(&[]);
    assert_eq!(workshop.out(), ["release"]);
}

#[test]
fn a_run_that_fails_leaves_the_old_release_byte_for_byte() {
    let workshop = Workshop::with(&people(300), 3, 1, COLUMNS);
    workshop.run(&[]);
    let before = contents(&workshop.path("out"));
    workshop.run_refused(3, &["--overwrite", "-k", "301"]);
    workshop.run_refused(3, &["--overwrite", "-k", "9", "-p", "6"]);
    workshop.run_refused(66, &["--overwrite", "--input", "absent/"]);
    workshop.write("input/cut.parquet", "PAR1");
    workshop.run_refused(65, &["--overwrite"]);
    assert!(contents(&workshop.path("out")) == before, "the old release was touched");
}

#[cfg(unix)]
#[test]
fn a_release_can_be_read_by_those_who_read_the_folder_above() {
    use std::os::unix::fs::PermissionsExt;
    let workshop = Workshop::with(&people(100), 3, 1, COLUMNS);
    fs::set_permissions(workshop.path("out"), fs::Permissions::from_mode(0o755)).unwrap();
    workshop.run(&[]);
    let mode = |path: &str| fs::metadata(workshop.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("out/release"), 0o755);
}
