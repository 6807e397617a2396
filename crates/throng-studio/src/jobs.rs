//! Check, try and release: the code of the commands, with progress and a way to stop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throng::throng_policy::highest_risk;
use throng::{Overrides, Policy};
use throng_job::{
    Checked, JobError, JobOptions, Progress, PublishedRelease, Sidecar, Stage, Stopper, verify_release_with,
};

use crate::state::StudioState;

/// Interval at which the progress of a job is polled.
const TICK: Duration = Duration::from_millis(150);

/// What a job does with the policy of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// `throng check`
    Check,
    /// A release that is verified and not written.
    Try,
    /// `throng run`, then `throng verify`.
    Release {
        /// Replaces a release that exists.
        overwrites: bool,
    },
}

/// A job that runs or has ended.
#[derive(Debug)]
pub(crate) struct StudioJob {
    /// Number of the job, used to detect stale ones.
    pub(crate) number: u64,
    pub(crate) kind: JobKind,
    pub(crate) progress: Arc<JobProgress>,
    /// Stops the job; absent when it has ended.
    pub(crate) stop: Option<Stopper>,
    /// How it ended.
    pub(crate) outcome: Option<Result<JobResult, String>>,
    /// The document of its release.
    pub(crate) sidecar: Option<Arc<Sidecar>>,
}

/// Result of a job that succeeded.
#[derive(Clone, Debug)]
pub(crate) enum JobResult {
    Checked {
        checked: Box<Checked>,
        k: u64,
        p: u64,
    },
    Tried,
    /// Location of the release, its number of files, and the number of classes that `verify` has counted.
    Released {
        location: String,
        files: usize,
        classes: u64,
    },
}

/// Stage of a job and its units of work.
#[derive(Debug, Default)]
pub(crate) struct JobProgress {
    stage: Mutex<Option<(Stage, Option<u64>)>>,
    done: AtomicU64,
}

impl JobProgress {
    /// Returns the name of the stage, and the share of it that is done, if known.
    pub(crate) fn now(&self) -> Option<(&'static str, Option<f64>)> {
        let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let (stage, total) = stage?;
        let done = self.done.load(Ordering::Relaxed) as f64;
        Some((stage.as_str(), total.filter(|total| *total > 0).map(|total| (done / total as f64).min(1.0))))
    }
}

impl Progress for JobProgress {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        self.done.store(0, Ordering::Relaxed);
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some((stage, total));
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
}

/// Starts a job on the project that the page shows. A check and a release read the policy file, so the text is saved before.
pub(crate) fn start(state: &Arc<StudioState>, kind: JobKind) -> Result<(), String> {
    let progress = Arc::new(JobProgress::default());
    let (options, stopper) = state.job_options(Arc::clone(&progress) as Arc<dyn Progress>);
    let (id, number, file) = {
        let mut desk = state.desk();
        let project = desk.shown_mut().ok_or("no table is open")?;
        if project.job.as_ref().is_some_and(|job| job.stop.is_some()) {
            return Err("a job is running; stop it first".to_owned());
        }
        let number = project.job.as_ref().map_or(0, |job| job.number + 1);
        project.job = Some(StudioJob { number, kind, progress, stop: Some(stopper), outcome: None, sidecar: None });
        // Leave the machine to the job; figures resume with the next change.
        project.live.restart();
        project.live.doing = None;
        (project.id, number, project.file.clone())
    };
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let running = run(kind, &file, &options);
        let mut running = std::pin::pin!(running);
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                () = tokio::time::sleep(TICK) => state.publish(),
            }
        };
        state.with_project(id, |project| {
            if let Some(job) = project.job.as_mut().filter(|job| job.number == number) {
                job.stop = None;
                match ended {
                    Ok((result, sidecar)) => {
                        job.outcome = Some(Ok(result));
                        job.sidecar = sidecar.map(Arc::new);
                    }
                    Err(error) => job.outcome = Some(Err(error.to_string())),
                }
            }
        });
        state.publish();
    });
    Ok(())
}

async fn run(
    kind: JobKind,
    file: &std::path::Path,
    options: &JobOptions,
) -> Result<(JobResult, Option<Sidecar>), JobError> {
    let overwrites = matches!(kind, JobKind::Release { overwrites: true });
    let policy = Policy::load(file, &Overrides { overwrite: overwrites, ..Overrides::default() })?;
    match kind {
        JobKind::Check => {
            let stopped = || JobError::new(throng_job::Kind::Stopped, "stopped");
            let checked = tokio::select! {
                biased;
                () = options.stop.asked() => Err(stopped()),
                checked = throng_job::check(&policy, options) => checked,
            }?;
            let (k, p) = (policy.privacy.k, policy.privacy.p);
            Ok((JobResult::Checked { checked: Box::new(checked), k, p }, None))
        }
        JobKind::Try => {
            let sidecar = throng_job::rehearse(&policy, options).await?;
            Ok((JobResult::Tried, Some(sidecar)))
        }
        JobKind::Release { .. } => {
            let PublishedRelease { location, sidecar, files, .. } = throng_job::run(&policy, options).await?;
            let (promise, columns) = policy.promise();
            let found =
                verify_release_with(std::slice::from_ref(&location), promise, Some(&columns), &policy.store, options)
                    .await?;
            if !found.holds() {
                let text = "the release was published, and its verification failed: do not hand it out";
                return Err(JobError::new(throng_job::Kind::Verification, text));
            }
            let result = JobResult::Released { location, files: files.len(), classes: found.classes };
            Ok((result, Some(sidecar)))
        }
    }
}

impl JobKind {
    /// Returns the name of the job on the page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Check => "Check",
            Self::Try => "Try",
            Self::Release { .. } => "Release",
        }
    }
}

/// Returns the highest risk that k allows, as in `throng check`.
pub(crate) fn risk_of(k: u64) -> f64 {
    highest_risk(k)
}
