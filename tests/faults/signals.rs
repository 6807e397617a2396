//! A store that does not respond: a run fails by itself, and stops on a signal.

use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use throng_testkit::s3::{Proxy, Request, WireFault};

use crate::bucket::Bucket;
use crate::setting::server;
use crate::trial::{Run, Trial, wait};

/// Longer than any test waits.
const FOREVER: Duration = Duration::from_secs(600);

/// Maximum time that a run may take to stop: far less than a scheduler waits before it kills.
const SOON: Duration = Duration::from_secs(20);

/// Responds to the first `count` requests only.
fn silent_after(count: usize) -> Arc<impl Fn(&Request) -> WireFault> {
    Arc::new(move |request: &Request| match request.number < count {
        true => WireFault::Pass(Duration::ZERO),
        false => WireFault::Stall(FOREVER),
    })
}

#[test]
fn a_store_that_falls_silent_is_a_temporary_failure() {
    let Some(server) = server() else { return };
    let trial = Trial::new(2_000, 2);
    trial.upload(&Bucket::new(server, "silent-input"));
    for count in [0, 4, 12, 20] {
        let bucket = Bucket::new(server, &format!("silent-{count}"));
        let proxy = Proxy::start(server.address(), silent_after(count));
        let output = bucket.url("release");
        let run = Run { input: "s3://silent-input/input/", output: &output, release: 0, overwrite: false };
        trial.run(proxy.address(), &run).refused(75);
        assert!(proxy.requests() > count);
        assert!(!bucket.objects("release").contains_key("_throng/manifest.json"));
    }
}

#[test]
fn a_run_stops_soon_when_it_is_asked_to_and_cleans_up_where_the_store_lets_it() {
    let Some(server) = server() else { return };
    let trial = Trial::new(2_000, 2);
    trial.upload(&Bucket::new(server, "asked-input"));
    for count in [0, 4, 12, 20] {
        for answers in [false, true] {
            let bucket = Bucket::new(server, &format!("asked-{count}-{answers}"));
            let output = bucket.url("release");
            let run = Run { input: "s3://asked-input/input/", output: &output, release: 0, overwrite: false };
            // One request never gets a response, so the run is alive when the signal arrives.
            let one = move |request: &Request| match request.number == count {
                false => WireFault::Pass(Duration::ZERO),
                true => WireFault::Stall(FOREVER),
            };
            let proxy = match answers {
                true => Proxy::start(server.address(), Arc::new(one)),
                false => Proxy::start(server.address(), silent_after(count)),
            };
            let started = trial.start(proxy.address(), &run);
            while proxy.requests() <= count {
                thread::sleep(Duration::from_millis(2));
            }
            let asked = Instant::now();
            assert!(Command::new("kill").args(["-TERM", &started.id().to_string()]).status().unwrap().success());
            let ended = wait(started);
            assert_eq!(ended.code, Some(143), "{ended:?}");
            assert!(asked.elapsed() < SOON, "it took {:?} to stop", asked.elapsed());
            proxy.settle();
            let left = bucket.objects("release");
            assert!(!left.contains_key("_throng/manifest.json"));
            assert!(!answers || left.is_empty(), "{:?}", left.keys());
        }
    }
}

/// Time after which the store carries out a request of a stopped run: before the run lists its staging once more.
const LATE: Duration = Duration::from_millis(200);

/// A run is stopped while an upload is in flight. Its connection is dropped, and the store still carries out the request.
#[test]
fn objects_that_a_stopped_run_had_on_their_way_are_not_left_in_the_staging() {
    let Some(server) = server() else { return };
    let trial = Trial::new(2_000, 2);
    trial.upload(&Bucket::new(server, "late-input"));
    // Releases have ten files, and are staged one by one.
    for number in 0..10 {
        let bucket = Bucket::new(server, &format!("late-{number}"));
        let output = bucket.url("release");
        let run = Run { input: "s3://late-input/input/", output: &output, release: 0, overwrite: false };
        let (arrived, arrival) = mpsc::channel();
        let (arrived, part) = (Mutex::new(arrived), format!("part-{number:05}.parquet"));
        let late = move |request: &Request| match request.method == "PUT" && request.target.contains(&part) {
            false => WireFault::Pass(Duration::ZERO),
            true => {
                let _ = arrived.lock().unwrap().send(());
                WireFault::Pass(LATE)
            }
        };
        let proxy = Proxy::start(server.address(), Arc::new(late));
        let started = trial.start(proxy.address(), &run);
        arrival.recv_timeout(SOON).expect("a file is staged");
        assert!(Command::new("kill").args(["-TERM", &started.id().to_string()]).status().unwrap().success());
        let ended = wait(started);
        assert_eq!(ended.code, Some(143), "{ended:?}");
        proxy.settle();
        let left = bucket.objects("release");
        assert!(left.is_empty(), "{:?}", left.keys());
    }
}
