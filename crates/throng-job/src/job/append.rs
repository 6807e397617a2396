//! Appends the rows of new input files to a release, in separate files.
//!
//! # The promise
//!
//! The files of an append show which rows arrived together, so the intruder is assumed to know when a row arrived: the rows
//! of each append satisfy the models on their own, in distinct units where the policy names a unit. A promise against
//! someone who does not know it would let a few new rows join the classes of earlier ones, and someone who compares the
//! files would see those few. Such a promise could be kept only by rewriting all files in one order, and only against
//! someone who has not kept the earlier ones.
//!
//! The union satisfies the models too: rows with equal released values, of several appends, are a union of classes that
//! satisfy the models, and every model that is allowed here is closed under union.

use std::time::Duration;

use throng_core::key::ReleaseKey;
use throng_policy::{Mode, Policy, delta_table};
use throng_report::document::{AppendFacts, AppendTotals, RunFacts};
use tracing::Instrument;

use super::appendable::appendable;
use super::{
    CommittedWith, JobOptions, PublishedRelease, StagedRelease, anonymize, begin_run, output_of, publish, run_facts,
    unless_stopped,
};
use crate::distributed::Cluster;
use crate::error::{JobError, Kind};
use crate::input::{AppendCandidates, NewFiles, find_new};
use crate::manifest::{AppendedInputs, Manifest};
use crate::publish::{AppendTarget, Staged, complete_existing};
use crate::series::existing_release;
use crate::store_path::StorePath;
use crate::write::hexadecimal;

/// What an append has added, and the release that stands after it.
#[derive(Clone, Debug)]
pub struct AppendOutcome {
    /// Output location.
    pub location: String,
    /// The rows that were added; `None` if there were no new files.
    pub release: Option<PublishedRelease>,
    /// Number of input files that were added.
    pub new_files: u64,
    /// Number of input files that the release had already.
    pub known_files: u64,
    /// Number of input files that are deferred, because they were written a moment ago.
    pub young_files: u64,
    /// Manifest of the current release; `None` if there is none.
    pub manifest: Option<Manifest>,
}

/// Releases the rows of the input files that the release at the output does not have yet, as more files of that release. Local
/// files are deferred until nothing has been written to them for `settle`.
///
/// Nothing is appended, and an error is returned, if the new rows alone can't satisfy the policy: their files stay new, and are
/// released together with later ones.
pub async fn append(policy: &Policy, options: &JobOptions, settle: Duration) -> Result<AppendOutcome, JobError> {
    append_with(policy, options, None, settle).await
}

/// Appends as [`append`] does, with the same files, on a compute cluster. The options apply to the driver, which alone reads and
/// writes the manifest.
pub async fn append_on(cluster: &Cluster, policy: &Policy, options: &JobOptions) -> Result<AppendOutcome, JobError> {
    append_with(policy, options, Some(cluster), Duration::ZERO).await
}

