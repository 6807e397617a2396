//! Concurrent runs on one output: one wins, the others fail, and readers only ever see whole releases.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use throng_testkit::s3::{FaultPolicy, Proxy, Request, Server, WireFault};

use crate::bucket::Bucket;
use crate::sandbox::Ended;
use crate::setting::{number, say, server};
use crate::state::look;
use crate::trial::{Run, Trial, listed, wait};

const JOBS: usize = 6;

/// Holds back the objects by which runs commit, and releases them at the same moment.
pub struct Gate {
    runs: Barrier,
    /// Part of the name of such an object.
    commit: &'static str,
}

impl Gate {
    pub fn new(runs: usize, commit: &'static str) -> Self {
        Self { runs: Barrier::new(runs), commit }
    }
}

impl FaultPolicy for Gate {
    fn before(&self, request: &Request) -> WireFault {
        if request.method == "PUT" && request.target.contains(self.commit) {
            self.runs.wait();
        }
        WireFault::Pass(Duration::ZERO)
    }
}

#[test]
fn of_several_runs_on_one_output_one_wins_and_readers_see_whole_releases_only() {
    let Some(server) = server() else { return };
    let rounds = number("THRONG_ROUNDS", 3);
    let trial = Trial::new(2_000, 2);
    trial.be_patient();
    let bucket = Bucket::new(server, "contested");
    let output = bucket.url("release");
    let (is_over, whole) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            // A panic of the reader propagates at the end of the scope.
            let reader = Reader { trial: &trial, bucket: Bucket::open(server, "contested") };
            while !is_over.load(Ordering::SeqCst) {
                whole.fetch_add(usize::from(reader.read()), Ordering::SeqCst);
            }
        });
        // A round that fails must not leave the reader running.
        let _end = End(&is_over);
        for round in 0..rounds {
            one_wins(server, &trial, &bucket, &output, round);
        }
    });
    let whole = whole.into_inner();
    say(&format!(
        "concurrent runs: {rounds} rounds of {JOBS} runs, one winner each; {whole} whole releases read meanwhile"
    ));
    assert!(whole > 0);
}

/// Sets the flag on drop.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Starts `runs` runs on one output, which make the first and the second release in turn. All of them begin before one of them
/// writes an object named `commit`, so exactly one can commit: returns it, and the others, each with its release.
pub fn race(
    server: &Server,
    trial: &Trial,
    (output, overwrite): (&str, bool),
    (runs, commit): (usize, &'static str),
) -> ((usize, Ended), Vec<(usize, Ended)>) {
    let proxy = Proxy::start(server.address(), Arc::new(Gate::new(runs, commit)));
    let run = |release| Run { input: "input", output, release, overwrite };
    let started: Vec<_> = (0..runs).map(|job| (job % 2, trial.start(proxy.address(), &run(job % 2)))).collect();
    let ended: Vec<(usize, Ended)> = started.into_iter().map(|(release, run)| (release, wait(run))).collect();
    let (mut won, lost): (Vec<_>, Vec<_>) = ended.into_iter().partition(|(_, ended)| ended.code == Some(0));
    assert_eq!(won.len(), 1, "{won:#?} {lost:#?}");
    (won.remove(0), lost)
}

fn one_wins(server: &Server, trial: &Trial, bucket: &Bucket, output: &str, round: u64) {
    let (won, lost) = race(server, trial, (output, round > 0), (JOBS, "manifest.json"));
    for (_, ended) in &lost {
        let message = ended.refused(75);
        assert!(message.contains("another run published to") && message.contains("its release stands"), "{message}");
    }
    let objects = bucket.objects("release");
    let state = look(trial, &objects).unwrap();
    assert_eq!((state.release, state.is_complete), (Some(won.0), true), "round {round}: {state:?}");
    assert!(state.left.is_empty(), "round {round}: {:?}", state.left);
    let manifest: serde_json::Value = serde_json::from_slice(&objects["_throng/manifest.json"]).unwrap();
    assert_eq!(manifest["run_id"], won.1.json()["run_id"]);
}

/// Reads by the manifest only.
struct Reader<'a> {
    trial: &'a Trial,
    bucket: Bucket,
}

impl Reader<'_> {
    /// Whether there was a whole release. If a listed file is gone, the manifest must have changed meanwhile.
    fn read(&self) -> bool {
        let manifest = || self.bucket.get("release/_throng/manifest.json");
        let Some(seen) = manifest() else { return false };
        let files = listed(&seen);
        assert!(self.trial.known.contains(&files), "a reader sees a release that nobody made");
        let document: serde_json::Value = serde_json::from_slice(&seen).unwrap();
        for (entry, known) in document["files"].as_array().unwrap().iter().zip(&files) {
            match self.bucket.get(&format!("release/{}", entry["path"].as_str().unwrap())) {
                Some(bytes) => assert_eq!(crate::trial::digest(&bytes), known.sha256),
                None => {
                    assert_ne!(manifest().as_ref(), Some(&seen), "a reader misses a file of the release that stands");
                    return false;
                }
            }
        }
        true
    }
}
