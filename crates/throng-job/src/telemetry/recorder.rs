//! Records a run while it goes on, so that it can be reported however it ends.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use throng_policy::Policy;

use super::ColumnOrigins;
use crate::job::PublishedRelease;
use crate::manifest::policy_digest;
use crate::progress::Stage;
use crate::resources::peak_memory_bytes;
use crate::stage_timer::StageTimes;

/// Records one run, if it is given to the job as [`JobOptions::recorder`](crate::JobOptions::recorder).
#[derive(Debug)]
pub struct Recorder {
    job: String,
    start: SystemTime,
    clock: Instant,
    known: Mutex<RecordedRun>,
}

/// The facts about a run that are known so far.
#[derive(Clone, Debug, Default)]
struct RecordedRun {
    run_id: Option<String>,
    policy: Option<PolicyFacts>,
    origins: Option<ColumnOrigins>,
    stages: StageTimes,
    released: Option<PublishedRelease>,
}

/// The facts about a policy that telemetry reports.
#[derive(Clone, Debug)]
pub(super) struct PolicyFacts {
    pub(super) digest: String,
    pub(super) inputs: Vec<String>,
    pub(super) output: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// The exit code of the process; zero means that a release is published.
    pub exit_code: u8,
    /// The message for people, if it failed.
    pub error: Option<&'a str>,
    /// Whether it was stopped from outside.
    pub stopped: bool,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    pub(super) job: String,
    pub(super) run_id: String,
    pub(super) start: SystemTime,
    pub(super) time: Duration,
    pub(super) stages: Vec<(Stage, Duration)>,
    pub(super) policy: Option<PolicyFacts>,
    pub(super) origins: Option<ColumnOrigins>,
    /// None, unless the run has succeeded.
    pub(super) released: Option<PublishedRelease>,
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) ending: Ending<'a>,
}

impl Recorder {
    /// A recorder for a run that begins now, of the job of this name.
    pub fn new(job: impl Into<String>) -> Self {
        Self { job: job.into(), start: SystemTime::now(), clock: Instant::now(), known: Mutex::default() }
    }

    /// A run begins under this name.
    pub(crate) fn started(&self, run_id: &str) {
        self.known().run_id = Some(run_id.to_owned());
    }

    /// The policy fits the input; the origin of each column of the release is known.
    pub(crate) fn bound(&self, origins: ColumnOrigins) {
        self.known().origins = Some(origins);
    }

    /// A stage begins.
    pub(crate) fn begin(&self, stage: Stage) {
        self.known().stages.begin(stage);
    }

    /// The policy is understood.
    pub fn policy(&self, policy: &Policy) {
        let facts = PolicyFacts {
            // A run without a secret ends with an error that says so.
            digest: policy_digest(policy).unwrap_or_default(),
            inputs: policy.input.locations.clone(),
            output: policy.output.location.clone(),
        };
        self.known().policy = Some(facts);
    }

    /// A release is published.
    pub fn released(&self, released: &PublishedRelease) {
        self.known().released = Some(released.clone());
    }

    /// The run as it is at its end.
    pub fn record<'a>(&self, ending: Ending<'a>) -> Record<'a> {
        let RecordedRun { run_id, policy, origins, stages, released } = self.known().clone();
        Record {
            job: self.job.clone(),
            // A run that failed before it had a name gets one here.
            run_id: run_id.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string()),
            start: self.start,
            time: self.clock.elapsed(),
            stages: stages.so_far(),
            policy,
            origins,
            released: released.filter(|_| ending.exit_code == 0),
            peak_memory_bytes: peak_memory_bytes(),
            ending,
        }
    }

    fn known(&self) -> MutexGuard<'_, RecordedRun> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record<'_> {
    pub(super) fn succeeded(&self) -> bool {
        self.ending.exit_code == 0
    }

    pub(super) fn end(&self) -> SystemTime {
        self.start + self.time
    }
}
