//! Full disks, and processes that have reached their limit of open files.

use std::fs;
use std::process::{Command, Stdio};

use crate::sandbox::{Ended, assert_contains};
use crate::state::look_at_folder;
use crate::trial::Trial;

/// Runs a script in a mount namespace, where it can mount a small disk; `None` where the machine does not allow it.
fn with_mounts(trial: &Trial, script: &str) -> Option<Ended> {
    let namespaces = ["--user", "--map-root-user", "--mount"];
    let may = Command::new("unshare").args(namespaces).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        throng_testkit::skip("a disk can't be filled, because no small one may be mounted here");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", script]).current_dir(trial.sandbox.path("")).stdin(Stdio::null());
    Some(
        command
            .env("THRONG", env!("CARGO_BIN_EXE_throng"))
            .env("THRONG_SECRET", crate::sandbox::SECRET)
            .output()
            .unwrap()
            .into(),
    )
}

/// Returns the files left on the small disk, as printed by the script.
fn left(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter_map(|line| line.strip_prefix("left: ")).collect()
}

#[test]
fn a_full_disk_in_staging_publishes_nothing_and_leaves_nothing() {
    let trial = Trial::new(20_000, 2);
    // The release exceeds each of these sizes, but a different file is the first that does not fit.
    for size in ["16k", "32k", "64k"] {
        let script = format!(
            "mount -t tmpfs -o size={size} none out && \"$THRONG\" run policy.toml; code=$?
             for name in $(ls -A out); do echo \"left: $name\" >&2; done; exit $code"
        );
        let Some(ended) = with_mounts(&trial, &script) else { return };
        let message = ended.refused(75);
        assert_contains(&message, &["out"]);
        assert_eq!(left(&ended), Vec::<&str>::new(), "{size}: {ended:?}");
    }
    // With more space the same run succeeds.
    let whole = trial.sandbox.run(&["--seed", "1"]);
    assert_eq!(whole["rows"], 20_000);
    assert_eq!(look_at_folder(&trial, &trial.sandbox.release()).unwrap().release, Some(0));
}

#[test]
fn a_full_disk_in_spill_publishes_nothing_and_leaves_nothing() {
    let trial = Trial::new(600_000, 2);
    fs::create_dir(trial.sandbox.path("spill")).unwrap();
    let script = |size: &str| {
        format!(
            "mount -t tmpfs -o size={size} none spill && TMPDIR=$PWD/spill \"$THRONG\" run policy.toml --seed 1 \
             --memory-limit 192MiB; code=$?
             for name in $(ls -A spill); do echo \"left: $name\" >&2; done; exit $code"
        )
    };
    for size in ["4k", "64k", "512k"] {
        let Some(ended) = with_mounts(&trial, &script(size)) else { return };
        let message = ended.refused(75);
        assert_contains(&message, &["TMPDIR"]);
        assert_eq!(left(&ended), Vec::<&str>::new(), "{size}: {ended:?}");
        assert_eq!(trial.sandbox.out(), Vec::<String>::new(), "{size}");
    }
    let Some(ended) = with_mounts(&trial, &script("64m")) else { return };
    assert!(ended.stderr.contains("spilled=true"), "nothing was spilled: {ended:?}");
    assert_eq!(left(&ended), Vec::<&str>::new());
    ended.done();
    assert_eq!(look_at_folder(&trial, &trial.sandbox.release()).unwrap().release, Some(0));
}

#[test]
fn a_process_that_may_open_few_files_publishes_all_or_nothing() {
    let trial = Trial::new(2_000, 20);
    let mut failed = 0;
    // With fewer than ten, neither the runtime nor its signal handlers can be set up.
    for files in (10..40).step_by(3) {
        let script = format!("ulimit -n {files}; exec \"$THRONG\" run policy.toml --seed 1");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(trial.sandbox.path("")).stdin(Stdio::null());
        let ended = Ended::from(
            command
                .env("THRONG", env!("CARGO_BIN_EXE_throng"))
                .env("THRONG_SECRET", crate::sandbox::SECRET)
                .output()
                .unwrap(),
        );
        match ended.code {
            Some(0) => {
                assert_eq!(look_at_folder(&trial, &trial.sandbox.release()).unwrap().release, Some(0));
                fs::remove_dir_all(trial.sandbox.release()).unwrap();
            }
            _ => {
                assert_contains(&ended.refused(78), &["ulimit -n"]);
                failed += 1;
            }
        }
        // Removing a folder needs a file handle too; without one it stays hidden, as after a kill.
        let left = trial.sandbox.out();
        assert!(left.iter().all(|name| name.starts_with('.')), "{files}: {ended:?}");
    }
    assert!(failed > 0, "the limits were too high to be felt");
    trial.sandbox.run(&["--seed", "1"]);
    assert_eq!(trial.sandbox.out(), ["release"]);
}