async fn append_with(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    settle: Duration,
) -> Result<AppendOutcome, JobError> {
    if policy.output.mode != Mode::Append {
        let text = "to append, set `mode = \"append\"` under [output]";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    if options.table.is_some() {
        let text = "an append recognizes new rows by their files, and a table of the host has none";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let output = output_of(policy, false)?;
    let append = Append { policy, options, cluster, output: &output, key: policy.release_key()? };
    if policy.privacy.guards.max_rows_change.is_some() {
        let text = "`max_rows_change` compares whole releases, and an append has new rows only; use `min_rows`";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    if policy.input.locations.iter().any(|location| delta_table(location).is_some()) {
        let text = "files are appended from, and the input is a Delta table; use `mode = \"overwrite\"`";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let found = AppendCandidates::of(policy, settle).await?;
    if let Some(existing) = append.existing().await?
        && let Some(inputs) = &existing.appended
        && found.are_known(&inputs.files, policy.input.csv, append.key)
    {
        complete_existing(&output, &existing).await;
        return Ok(append.nothing_new(Some(existing), found.len(), found.young));
    }
    let run_id = begin_run(options);
    let span = tracing::info_span!("append", %run_id);
    append.run(found, run_id).instrument(span).await
}

struct Append<'a> {
    policy: &'a Policy,
    options: &'a JobOptions,
    cluster: Option<&'a Cluster>,
    output: &'a StorePath,
    key: ReleaseKey,
}

impl Append<'_> {
    /// Returns the manifest of the current release, if rows may be added to it.
    async fn existing(&self) -> Result<Option<Manifest>, JobError> {
        appendable(self.output, self.policy).await
    }

    fn nothing_new(&self, manifest: Option<Manifest>, known_files: u64, young_files: u64) -> AppendOutcome {
        let location = self.output.to_string();
        AppendOutcome { location, release: None, new_files: 0, known_files, young_files, manifest }
    }

    async fn run(&self, found: AppendCandidates, run_id: String) -> Result<AppendOutcome, JobError> {
        let Self { policy, options, output, .. } = *self;
        let young = found.young;
        let staged = Staged::begin_for(output, policy, &run_id).await?;
        let run = run_facts(policy, run_id)?;
        let prepared = unless_stopped(options, self.prepare(found, &staged, &run)).await;
        let (staged, (existing, known, prepared)) = staged.or_abandon(prepared).await?;
        let Some((ready, onto, new_files)) = prepared else {
            staged.abandon().await;
            if let Some(existing) = &existing {
                complete_existing(output, existing).await;
            }
            return Ok(self.nothing_new(existing, known, young));
        };
        let release = publish(ready, staged, &run, output.to_string(), CommittedWith::EarlierFiles(onto)).await?;
        tracing::info!(new_files, known_files = known, "rows of new files appended");
        let manifest = existing_release(output).await.ok().flatten();
        let location = output.to_string();
        Ok(AppendOutcome {
            location,
            release: Some(release),
            new_files,
            known_files: known,
            young_files: young,
            manifest,
        })
    }

    /// Stages the rows of new files. The current release is read after the staging began, so that a release committed
    /// in between makes the commit fail.
    async fn prepare(
        &self,
        found: AppendCandidates,
        staged: &Staged,
        run: &RunFacts,
    ) -> Result<PreparedAppend, JobError> {
        let existing = self.existing().await?;
        let inputs = existing.as_ref().and_then(|manifest| manifest.appended.clone()).unwrap_or_default();
        let new = find_new(found, &inputs.files, self.policy.input.csv, self.key).await?;
        let known = new.known;
        if new.files.is_empty() {
            return Ok((existing, known, None));
        }
        let (count, entries) = (new.files.len() as u64, new.entries.clone());
        let new = NewFiles { entries: Vec::new(), ..new };
        let mut ready = anonymize(self.policy, self.options, self.cluster, staged, run, Some(new)).await?;
        // Appended files are listed one by one instead.
        ready.input_digest = None;
        let columns =
            hexadecimal(&self.key.derive("appended columns", ready.read_back.columns().as_bytes()).to_bytes());
        if inputs.appends > 0 && inputs.columns != columns {
            let text = format!(
                "the new files would be released with other columns or types than those of {}; write them with the types of the \
                 earlier ones",
                self.output
            );
            return Err(JobError::new(Kind::BadData, text));
        }
        let before = if inputs.appends == 0 { Some(AppendTotals::default()) } else { inputs.totals };
        let totals = before.map(|before| before.plus(totals_of(&ready)));
        let files = [inputs.files, entries].concat();
        let inputs = AppendedInputs { appends: inputs.appends + 1, columns, files, totals };
        let kept = existing.as_ref().map(|manifest| manifest.files.clone()).unwrap_or_default();
        let output = &ready.sidecar.output;
        ready.sidecar.append = Some(AppendFacts {
            appends: inputs.appends,
            input_files: inputs.files.len() as u64,
            rows: kept.iter().map(|file| file.rows).sum::<u64>() + output.rows,
            files: kept.len() as u64 + output.files,
            bytes: kept.iter().map(|file| file.bytes).sum::<u64>() + output.bytes,
            totals,
        });
        Ok((existing, known, Some((ready, AppendTarget { kept, inputs }, count))))
    }
}

/// Returns the amounts that an append adds to the sums.
fn totals_of(ready: &StagedRelease) -> AppendTotals {
    let sidecar = &ready.sidecar;
    AppendTotals {
        input_rows: sidecar.input.rows,
        suppressed_rows: sidecar.output.suppressed_rows,
        classes: sidecar.utility.classes,
    }
}

/// The current release, the number of its files, and the rows of new files with their number.
type PreparedAppend = (Option<Manifest>, u64, Option<(StagedRelease, AppendTarget, u64)>);
