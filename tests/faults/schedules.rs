//! Runs on S3 under seeded fault schedules, and the state that they leave.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use throng_testkit::TestRng;
use throng_testkit::s3::{FaultPolicy, FaultSchedule, Proxy, Server};

use crate::bucket::Bucket;
use crate::sandbox::Ended;
use crate::setting::{number, say, seed, server};
use crate::state::{State, look};
use crate::trial::{PATIENCE, Run, Trial, wait};

const ROWS: u64 = 3_000;
const INPUT_FILES: u64 = 4;
/// Number of schedules that run concurrently: most of their time they wait for responses that do not come.
const WORKERS: usize = 8;

/// Number of schedules, runs and requests by event.
type Counts = BTreeMap<String, u64>;

#[test]
fn faults_of_the_store_leave_the_old_state_or_the_whole_new_release() {
    let Some(server) = server() else { return };
    let (first, runs) = (seed(), number("THRONG_FAULT_RUNS", 12));
    let trial = Trial::new(ROWS, INPUT_FILES);
    trial.upload(&Bucket::new(server, "people"));
    let (next, counts, failed) = (AtomicU64::new(0), Mutex::new(Counts::new()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seed = first + next.fetch_add(1, Ordering::SeqCst);
            if seed >= first + runs {
                break;
            }
            match catch_unwind(AssertUnwindSafe(|| schedule(server, &trial, seed))) {
                Ok(seen) => seen.into_iter().for_each(|(what, times)| {
                    *counts.lock().unwrap().entry(what).or_default() += times;
                }),
                Err(_) => failed.lock().unwrap().push(seed),
            }
        }
    };
    thread::scope(|scope| (0..WORKERS).for_each(|_| drop(scope.spawn(work))));
    let counts = counts.into_inner().unwrap();
    let failed = failed.into_inner().unwrap();
    let counted: Vec<String> = counts.iter().map(|(what, times)| format!("{what} {times}")).collect();
    say(&format!("fault schedules: seeds {first} to {}; {}", first + runs - 1, counted.join(", ")));
    assert!(failed.is_empty(), "repeat these with THRONG_FAULT_SEED=<seed> THRONG_FAULT_RUNS=1: {failed:?}");
}

/// Performs one or two runs under the fault schedule of a seed, and then one without faults.
fn schedule(server: &Server, trial: &Trial, seed: u64) -> Counts {
    let mut draws = TestRng::of(seed, "schedule");
    let bucket = Bucket::new(server, &format!("faults-{seed}"));
    let output = bucket.url("release");
    let old = draws.percent(60).then(|| draws.below(2) as usize);
    let run = |release, overwrite| Run { input: "s3://people/input/", output: &output, release, overwrite };
    if let Some(release) = old {
        trial.run(server.address(), &run(release, false)).done();
    }
    let new = old.map_or(0, |old| 1 - old);
    let overwrite = old.is_some() || draws.percent(50);
    // Concurrent runs produce the same release, so that the state is known whichever wins.
    let jobs = if overwrite && draws.percent(25) { 2 } else { 1 };

    let weather = Arc::new(FaultSchedule::new(seed, PATIENCE));
    let proxy = Proxy::start(server.address(), Arc::clone(&weather) as Arc<dyn FaultPolicy>);
    let started: Vec<_> = (0..jobs).map(|_| trial.start(proxy.address(), &run(new, overwrite))).collect();
    let ended: Vec<Ended> = started.into_iter().map(wait).collect();
    proxy.settle();
    let report =
        |what: &str| format!("seed {seed}: {what}\n{weather:#?}\n{ended:#?}\n{:#?}", bucket.objects("release").keys());

    let state = look(trial, &bucket.objects("release")).unwrap_or_else(|wrong| panic!("{}", report(&wrong)));
    let mut seen = Counts::new();
    let mut count = |what: &str, times: usize| *seen.entry(what.to_owned()).or_default() += times as u64;
    for ended in &ended {
        match (ended.code, ended.json()["error"].as_str()) {
            (Some(0), _) => {
                count("runs released", 1);
                assert_eq!(state.release, Some(new), "{}", report("a run said that it released, and did not"));
            }
            // The one case in which a run does not know its outcome.
            (Some(75), Some(error)) if error.contains("is published if") => count("runs in doubt", 1),
            (Some(75), Some(_)) => {
                count("runs failed", 1);
                let is_mine = jobs == 1 && state.release == Some(new);
                assert!(!is_mine, "{}", report("a run said that it failed, and released"));
            }
            _ => panic!("{}", report("a run ended in a way that no fault of a store explains")),
        }
    }
    assert!([old, Some(new)].contains(&state.release), "{}", report("the old release is gone"));
    count("schedules", 1);
    count("requests", proxy.requests());
    weather.counts().into_iter().for_each(|(treatment, times)| count(treatment, times));
    count("schedules that left something", usize::from(!state.left.is_empty()));
    count("schedules that end in a new release", usize::from(state.release == Some(new)));

    // The next run succeeds, and afterwards there is one whole release and nothing else.
    let next = state.release.map_or(0, |release| 1 - release);
    trial.run(server.address(), &run(next, state.release.is_some())).done();
    trial
        .command(server.address(), &["verify", &output, "--policy", "policy.toml"])
        .output()
        .map(Ended::from)
        .unwrap()
        .done();
    let after = look(trial, &bucket.objects("release")).unwrap_or_else(|wrong| panic!("{}", report(&wrong)));
    let clean = State { release: Some(next), is_complete: true, left: after.left.clone() };
    assert_eq!(after, clean, "{}", report("the next run did not release"));
    let visible: Vec<&String> = after.left.iter().filter(|path| !path.starts_with('_')).collect();
    assert!(visible.is_empty(), "{}", report(&format!("the next run left {visible:?}")));
    if !after.left.is_empty() {
        trial.clean(server.address(), &output);
        let cleaned = look(trial, &bucket.objects("release")).unwrap_or_else(|wrong| panic!("{}", report(&wrong)));
        assert_eq!(cleaned, State { left: Default::default(), ..after }, "{}", report("clean did not clean"));
    }
    seen
}
