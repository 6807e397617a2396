//! Releases that are replaced, and releases that must not be.

use std::fs;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, contents, names};
use crate::tables::write_parquet;

#[test]
fn overwrite_replaces_all_of_a_release() {
    let sandbox = Sandbox::with(&people(300), 3, 1, COLUMNS);
    let first = sandbox.run(&[]);
    write_parquet(&sandbox.path("input/people.parquet"), &people(120));
    let second = sandbox.run(&["--overwrite", "-k", "6"]);
    assert_ne!(first["run_id"], second["run_id"]);
    assert_eq!(sandbox.out(), ["release"]);
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "part-00000.parquet"]);
    let release = Rows::of(&read(&sandbox.release()));
    assert_eq!(release.len(), 120);
    assert!(release.count(&QUASI, &[]).smallest >= 6);
    let manifest = fs::read_to_string(sandbox.path("out/release/_throng/manifest.json")).unwrap();
    assert!(manifest.contains(second["run_id"].as_str().unwrap()));
}

#[test]
fn a_release_beside_files_of_others_is_not_overwritten() {
    let sandbox = Sandbox::with(&people(300), 3, 1, COLUMNS);
    sandbox.run(&[]);
    fs::write(sandbox.release().join("notes.txt"), "precious").unwrap();
    let before = contents(&sandbox.release());
    sandbox.run_refused(78, &["--overwrite"]);
    assert_eq!(contents(&sandbox.release()), before);
}

#[test]
fn the_mode_of_the_policy_overwrites_too() {
    let sandbox = Sandbox::with(&people(300), 3, 1, COLUMNS);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[privacy]", "mode = \"overwrite\"\n[privacy]"));
    sandbox.run(&[]);
    sandbox.run(&[]);
    assert_eq!(sandbox.out(), ["release"]);
}

#[test]
fn a_run_that_fails_leaves_the_old_release_byte_for_byte() {
    let sandbox = Sandbox::with(&people(300), 3, 1, COLUMNS);
    sandbox.run(&[]);
    let before = contents(&sandbox.path("out"));
    sandbox.run_refused(3, &["--overwrite", "-k", "301"]);
    sandbox.run_refused(3, &["--overwrite", "-k", "9", "-p", "6"]);
    sandbox.run_refused(66, &["--overwrite", "--input", "absent/"]);
    sandbox.write("input/cut.parquet", "PAR1");
    sandbox.run_refused(65, &["--overwrite"]);
    assert!(contents(&sandbox.path("out")) == before, "the old release was touched");
}

#[cfg(unix)]
#[test]
fn a_release_can_be_read_by_those_who_read_the_folder_above() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with(&people(100), 3, 1, COLUMNS);
    fs::set_permissions(sandbox.path("out"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.run(&[]);
    let mode = |path: &str| fs::metadata(sandbox.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("out/release"), 0o755);
}
