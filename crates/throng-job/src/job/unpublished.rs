//! A release that stays in this process until the host publishes it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use throng_core::exposure::InsensitiveExposure;
use throng_core::verify::Findings;
use throng_datafusion::{Anonymizer, Release, Verification, VerifiedTable};
use throng_policy::{Mode, Output, OutputFormat, Policy};
use throng_report::document::{OutputFacts, RunFacts, Sidecar};
use tracing::Instrument;

use super::{
    BoundJob, CommittedWith, DescribedRelease, JobOptions, PublishedRelease, StagedRelease, bind, digest_of_input,
    failure, output_facts, output_of, publish, run_facts, sampled_identifiers, unless_stopped, write_rows,
};
use crate::column_warnings::{RepeatingIdentifier, warnings_of};
use crate::delta::check_releasable;
use crate::error::{JobError, Kind};
use crate::guards::DeliveryGuards;
use crate::input::InputDescription;
use crate::lab::{ExaminedRelease, ReleaseGate};
use crate::progress::{Progress, Stage};
use crate::publish::Staged;
use crate::readback::{StagedFiles, read_back};
use crate::session::session;
use crate::stage_timer::{StageTimer, StageTimes};
use crate::write::{ROW_GROUP_ROWS, with_field_roles};

/// Rows of a batch that a host receives.
const BATCH_ROWS: usize = 1 << 16;

/// A verified release whose rows are held by this process, in memory or in temporary files, until it is dropped.
pub struct UnpublishedRelease {
    policy: Policy,
    release: Arc<Release>,
    anonymizer: Arc<Anonymizer>,
    findings: Findings,
    exposure: Option<InsensitiveExposure>,
    /// Identifiers that repeat in the first rows of the input.
    repeating: Vec<RepeatingIdentifier>,
    /// Measurements taken before the host received the release: the same rows are published.
    examined: ExaminedRelease,
    input: InputDescription,
    input_digest: Option<String>,
    sidecar: Sidecar,
    times: (StageTimes, Duration),
    threads: usize,
    /// Whether the input was a table of the host.
    is_of_host: bool,
}

/// Shows counts and no rows.
impl fmt::Debug for UnpublishedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnpublishedRelease").field("rows", &self.findings.rows).finish_non_exhaustive()
    }
}

/// Anonymizes the table of the options, or else the input of a policy, and verifies all rows. Publishes nothing. Refuses a policy with
/// a series, whose ledger must record every release that anyone sees.
pub async fn make_release(policy: &Policy, options: &JobOptions) -> Result<UnpublishedRelease, JobError> {
    if policy.series.is_some() {
        let text = "a release of a series is made and published in one run, which reads the ledger and writes it";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    make_unseen(policy, options).await
}

/// Makes a release as [`make_release`] does, for a caller that shows none of its rows.
pub(crate) async fn make_unseen(policy: &Policy, options: &JobOptions) -> Result<UnpublishedRelease, JobError> {
    let run_id = uuid::Uuid::new_v4().simple().to_string();
    let span = tracing::info_span!("run", %run_id);
    unless_stopped(options, make(policy, options, run_id).instrument(span)).await
}

async fn make(policy: &Policy, options: &JobOptions, run_id: String) -> Result<UnpublishedRelease, JobError> {
    let clock = Arc::new(StageTimer::start(options));
    let session = session(options)?;
    let BoundJob { input, table } = bind(policy, &session, options).await?;
    let anonymizer = Arc::clone(table.anonymizer());
    let gate = ReleaseGate::open(policy, &session, &input).await?;
    let repeating = sampled_identifiers(policy, &anonymizer, input.as_ref(), &session, options).await;
    let table = table.with_progress(Arc::clone(&clock) as Arc<dyn Progress>).with_external_verification();
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
    let release = match plan.release(session.task_ctx()).await {
        Err(error) => return Err(failure(error, &table, input.as_ref(), &session).await),
        Ok(release) => release,
    };
    input.check_unchanged().await?;
    input.check_rows(release.facts().rows_read)?;
    let guards = DeliveryGuards::without_output(policy);
    guards.check_facts(release.facts())?;

    let span = clock.begin(Stage::Verify, Some(release.rows()));
    let VerifiedTable { findings, exposure, .. } = verify(&release, &anonymizer, options).instrument(span).await?;
    let examined = gate.examine_release(&release).await?;
    let times = clock.pause();

    let facts = release.facts().clone();
    // There are no files yet.
    let output = OutputFacts { rows: release.rows(), suppressed_rows: facts.suppressed, ..OutputFacts::default() };
    let input_digest = digest_of_input(policy, input.as_ref())?;
    let run = run_facts(policy, run_id)?;
    let input = input.describe();
    let verified = DescribedRelease {
        policy,
        anonymizer: &anonymizer,
        guards: &guards,
        input: &input,
        output,
        facts,
        findings: &findings,
        exposure: exposure.as_ref(),
        examined: examined.clone(),
        threads: options.threads,
        cluster: None,
    };
    let mut sidecar = verified.sidecar(&run);
    sidecar.set_times(&clock.times());
    sidecar.privacy.repeating_identifiers = repeating.len() as u64;
    let (policy, threads) = (policy.clone(), options.threads);
    Ok(UnpublishedRelease {
        policy,
        release,
        anonymizer,
        findings,
        exposure,
        repeating,
        examined,
        input,
        input_digest,
        sidecar,
        times,
        threads,
        is_of_host: options.table.is_some(),
    })
}

/// Recomputes the promise of the policy from the released rows, and compares counts and checksum.
async fn verify(
    release: &Arc<Release>,
    anonymizer: &Anonymizer,
    options: &JobOptions,
) -> Result<VerifiedTable, JobError> {
    let refused = |what: &str| {
        Err(JobError::new(Kind::Verification, format!("the release was refused before any of it was given: {what}")))
    };
    let verification = Verification::of(anonymizer).with_progress(Arc::clone(&options.observer));
    let schema = release.schema_with_units();
    let rows = release.stream_with_units(BATCH_ROWS, options.threads);
    let rows: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), rows));
    let Some(verified) = verification.expecting_contiguous_classes().run(&schema, vec![rows]).await? else {
        return refused("its classes do not lie together");
    };
    if let Some(refusal) = release.facts().refusal(&verified) {
        return refused(refusal);
    }
    verified.check_exposure(anonymizer.policy().privacy.guards.insensitive_uniqueness)?;
    tracing::info!(classes = verified.findings.classes, rows = verified.findings.rows, "release verified");
    Ok(verified)
}

