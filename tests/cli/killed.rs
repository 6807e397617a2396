//! Processes that are stopped in the middle of a run leave no readable release.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::release_files::{data_files, read_file};
use crate::sandbox::{Ended, Sandbox, names};

/// Enough rows that there is time to stop a run.
const ROWS: &str = "300000";

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/census.toml");

const RUN: [&str; 6] = ["run", POLICY, "--input", "input", "--output", "out/release"];

/// Waits until a run has reached a point, or is over.
fn wait(run: &mut Child, reached: impl Fn() -> bool) {
    let start = Instant::now();
    while run.try_wait().unwrap().is_none() && !reached() {
        assert!(start.elapsed() < Duration::from_secs(60), "the run does not get there");
        sleep(Duration::from_millis(2));
    }
    assert_eq!(run.try_wait().unwrap().map(|status| status.code()), None, "the run was over too soon");
}

fn signal(run: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &run.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Whether a file of the release has been staged.
fn is_staged(out: &Path) -> bool {
    let staging = names(out).into_iter().map(|name| out.join(name)).find(|path| path.is_dir());
    staging.is_some_and(|folder| {
        fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("part-")))
        })
    })
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_and_one_that_is_killed_leaves_nothing_readable() {
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", ROWS, "-o", "input"]).done();
    let out = sandbox.path("out");

    // Signals: while the run reads, and while it has staged files.
    for (name, code) in [("-TERM", 143), ("-INT", 130)] {
        for staged in [false, true] {
            let mut run =
                sandbox.start(&[&RUN[..], &["--metrics-file", "run.prom", "--lineage-file", "run.json"]].concat());
            wait(&mut run, || if staged { is_staged(&out) } else { !names(&out).is_empty() });
            signal(&run, name);
            let ended = Ended::from(run.wait_with_output().unwrap());
            assert_eq!(ended.code, Some(code), "{ended:?}");
            let json = ended.json();
            assert_eq!((&json["outcome"], &json["exit_code"]), (&"error".into(), &code.into()));
            assert!(json["error"].as_str().unwrap().contains("nothing was published"), "{json}");
            assert!(sandbox.out().is_empty(), "{name} left {:?}", sandbox.out());
            let metrics = fs::read_to_string(sandbox.path("run.prom")).unwrap();
            assert!(metrics.contains(&format!("throng_run_exit_code{{policy=\"census\"}} {code}\n")), "{metrics}");
            let lineage = fs::read_to_string(sandbox.path("run.json")).unwrap();
            assert!(lineage.starts_with("{\"eventType\":\"ABORT\","), "{lineage}");
        }
    }

    // Killed: without a chance to clean up, nothing is left that a reader would take for a release.
    let mut run = sandbox.start(&RUN);
    wait(&mut run, || is_staged(&out));
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().code(), None);
    let left = sandbox.out();
    assert!(left.iter().all(|name| name.starts_with('.')), "{left:?}");
    assert!(data_files(&out).is_empty() && !sandbox.release().exists());

    // The next run succeeds, and removes the orphan.
    let outcome = sandbox.throng(&RUN).done();
    assert_eq!(outcome["rows"], 300_000);
    assert_eq!(sandbox.out(), ["release"]);
    let rows: usize =
        data_files(&sandbox.release()).iter().flat_map(|file| read_file(file)).map(|b| b.num_rows()).sum();
    assert_eq!(rows, 300_000);

    // A release that is being replaced stays until its successor is complete.
    let before = fs::read(sandbox.path("out/release/_throng/manifest.json")).unwrap();
    let mut run = sandbox.start(&[&RUN[..], &["--overwrite", "--seed", "9"]].concat());
    wait(&mut run, || names(&out).iter().any(|name| name.starts_with('.')));
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(fs::read(sandbox.path("out/release/_throng/manifest.json")).unwrap() == before);
}
