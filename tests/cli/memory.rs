//! `--memory-limit`: rows are spilled, the release is the same, and no spill files are left.

use std::fs;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::data_files;
use crate::sandbox::{Workshop, assert_says, names};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/census.toml");

fn release(workshop: &Workshop, output: &str, more: &[&str]) -> Vec<Vec<u8>> {
    let arguments = [&["run", POLICY, "--input", "input/census/", "--output", output], more].concat();
    let mut command = workshop.command(&arguments);
    command.env("TMPDIR", workshop.path("spill"));
    let ended: crate::sandbox::Ended = command.output().unwrap().into();
    let spilled = ended.stderr.contains("spilled=true");
    assert_eq!(spilled, !more.is_empty(), "{}", ended.stderr);
    ended.done();
    data_files(&workshop.path(output)).iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn a_run_with_little_memory_gives_the_same_bytes_and_leaves_no_spill_file() {
    let workshop = Workshop::new();
    fs::create_dir(workshop.path("spill")).unwrap();
    workshop.throng(&["generate", "census", "--rows", "150000", "-o", "input/census"]).done();
    let expected = release(&workshop, "out/unlimited", &[]);
    assert_eq!(release(&workshop, "out/limited", &["--memory-limit", "32MiB"]), expected);
    assert_eq!(names(&workshop.path("spill")), Vec::<String>::new());
}

#[test]
fn a_limit_under_which_nothing_can_be_done_is_named() {
    let workshop = Workshop::with(&people(100), 5, 2, COLUMNS);
    for (limit, says) in [("5", "16MiB"), ("512 elephants", "like 512MiB"), ("-1GB", "like 512MiB")] {
        let ended = workshop.throng(&["run", "policy.toml", &format!("--memory-limit={limit}")]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, &["--memory-limit", says]);
    }
}