impl UnpublishedRelease {
    /// Returns the schema of the release.
    pub fn schema(&self) -> SchemaRef {
        self.release.schema()
    }

    /// Returns all rows in the canonical order of the release. Every call starts at the first row.
    pub fn stream(&self) -> SendableRecordBatchStream {
        let rows = self.release.stream(BATCH_ROWS, self.threads);
        Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows))
    }

    /// Returns the schema of [`UnpublishedRelease::stream_of_views`].
    pub fn schema_of_views(&self) -> SchemaRef {
        self.release.schema_of_views()
    }

    /// Returns the same rows, with strings as views, for hosts whose tables have them: text is in memory once per batch.
    pub fn stream_of_views(&self) -> SendableRecordBatchStream {
        let rows = self.release.stream_of_views(BATCH_ROWS, self.threads);
        Box::pin(RecordBatchStreamAdapter::new(self.schema_of_views(), rows))
    }

    /// Returns the content of the sidecar, in which the release has no files yet.
    pub fn sidecar(&self) -> &Sidecar {
        &self.sidecar
    }

    /// Returns what the verifier has counted in the released values.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Returns reasons why the release may protect less than it seems to.
    pub fn warnings(&self) -> Vec<String> {
        let exposed = self.exposure.as_ref().map(InsensitiveExposure::warnings).unwrap_or_default();
        [warnings_of(&self.repeating), exposed].concat()
    }

    /// Returns the policy that the release satisfies.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Writes the release to an output location, reads it back, verifies it and publishes it, as [`run`](crate::run) does. Every
    /// publication is a separate run.
    pub async fn publish(&self, output: Output, options: &JobOptions) -> Result<PublishedRelease, JobError> {
        let mut policy = self.policy.clone();
        policy.output = output;
        if policy.output.mode == Mode::Append {
            let text = "new files of an input are appended by a run, which knows those that were released before";
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        let place = output_of(&policy, self.is_of_host)?;
        if policy.output.format == OutputFormat::Delta {
            check_releasable(self.anonymizer.schema())?;
        }
        let run_id = uuid::Uuid::new_v4().simple().to_string();
        let span = tracing::info_span!("run", %run_id);
        async {
            let staged = Staged::begin_for(&place, &policy, &run_id).await?;
            let run = run_facts(&policy, run_id)?;
            let ready = unless_stopped(options, self.stage(&policy, options, &staged, &run)).await;
            let (staged, ready) = staged.or_abandon(ready).await?;
            publish(ready, staged, &run, place.to_string(), CommittedWith::Nothing).await
        }
        .instrument(span)
        .await
    }

    /// Writes the release to its staging, and reads it back.
    async fn stage(
        &self,
        policy: &Policy,
        options: &JobOptions,
        staged: &Staged,
        run: &RunFacts,
    ) -> Result<StagedRelease, JobError> {
        let guards = DeliveryGuards::of(policy).await?;
        guards.check_facts(self.release.facts())?;
        let clock = Arc::new(StageTimer::resume(self.times.0.clone(), self.times.1, options));
        let span = clock.begin(Stage::Write, Some(self.release.rows()));
        let place = staged.place()?;
        let rows_per_file = usize::try_from(policy.output.rows_per_file).unwrap_or(usize::MAX);
        let batches = self.release.compact_stream_with_units(ROW_GROUP_ROWS, options.threads);
        let has_units = self.anonymizer.binding().unit.is_some();
        let schema = with_field_roles(&self.schema(), self.anonymizer.binding());
        let (files, units) =
            write_rows(batches, has_units, schema, &place, rows_per_file, options).instrument(span).await?;

        let facts = self.release.facts().clone();
        let span = clock.begin(Stage::Verify, Some(self.release.rows()));
        let output = output_facts(&files, &facts, staged);
        let written = StagedFiles { files, place: &place, facts: &facts, units };
        let (findings, read_back) = read_back(written, &self.anonymizer, options, None).instrument(span).await?;
        let verified = DescribedRelease {
            policy,
            anonymizer: &self.anonymizer,
            guards: &guards,
            input: &self.input,
            output,
            facts,
            findings: &findings,
            exposure: read_back.exposure(),
            examined: self.examined.clone(),
            threads: options.threads,
            cluster: None,
        };
        let mut sidecar = verified.sidecar(run);
        sidecar.privacy.repeating_identifiers = self.repeating.len() as u64;
        let (input_digest, warnings) = (self.input_digest.clone(), self.warnings());
        Ok(StagedRelease { sidecar, read_back, input_digest, clock, warnings })
    }
}

#[cfg(test)]
#[path = "unpublished_tests.rs"]
mod tests;
