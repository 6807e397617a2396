//! Runs on S3 that are killed: before and after each of their requests, and at random moments.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use throng_testkit::TestRng;
use throng_testkit::s3::{FaultPolicy, Proxy, Request, Server, WireFault};

use crate::bucket::Bucket;
use crate::setting::{number, say, seed, server};
use crate::state::{State, look};
use crate::trial::{Run, Trial};

/// The moment at which a run is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// Before this request reaches the server.
    Before(usize),
    /// After the server has performed this request, and before the run gets the response.
    After(usize),
    /// Before an object with this in its name is put.
    BeforePut(&'static str),
    /// After an object with this in its name was put.
    AfterPut(&'static str),
    Time(Duration),
}

/// Kills a run at a moment.
struct Killer {
    moment: Moment,
    run: Mutex<Option<Child>>,
    is_started: Condvar,
    has_killed: AtomicBool,
}

impl Killer {
    fn kill(&self) {
        let mut run = self.run.lock().unwrap();
        while run.is_none() {
            run = self.is_started.wait(run).unwrap();
        }
        let run = run.as_mut().unwrap();
        if run.try_wait().unwrap().is_none() {
            run.kill().unwrap();
            run.wait().unwrap();
            self.has_killed.store(true, Ordering::SeqCst);
        }
    }

    fn is_over(&self) -> bool {
        self.run.lock().unwrap().as_mut().is_some_and(|run| run.try_wait().unwrap().is_some())
    }
}

impl FaultPolicy for Killer {
    fn before(&self, request: &Request) -> WireFault {
        let is_put = |name| request.method == "PUT" && !request.is_copy && request.target.contains(name);
        let is_now = match self.moment {
            Moment::Before(number) => request.number == number,
            Moment::BeforePut(name) => is_put(name),
            Moment::After(_) | Moment::AfterPut(_) | Moment::Time(_) => false,
        };
        if is_now {
            self.kill();
            return WireFault::Lose;
        }
        WireFault::Pass(Duration::ZERO)
    }

    fn after(&self, request: &Request) {
        let is_put = |name| request.method == "PUT" && !request.is_copy && request.target.contains(name);
        let is_now = match self.moment {
            Moment::After(number) => request.number == number,
            Moment::AfterPut(name) => is_put(name),
            Moment::Before(_) | Moment::BeforePut(_) | Moment::Time(_) => false,
        };
        if is_now {
            self.kill();
        }
    }
}

#[test]
fn a_run_on_s3_that_is_killed_leaves_the_old_state_or_the_whole_new_release() {
    let Some(server) = server() else { return };
    let trial = Trial::new(2_000, 2);
    trial.upload(&Bucket::new(server, "killed-input"));
    kill_runs(server, &trial, "s3://killed-input/input/", "killed");
}

/// Kills runs of a trial and asserts what each of them leaves; buckets have names with this prefix.
pub fn kill_runs(server: &Server, trial: &Trial, input: &str, prefix: &str) {
    let (seed, kills) = (seed(), number("THRONG_KILLS", 8));
    let mut draws = TestRng::of(seed, "kills on S3");
    let moments = moments(&requests(server, trial, input, prefix), &mut draws);
    let (mut killed, mut late, mut stood, mut left) = (0, 0, 0, 0);
    for (number, (has_old, moment)) in moments.into_iter().cycle().enumerate() {
        if killed == kills {
            break;
        }
        let bucket = Bucket::new(server, &format!("{prefix}-{number}"));
        let output = bucket.url("release");
        let run = |release, overwrite| Run { input, output: &output, release, overwrite };
        if has_old {
            trial.run(server.address(), &run(1, false)).done();
        }
        // The current release may have a different layout from that of the killed run.
        trial.lay_out(number + number / 2);
        let was_killed = kill(server, trial, &run(0, has_old), moment);
        let state =
            look(trial, &bucket.objects("release")).unwrap_or_else(|wrong| panic!("{moment:?}, seed {seed}: {wrong}"));
        let old = has_old.then_some(1);
        assert!([old, Some(0)].contains(&state.release), "{moment:?}, seed {seed}: the old release is gone");
        killed += u64::from(was_killed);
        late += u64::from(!was_killed);
        stood += u64::from(state.release == Some(0));
        left += u64::from(!state.left.is_empty());

        let next = state.release.map_or(0, |release| 1 - release);
        trial.run(server.address(), &run(next, state.release.is_some())).done();
        let after =
            look(trial, &bucket.objects("release")).unwrap_or_else(|wrong| panic!("{moment:?}, seed {seed}: {wrong}"));
        assert_eq!((after.release, after.is_complete), (Some(next), true), "{moment:?}, seed {seed}");
        let visible: Vec<&String> = after.left.iter().filter(|path| !path.starts_with('_')).collect();
        assert!(visible.is_empty(), "{moment:?}, seed {seed}: the next run left {visible:?}");
        if !after.left.is_empty() {
            trial.clean(server.address(), &output);
            let cleaned = look(trial, &bucket.objects("release")).unwrap();
            assert_eq!(cleaned, State { left: Default::default(), ..after }, "{moment:?}, seed {seed}");
        }
    }
    say(&format!(
        "kills on S3 ({prefix}): seed {seed}; {killed} killed, {late} over before; {stood} after the commit, {left} left something"
    ));
}

/// Returns the number of requests and the duration of a run, without and with a release that it replaces.
fn requests(server: &Server, trial: &Trial, input: &str, prefix: &str) -> BTreeMap<bool, (usize, Duration)> {
    let bucket = Bucket::new(server, &format!("{prefix}-never"));
    let count = |has_old| {
        let proxy = Proxy::start(server.address(), Arc::new(|_: &Request| WireFault::Pass(Duration::ZERO)));
        let start = Instant::now();
        let output = bucket.url("release");
        let run = Run { input, output: &output, release: 0, overwrite: has_old };
        trial.run(proxy.address(), &run).done();
        (has_old, (proxy.requests(), start.elapsed()))
    };
    [false, true].map(count).into_iter().collect()
}

/// Returns every moment once, in an order determined by the seed.
pub fn moments(requests: &BTreeMap<bool, (usize, Duration)>, draws: &mut TestRng) -> Vec<(bool, Moment)> {
    let mut moments = Vec::new();
    for (has_old, (count, time)) in requests {
        for number in 0..*count {
            moments.extend([Moment::Before(number), Moment::After(number)].map(|moment| (*has_old, moment)));
            if number % 4 == 0 {
                let time = time.mul_f64(draws.below(1000) as f64 / 1000.0);
                moments.push((*has_old, Moment::Time(time)));
            }
        }
    }
    for last in (1..moments.len()).rev() {
        moments.swap(last, draws.below(last as u64 + 1) as usize);
    }
    moments
}

fn kill(server: &Server, trial: &Trial, run: &Run<'_>, moment: Moment) -> bool {
    kill_at(server, moment, |endpoint| trial.start(endpoint, run))
}

/// Starts a run at an endpoint and kills it. Returns whether it was killed before its end.
pub fn kill_at(server: &Server, moment: Moment, start: impl FnOnce(SocketAddr) -> Child) -> bool {
    let killer = Arc::new(Killer {
        moment,
        run: Mutex::default(),
        is_started: Condvar::new(),
        has_killed: AtomicBool::new(false),
    });
    let proxy = Proxy::start(server.address(), Arc::clone(&killer) as Arc<dyn FaultPolicy>);
    *killer.run.lock().unwrap() = Some(start(proxy.address()));
    killer.is_started.notify_all();
    if let Moment::Time(time) = moment {
        thread::sleep(time);
        killer.kill();
    }
    while !killer.is_over() {
        thread::sleep(Duration::from_millis(2));
    }
    proxy.settle();
    killer.has_killed.load(Ordering::SeqCst)
}
