//! Records a run in progress, so that it can be reported regardless of its outcome.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use throng_policy::Policy;

use super::ColumnOrigins;
use crate::job::PublishedRelease;
use crate::manifest::policy_digest;
use crate::progress::Stage;
use crate::resources::peak_memory_bytes;
use crate::stage_timer::StageTimes;

/// Records one run; pass it to the job as [`JobOptions::recorder`](crate::JobOptions::recorder).
#[derive(Debug)]
pub struct Recorder {
    job: String,
    start: SystemTime,
    clock: Instant,
    known: Mutex<RecordedRun>,
}

/// Facts about a run that are known so far.
#[derive(Clone, Debug, Default)]
struct RecordedRun {
    run_id: Option<String>,
    policy: Option<PolicyFacts>,
    origins: Option<ColumnOrigins>,
    stages: StageTimes,
    released: Option<PublishedRelease>,
}

/// Facts about a policy that telemetry reports.
#[derive(Clone, Debug)]
pub(super) struct PolicyFacts {
    pub(super) digest: String,
    pub(super) inputs: Vec<String>,
    pub(super) output: String,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// Exit code of the process; zero if a release is published.
    pub exit_code: u8,
    /// Message for users, if the run failed.
    pub error: Option<&'a str>,
    /// Whether the run was stopped from outside.
    pub stopped: bool,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    pub(super) job: String,
    pub(super) run_id: String,
    pub(super) start: SystemTime,
    pub(super) time: Duration,
    pub(super) stages: Vec<(Stage, Duration)>,
    pub(super) policy: Option<PolicyFacts>,
    pub(super) origins: Option<ColumnOrigins>,
    /// `None` unless the run has succeeded.
    pub(super) released: Option<PublishedRelease>,
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) ending: Ending<'a>,
}

impl Recorder {
    /// Returns a recorder for a run of `job` that starts now.
    pub fn new(job: impl Into<String>) -> Self {
        Self { job: job.into(), start: SystemTime::now(), clock: Instant::now(), known: Mutex::default() }
    }

    /// Records the id of the run.
    pub(crate) fn started(&self, run_id: &str) {
        self.known().run_id = Some(run_id.to_owned());
    }

    /// Records the column origins, once the policy is bound to the input.
    pub(crate) fn bound(&self, origins: ColumnOrigins) {
        self.known().origins = Some(origins);
    }

    /// Records the start of a stage.
    pub(crate) fn begin(&self, stage: Stage) {
        self.known().stages.begin(stage);
    }

    /// Records the policy, once it is parsed.
    pub fn policy(&self, policy: &Policy) {
        let facts = PolicyFacts {
            // A run without a secret fails later with an error about it.
            digest: policy_digest(policy).unwrap_or_default(),
            inputs: policy.input.locations.clone(),
            output: policy.output.location.clone(),
        };
        self.known().policy = Some(facts);
    }

    /// Records the published release.
    pub fn released(&self, released: &PublishedRelease) {
        self.known().released = Some(released.clone());
    }

    /// Returns the record of the run at its end.
    pub fn record<'a>(&self, ending: Ending<'a>) -> Record<'a> {
        let RecordedRun { run_id, policy, origins, stages, released } = self.known().clone();
        Record {
            job: self.job.clone(),
            // A run that failed before it had an id gets one here.
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
