//! `throng clean`: removes the orphans of dead runs, and nothing else.

use std::fs;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains, contents, names};

const DEAD: &str = ".release.throng-dddddddddddddddddddddddddddddddd";
const OTHER: &str = ".release.throng-eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

/// Creates a release with the folder of a dead run next to it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with(&people(100), 3, 1, COLUMNS);
    sandbox.run(&[]);
    leave(&sandbox, DEAD);
    sandbox
}

fn leave(sandbox: &Sandbox, name: &str) {
    let folder = sandbox.path("out").join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("part-00000.parquet"), "unverified").unwrap();
}

#[cfg(unix)]
#[test]
fn what_a_dead_run_left_goes_and_the_release_stays() {
    let sandbox = sandbox();
    let release = contents(&sandbox.release());
    for target in ["policy.toml", "out/release", "out/release/"] {
        let dry = sandbox.throng(&["clean", target, "--dry-run"]).done();
        assert_eq!((&dry["outcome"], &dry["dry_run"], &dry["removed"]), (&"cleaned".into(), &true.into(), &0.into()));
        assert_eq!(sandbox.out(), [DEAD, "release"]);
        let cleaned = sandbox.throng(&["clean", target]).done();
        assert_eq!(cleaned["leftovers"], dry["leftovers"]);
        assert_eq!(
            (&cleaned["removed"], &cleaned["alive"], &cleaned["dry_run"]),
            (&1.into(), &0.into(), &false.into())
        );
        assert!(cleaned["leftovers"][0].as_str().unwrap().ends_with(DEAD), "{cleaned}");
        assert_eq!(sandbox.out(), ["release"]);
        let again = sandbox.throng(&["clean", target]).done();
        assert_eq!(again["leftovers"], serde_json::json!([]));
        leave(&sandbox, DEAD);
    }
    assert_eq!(contents(&sandbox.release()), release);
}

#[cfg(unix)]
#[test]
fn what_belongs_to_a_run_that_is_alive_or_to_others_stays() {
    let sandbox = sandbox();
    leave(&sandbox, OTHER);
    leave(&sandbox, ".release.throng-mine");
    leave(&sandbox, ".else.throng-dddddddddddddddddddddddddddddddd");
    // Locks the folder as a live run does.
    let alive = fs::File::open(sandbox.path("out").join(OTHER)).unwrap();
    alive.lock().unwrap();
    let cleaned = sandbox.throng(&["clean", "policy.toml"]).done();
    assert_eq!((&cleaned["removed"], &cleaned["alive"]), (&1.into(), &1.into()));
    let left = [".else.throng-dddddddddddddddddddddddddddddddd", OTHER, ".release.throng-mine", "release"];
    assert_eq!(sandbox.out(), left);
    // The next run does not remove it either, until its process is gone.
    sandbox.run(&["--overwrite"]);
    assert_eq!(sandbox.out(), left);
    drop(alive);
    sandbox.run(&["--overwrite"]);
    assert_eq!(names(&sandbox.path("out")), [left[0], left[2], left[3]]);
}

#[test]
fn what_can_not_be_cleaned_is_reported() {
    let sandbox = sandbox();
    assert_contains(&sandbox.throng(&["clean", "absent.toml"]).refused(78), &["absent.toml", "no such policy file"]);
    assert_contains(&sandbox.throng(&["clean", "https://host/out"]).refused(78), &["can only be read"]);
    let message = sandbox.throng(&["clean", "s3://key:hunter2@bucket/out"]).refused(78);
    assert!(message.contains("password") && !message.contains("hunter2"), "{message}");
    for time in ["1", "soon", "0s", "1d"] {
        assert_contains(&sandbox.throng(&["clean", "out/release", "--older-than", time]).refused(2), &["--older-than"]);
    }
    let cleaned = sandbox.throng(&["clean", "out/never", "--older-than", "1h"]).done();
    assert_eq!(cleaned["removed"], 0);
}
