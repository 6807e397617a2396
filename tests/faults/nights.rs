//! Appends and nights on S3 that are killed, that run concurrently, or whose store fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use throng_testkit::TestRng;
use throng_testkit::s3::{FaultSchedule, Proxy, Request, Server, WireFault};

use crate::concurrent::Gate;
use crate::kills_s3::{Moment, kill_at, moments};
use crate::nights_setting::{BOTH, FIRST, Growth, Nights, Seen};
use crate::sandbox::Ended;
use crate::setting::{number, say, seed, server};
use crate::trial::{PATIENCE, wait};

/// The objects that a run puts around its commit.
const AROUND_THE_COMMIT: [Moment; 6] = [
    Moment::BeforePut("/ledger-"),
    Moment::AfterPut("/ledger-"),
    Moment::BeforePut("manifest.json"),
    Moment::AfterPut("manifest.json"),
    Moment::BeforePut("metrics.json"),
    Moment::AfterPut("_SUCCESS"),
];

/// The same around the entry of a table, which is the commit there.
const AROUND_THE_ENTRY: [Moment; 6] = [
    Moment::BeforePut("/ledger-"),
    Moment::AfterPut("/ledger-"),
    Moment::BeforePut("_delta_log/"),
    Moment::AfterPut("_delta_log/"),
    Moment::AfterPut("manifest.json"),
    Moment::AfterPut("metrics.json"),
];

fn is_old_or_new(growth: Growth, seen: Seen) -> bool {
    let is_new = match growth {
        Growth::Append => seen == Seen { rows: BOTH, times: 2 },
        Growth::Series | Growth::Table => seen.times == 2 && seen.rows > FIRST && seen.rows <= BOTH,
    };
    is_new || seen == Seen { rows: FIRST, times: 1 }
}

#[test]
fn an_append_that_is_killed_leaves_the_old_state_or_the_new_one() {
    killed(Growth::Append, "append");
}

#[test]
fn a_night_that_is_killed_leaves_the_old_state_or_the_new_one() {
    killed(Growth::Series, "night");
}

#[test]
fn a_night_of_a_table_that_is_killed_leaves_the_old_version_or_the_new_one() {
    killed(Growth::Table, "table-night");
}

fn killed(growth: Growth, name: &str) {
    let Some(server) = server() else { return };
    let (seed, kills) = (seed(), number("THRONG_KILLS", 8));
    let mut draws = TestRng::of(seed, name);
    let others = moments(&BTreeMap::from([(true, requests(server, growth, name))]), &mut draws);
    let others = others.into_iter().map(|(_, moment)| moment).take(kills as usize);
    let (mut killed, mut stood) = (0, 0);
    let is_of_ledger = |moment: &Moment| matches!(moment, Moment::BeforePut("/ledger-") | Moment::AfterPut("/ledger-"));
    let around = if growth == Growth::Table { AROUND_THE_ENTRY } else { AROUND_THE_COMMIT };
    let around = around.into_iter().filter(|moment| growth != Growth::Append || !is_of_ledger(moment));
    for (number, moment) in around.chain(others).enumerate() {
        let nights = Nights::begun(server, growth, &format!("{name}-killed-{number}"));
        killed += u64::from(kill_at(server, moment, |endpoint| nights.start(endpoint)));
        let seen = nights.look().unwrap();
        assert!(is_old_or_new(growth, seen), "{moment:?}, seed {seed}: {seen:?}");
        // The manifest is the commit, and that of a table its entry.
        match moment {
            Moment::BeforePut("/ledger-" | "manifest.json" | "_delta_log/") | Moment::AfterPut("/ledger-") => {
                assert_eq!(seen.times, 1, "{moment:?}");
            }
            Moment::BeforePut(_) | Moment::AfterPut(_) => assert_eq!(seen.times, 2, "{moment:?}"),
            _ => {}
        }
        stood += u64::from(seen.times == 2);
        nights.complete();
    }
    say(&format!("kills of {growth:?} on S3: seed {seed}; {killed} killed, {stood} after the commit"));
}

/// Returns the number of requests of a run that adds to a release, and its duration.
fn requests(server: &Server, growth: Growth, name: &str) -> (usize, Duration) {
    let nights = Nights::begun(server, growth, &format!("{name}-counted"));
    let proxy = Proxy::start(server.address(), Arc::new(|_: &Request| WireFault::Pass(Duration::ZERO)));
    let start = Instant::now();
    nights.run(proxy.address()).done();
    (proxy.requests(), start.elapsed())
}

#[test]
fn of_two_at_once_one_wins_and_the_other_is_notified() {
    let Some(server) = server() else { return };
    for (growth, name) in [(Growth::Append, "append"), (Growth::Series, "night"), (Growth::Table, "table-night")] {
        let nights = Nights::begun(server, growth, &format!("{name}-twice"));
        nights.change_policy("timeout = \"1s\"", "timeout = \"10min\"");
        let commit = if growth == Growth::Table { "_delta_log/" } else { "manifest.json" };
        let proxy = Proxy::start(server.address(), Arc::new(Gate::new(2, commit)));
        let started = [nights.start(proxy.address()), nights.start(proxy.address())];
        let ended: Vec<Ended> = started.into_iter().map(wait).collect();
        let (won, lost): (Vec<_>, Vec<_>) = ended.into_iter().partition(|ended| ended.code == Some(0));
        assert_eq!((won.len(), lost.len()), (1, 1), "{won:#?} {lost:#?}");
        let message = lost[0].refused(75);
        assert!(message.contains("another run published to") && message.contains("its release stands"), "{message}");
        let seen = nights.look().unwrap();
        assert!(seen.times == 2 && is_old_or_new(growth, seen), "{seen:?}");
        // The rows that the loser would have added are already present.
        nights.complete();
    }
}

#[test]
fn faults_of_the_store_leave_the_old_state_or_the_new_one() {
    let Some(server) = server() else { return };
    let (first, runs) = (seed(), number("THRONG_FAULT_RUNS", 4));
    let (mut done, mut failed, mut unknown) = (0, 0, 0);
    for seed in first..first + runs {
        for (growth, name) in [(Growth::Append, "append"), (Growth::Series, "night"), (Growth::Table, "table-night")] {
            let nights = Nights::begun(server, growth, &format!("{name}-weather-{seed}"));
            let weather = Arc::new(FaultSchedule::new(seed, PATIENCE));
            let proxy = Proxy::start(server.address(), weather);
            let ended = nights.run(proxy.address());
            proxy.settle();
            let seen = nights.look().unwrap();
            assert!(is_old_or_new(growth, seen), "{growth:?}, seed {seed}: {seen:?} {ended:?}");
            match (ended.code, ended.json()["error"].as_str()) {
                (Some(0), _) => {
                    assert_eq!(seen.times, 2, "{growth:?}, seed {seed}: a run said that it released, and did not");
                    done += 1;
                }
                (Some(75), Some(error)) if error.contains("is published if") => unknown += 1,
                (Some(75), Some(_)) => {
                    assert_eq!(seen.times, 1, "{growth:?}, seed {seed}: a run said that it failed, and released");
                    failed += 1;
                }
                _ => panic!("{growth:?}, seed {seed}: no fault of a store explains {ended:?}"),
            }
            nights.complete();
        }
    }
    say(&format!(
        "appends and nights under faults: seeds {first} to {}; {done} done, {failed} failed, {unknown} in doubt",
        first + runs - 1
    ));
}
