//! From verified files to a published release: the last step of every kind of job.

use std::sync::Arc;

use throng_report::document::{RunFacts, Sidecar};
use tracing::Instrument;

use super::{JobOptions, PublishedRelease};
use crate::error::{JobError, Kind};
use crate::progress::Stage;
use crate::publish::{AppendTarget, InputIdentity, Staged};
use crate::readback::ReadBack;
use crate::resources::peak_memory_bytes;
use crate::series::StagedLedger;
use crate::stage_timer::StageTimer;

/// A release that is ready to be published.
pub(crate) struct StagedRelease {
    pub(crate) sidecar: Sidecar,
    pub(crate) read_back: ReadBack,
    pub(crate) input_digest: Option<String>,
    pub(crate) clock: Arc<StageTimer>,
    pub(crate) warnings: Vec<String>,
}

/// What is committed together with the files of a release.
pub(crate) enum CommittedWith<'a> {
    Nothing,
    /// The files of the current release, which stay.
    EarlierFiles(AppendTarget),
    /// The ledger of a series.
    Ledger(StagedLedger<'a>),
}

/// Returns the id of a new run, after announcing the run to telemetry.
pub(crate) fn begin_run(options: &JobOptions) -> String {
    let run_id = uuid::Uuid::new_v4().simple().to_string();
    if let Some(recorder) = &options.recorder {
        recorder.started(&run_id);
    }
    run_id
}

/// Runs a part of a job until the job is stopped.
pub(crate) async fn unless_stopped<T>(
    options: &JobOptions,
    work: impl Future<Output = Result<T, JobError>>,
) -> Result<T, JobError> {
    tokio::select! {
        biased;
        () = options.stop.asked() => Err(JobError::new(Kind::Stopped, "stopped; nothing was published")),
        done = work => done,
    }
}

/// Commits a staged release. On an error nothing is visible, and the staging is removed.
pub(crate) async fn publish(
    ready: StagedRelease,
    staged: Staged,
    run: &RunFacts,
    location: String,
    with: CommittedWith<'_>,
) -> Result<PublishedRelease, JobError> {
    let StagedRelease { mut sidecar, read_back, input_digest, clock, warnings } = ready;
    let span = clock.begin(Stage::Publish, None);
    let input = InputIdentity { digest: input_digest, version: sidecar.input.version };
    // The sidecar is itself published, so its times end at the moment it is written.
    let mut finish = || {
        sidecar.set_times(&clock.times());
        sidecar.resources.peak_memory_bytes = peak_memory_bytes();
        sidecar.clone()
    };
    let files = async {
        let (onto, ledger) = match with {
            CommittedWith::Nothing => (None, None),
            CommittedWith::EarlierFiles(onto) => (Some(onto), None),
            CommittedWith::Ledger(ledger) => (None, Some(ledger)),
        };
        if let Some(ledger) = &ledger
            && let Err(error) = ledger.write().await
        {
            staged.abandon().await;
            return Err(error);
        }
        let verified = staged.verified(read_back);
        let verified = match onto {
            Some(onto) => verified.appending(onto),
            None => verified,
        };
        let committed = verified.commit(run, input, &mut finish).await?;
        if let Some(ledger) = ledger {
            ledger.committed(&run.run_id).await;
        }
        Ok::<_, JobError>(committed.clean().await)
    }
    .instrument(span)
    .await?;
    tracing::info!(files = files.len(), rows = sidecar.output.rows, "release published");
    Ok(PublishedRelease { location, sidecar, files, warnings })
}
