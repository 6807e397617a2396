//! Runs that are killed while they create another version of a Delta table on the local file system.

use std::fs;
use std::path::Path;
use std::time::Instant;

use throng_testkit::TestRng;

use crate::delta_state::{latest, unlisted};
use crate::kills_local::{beside, can_trace, kill, moments, strs};
use crate::sandbox::contents;
use crate::setting::{number, say, seed};
use crate::state::Objects;
use crate::trial::{Run, Trial};

/// System calls that create, remove or change a name, or flush, and how often one thread of a run makes them. The commit is
/// the `linkat`.
const CALLS: [(&str, u64); 6] =
    [("mkdir", 3), ("rename", 14), ("fsync", 14), ("linkat", 1), ("unlinkat", 3), ("unlink", 12)];

#[test]
fn a_run_that_is_killed_leaves_the_old_version_of_a_table_or_the_new_one() {
    let (seed, kills) = (seed(), number("THRONG_KILLS", 8));
    let trial = Trial::new(2_000, 2);
    trial.release_tables();
    let run = |release, overwrite| Run { input: "input", output: "out/release", release, overwrite };
    let start = Instant::now();
    trial.sandbox.throng(&strs(&run(0, false).arguments())).done();
    let time = start.elapsed();

    let mut draws = TestRng::of(seed, "kills of tables");
    let moments = moments(&CALLS, time, can_trace(), &mut draws);
    let (mut killed, mut late, mut stood) = (0, 0, 0);
    for (has_old, moment) in moments.into_iter().cycle() {
        if killed == kills {
            break;
        }
        fs::remove_dir_all(trial.sandbox.path("out")).unwrap();
        if has_old {
            trial.sandbox.throng(&strs(&run(1, false).arguments())).done();
        }
        let was_killed = kill(&trial, &run(0, has_old), moment);
        let state = latest(&trial, &table(&trial));
        assert!([has_old.then_some(1), Some(0)].contains(&state), "{moment:?}, seed {seed}: {state:?}");
        killed += u64::from(was_killed);
        late += u64::from(!was_killed);
        stood += u64::from(state == Some(0));

        let next = state.map_or(0, |release| 1 - release);
        trial.sandbox.throng(&strs(&run(next, state.is_some()).arguments())).done();
        assert_eq!(latest(&trial, &table(&trial)), Some(next), "{moment:?}, seed {seed}");
        assert_eq!(beside(&trial), Vec::<String>::new(), "{moment:?}, seed {seed}: leftovers stay");
        let unlisted = unlisted(&table(&trial));
        assert_eq!(unlisted, Vec::<String>::new(), "{moment:?}, seed {seed}: files that no version names stay");
    }
    say(&format!("kills on a table: seed {seed}; {killed} killed, {late} over before; {stood} after the commit"));
}

/// Returns every file of the table by its path below it.
fn table(trial: &Trial) -> Objects {
    let root = trial.sandbox.release();
    if !root.exists() {
        return Objects::new();
    }
    let below = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    contents(&root).into_iter().map(|(path, bytes)| (below(&path), bytes)).collect()
}
