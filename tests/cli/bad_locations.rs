//! Inputs that do not exist, and outputs that may not be written.

use std::fs;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains, contents};
use crate::tables::write_parquet;

fn sandbox() -> Sandbox {
    Sandbox::with(&people(100), 3, 1, COLUMNS)
}

#[test]
fn a_missing_input_is_no_input() {
    let sandbox = sandbox();
    for location in ["absent.parquet", "absent/", "input/*.csv", "absent/*.parquet"] {
        assert_contains(&sandbox.run_refused(66, &["--input", location]), &[location]);
    }
    assert_contains(&sandbox.run_refused(66, &["-i", "input/people.parquet", "-i", "absent/"]), &["absent/"]);
    assert_contains(&sandbox.throng(&["check", "policy.toml", "-i", "absent/"]).refused(66), &["absent/"]);
    let verify = ["verify", "absent/", "--quasi", "age", "-k", "2"];
    assert_contains(&sandbox.throng(&verify).refused(66), &["absent/"]);
}

#[test]
fn an_empty_folder_is_no_input() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path("empty/below")).unwrap();
    assert_contains(&sandbox.run_refused(66, &["--input", "empty/"]), &["empty/", "no input files"]);
    fs::write(sandbox.path("empty/_hidden.parquet"), "x").unwrap();
    fs::write(sandbox.path("empty/notes.txt"), "x").unwrap();
    assert_contains(&sandbox.run_refused(66, &["--input", "empty/"]), &["empty/", "passed over"]);
}

#[test]
fn a_file_of_an_unknown_format_is_refused() {
    let sandbox = sandbox();
    sandbox.write("input/people.dat", "x");
    assert_contains(&sandbox.run_refused(78, &["--input", "input/people.dat"]), &["people.dat", "format"]);
    sandbox.write("input/people.csv", "age\n3\n");
    assert_contains(&sandbox.run_refused(78, &[]), &["mixes", "parquet", "csv"]);
}

#[test]
fn a_release_is_not_replaced_unless_asked() {
    let sandbox = sandbox();
    sandbox.run(&[]);
    let before = contents(&sandbox.release());
    assert_contains(&sandbox.run_refused(78, &[]), &["out/release", "--overwrite", "mode = \"overwrite\""]);
    assert_eq!(contents(&sandbox.release()), before);
}

#[test]
fn a_folder_that_is_no_release_is_never_overwritten() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.release().join("photos")).unwrap();
    fs::write(sandbox.release().join("photos/cat.jpg"), "meow").unwrap();
    let before = contents(&sandbox.release());
    assert_contains(&sandbox.run_refused(78, &["--overwrite"]), &["not a release of Throng"]);
    assert_contains(&sandbox.run_refused(78, &[]), &["already holds files"]);
    assert_eq!(contents(&sandbox.release()), before);
}

#[test]
fn a_file_is_never_overwritten() {
    let sandbox = sandbox();
    fs::write(sandbox.release(), "a file").unwrap();
    sandbox.run_refused(78, &["--overwrite"]);
    sandbox.run_refused(78, &[]);
    assert_eq!(fs::read(sandbox.release()).unwrap(), b"a file");
}

#[test]
fn an_empty_folder_may_become_a_release() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.release()).unwrap();
    sandbox.run(&[]);
    assert_eq!(sandbox.out(), ["release"]);
}

#[test]
fn an_output_that_overlaps_the_input_is_refused() {
    let sandbox = sandbox();
    let before = contents(&sandbox.path("input"));
    for output in ["input", "input/release", "input/../input/release", "./input/deep/release", "."] {
        for more in [&[][..], &["--overwrite"]] {
            let message = sandbox.run_refused(78, &[&["--output", output], more].concat());
            assert_contains(&message, &["overlap", "outside of the input"]);
        }
    }
    assert_eq!(contents(&sandbox.path("input")), before);
}

#[test]
fn a_release_that_is_its_own_input_is_refused() {
    let sandbox = sandbox();
    sandbox.run(&[]);
    let before = contents(&sandbox.release());
    let message = sandbox.run_refused(78, &["--input", "out/release", "--overwrite"]);
    assert_contains(&message, &["overlap"]);
    assert_eq!(contents(&sandbox.release()), before);
}

#[cfg(unix)]
#[test]
fn an_output_that_overlaps_the_input_through_a_link_is_refused() {
    let sandbox = sandbox();
    let before = contents(&sandbox.path("input"));
    std::os::unix::fs::symlink(sandbox.path("input"), sandbox.path("link")).unwrap();
    let message = sandbox.run_refused(78, &["--output", "link/release"]);
    assert_contains(&message, &["overlap"]);
    assert_eq!(contents(&sandbox.path("input")), before);
}

#[test]
fn a_failed_run_leaves_no_folder_above_the_output() {
    let sandbox = sandbox();
    let message = sandbox.run_refused(3, &["--output", "out/new/deep/release", "-k", "101"]);
    assert_contains(&message, &["k = 101"]);
    assert!(sandbox.out().is_empty(), "{:?}", sandbox.out());
}

#[test]
fn two_runs_to_one_output_leave_one_release() {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/people.parquet"), &people(2000));
    sandbox.policy(3, 1, COLUMNS);
    let runs = [(); 3].map(|()| sandbox.start(&["run", "policy.toml"]));
    let mut codes: Vec<Option<i32>> =
        runs.into_iter().map(|run| run.wait_with_output().unwrap().status.code()).collect();
    codes.sort_unstable();
    // A run that begins after the winner published finds a release; one that began before has lost the race.
    let lost = |code: &Option<i32>| matches!(code, Some(75 | 78));
    assert!(codes[0] == Some(0) && codes[1..].iter().all(lost), "{codes:?}");
    assert_eq!(sandbox.out(), ["release"]);
    assert_eq!(crate::release_files::read(&sandbox.release()).num_rows(), 2000);
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_and_not_waited_for() {
    let sandbox = sandbox();
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("pipe.parquet")).status().unwrap();
    assert!(made.success());
    assert_contains(
        &sandbox.run_refused(78, &["--input", "pipe.parquet"]),
        &["pipe.parquet", "neither a file nor a folder"],
    );
    let ended = sandbox.throng(&["sql", "-c", "SELECT * FROM 'pipe.parquet'"]);
    assert_eq!(ended.code, Some(78), "{ended:?}");
}

#[test]
fn files_that_are_compressed_as_a_whole_are_refused_by_name() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("texts")).unwrap();
    sandbox.write("texts/people.csv.gz", b"\x1f\x8b\x08");
    sandbox.write("texts/people.csv", "age,sex\n34,f\n");
    for input in ["texts/people.csv.gz", "texts/"] {
        assert_contains(&sandbox.run_refused(78, &["--input", input]), &["people.csv.gz", "compressed", "decompress"]);
    }
    let ended = sandbox.throng(&["sql", "-c", "SELECT * FROM 'texts/people.csv.gz'"]);
    assert_eq!(ended.code, Some(78), "{ended:?}");
    assert_contains(&ended.stderr, &["compressed"]);
}
