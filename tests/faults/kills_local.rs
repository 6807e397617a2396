//! Runs on the local file system that are killed: at system calls that change names or flush, in every stage, and at
//! random moments.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use throng_testkit::TestRng;

use crate::sandbox::{Ended, names};
use crate::setting::{number, say, seed};
use crate::state::look_at_folder;
use crate::trial::{Run, Trial};

/// System calls that create, remove or change a name, or flush, and how often one thread of a run makes them. The
/// commit is between the last two flushes, or is the `renameat2` if a release is replaced; the replaced release is
/// removed afterwards.
const CALLS: [(&str, u64); 6] =
    [("mkdir", 3), ("rename", 4), ("fsync", 16), ("chmod", 1), ("renameat2", 1), ("unlinkat", 14)];

/// Stages of a job, as named in its log.
const STAGES: [&str; 7] = ["survey", "partition", "cluster", "recode", "write", "verify", "publish"];

/// The moment at which a run is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// When a thread enters a system call for the n-th time.
    Call(&'static str, u64),
    /// When the log names a stage.
    Stage(&'static str),
    Time(Duration),
}

#[test]
fn a_run_on_local_files_that_is_killed_leaves_the_old_state_or_the_whole_new_release() {
    let (seed, kills) = (seed(), number("THRONG_KILLS", 8));
    let trial = Trial::new(2_000, 2);
    let release = trial.sandbox.release();
    let run = |release, overwrite| Run { input: "input", output: "out/release", release, overwrite };
    let start = Instant::now();
    trial.sandbox.throng(&strs(&run(0, false).arguments())).done();
    let time = start.elapsed();

    let mut draws = TestRng::of(seed, "local kills");
    let moments = moments(&CALLS, time, can_trace(), &mut draws);
    let (mut killed, mut late, mut stood, mut left) = (0, 0, 0, 0);
    for (turn, (has_old, moment)) in moments.into_iter().cycle().enumerate() {
        if killed == kills {
            break;
        }
        fs::remove_dir_all(trial.sandbox.path("out")).unwrap();
        if has_old {
            trial.sandbox.throng(&strs(&run(1, false).arguments())).done();
        }
        // The current release may have a different layout from that of the killed run.
        trial.lay_out(turn + turn / 2);
        let was_killed = kill(&trial, &run(0, has_old), moment);
        let wrong = |wrong: String| panic!("{moment:?}, seed {seed}: {wrong}");
        let state = look_at_folder(&trial, &release).unwrap_or_else(wrong);
        let old = has_old.then_some(1);
        assert!([old, Some(0)].contains(&state.release), "{moment:?}, seed {seed}: the old release is gone");
        killed += u64::from(was_killed);
        late += u64::from(!was_killed);
        stood += u64::from(state.release == Some(0));
        let beside = beside(&trial);
        assert!(beside.iter().all(|name| name.starts_with('.')), "{moment:?}, seed {seed}: {beside:?}");
        left += u64::from(!beside.is_empty());

        let next = state.release.map_or(0, |release| 1 - release);
        trial.sandbox.throng(&strs(&run(next, state.release.is_some()).arguments())).done();
        let after = look_at_folder(&trial, &release).unwrap_or_else(wrong);
        assert_eq!(after.release, Some(next), "{moment:?}, seed {seed}");
        assert_eq!(self::beside(&trial), Vec::<String>::new(), "{moment:?}, seed {seed}: leftovers stay");
    }
    say(&format!(
        "kills on local files: seed {seed}; {killed} killed, {late} over before; {stood} after the commit, {left} left something"
    ));
}

pub fn strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Returns the names beside the release.
pub fn beside(trial: &Trial) -> Vec<String> {
    let out = trial.sandbox.path("out");
    if out.exists() { names(&out).into_iter().filter(|name| name != "release").collect() } else { Vec::new() }
}

/// Returns every moment once, in an order determined by the seed.
pub fn moments(
    calls: &[(&'static str, u64)],
    time: Duration,
    can_trace: bool,
    draws: &mut TestRng,
) -> Vec<(bool, Moment)> {
    let calls = calls.iter().filter(|_| can_trace);
    let mut moments: Vec<Moment> =
        calls.flat_map(|(call, times)| (1..=*times).map(|number| Moment::Call(call, number))).collect();
    moments.extend(STAGES.map(Moment::Stage));
    moments.extend((0..20).map(|_| Moment::Time(time.mul_f64(draws.below(1000) as f64 / 1000.0))));
    let mut moments: Vec<(bool, Moment)> =
        moments.into_iter().flat_map(|moment| [(false, moment), (true, moment)]).collect();
    for last in (1..moments.len()).rev() {
        moments.swap(last, draws.below(last as u64 + 1) as usize);
    }
    moments
}

/// Whether this machine allows tracing a process.
pub fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let can = traced.is_ok_and(|output| output.status.success());
    if !can {
        throng_testkit::skip(
            "runs can't be killed at calls of the system, because there is no strace, or it is not allowed",
        );
    }
    can
}

/// Kills a run. Returns whether it was killed before its end.
pub fn kill(trial: &Trial, run: &Run<'_>, moment: Moment) -> bool {
    let arguments = run.arguments();
    match moment {
        Moment::Call(call, number) => {
            let mut traced = Command::new("strace");
            let inject = format!("inject={call}:signal=KILL:when={number}");
            let folder = trial.sandbox.path("");
            traced.args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
            traced.arg(env!("CARGO_BIN_EXE_throng")).args(&arguments).current_dir(folder).stdin(Stdio::null());
            traced.env("THRONG_SECRET", crate::sandbox::SECRET);
            Ended::from(traced.output().unwrap()).code != Some(0)
        }
        Moment::Stage(stage) => {
            let arguments = [strs(&arguments), vec!["--log-format", "json", "-v"]].concat();
            let mut run = trial.sandbox.start(&arguments);
            let log = BufReader::new(run.stderr.take().unwrap());
            let needle = format!("\"stage\":\"{stage}\"");
            assert!(log.lines().any(|line| line.unwrap().contains(&needle)), "the log does not name {stage}");
            end(run)
        }
        Moment::Time(time) => {
            let run = trial.sandbox.start(&strs(&arguments));
            thread::sleep(time);
            end(run)
        }
    }
}

fn end(mut run: Child) -> bool {
    run.kill().unwrap();
    run.wait().unwrap().code().is_none()
}
