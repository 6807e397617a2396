//! `throng run`: the stages of a job, in order.

mod append;
mod appendable;
mod facts;
mod linked_run;
mod publication;
mod unpublished;

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use futures::Stream;
use throng_core::columns::BLOCK_COLUMN;
use throng_core::exposure::InsensitiveExposure;
use throng_datafusion::{AnonymizedTable, Anonymizer};
use throng_policy::{Mode, OutputFormat, Policy, PopulationSource, delta_table};
use throng_report::document::{RunFacts, Sidecar};
use tracing::Instrument;

pub use append::{AppendOutcome, append, append_on};
pub(crate) use facts::{DescribedRelease, output_facts, run_facts};
use linked_run::anonymize_linked;
pub(crate) use linked_run::warning as pseudonym_warning;
pub(crate) use publication::{CommittedWith, StagedRelease, begin_run, publish, unless_stopped};
pub(crate) use unpublished::make_unseen;
pub use unpublished::{UnpublishedRelease, make_release};

use crate::column_warnings::{RepeatingIdentifier, SAMPLED_ROWS, repeating_identifiers, warnings_of};
use crate::delta::check_releasable;
use crate::distributed::{Cluster, StagedFacts, release_on};
use crate::error::{JobError, Kind};
use crate::guards::{DeliveryGuards, check_types};
use crate::input::{self, JobInput, NewFiles};
use crate::lab::ReleaseGate;
use crate::manifest::{FileEntry, input_digest};
use crate::progress::{NoProgress, Progress, Stage};
use crate::publish::Staged;
use crate::readback::{StagedFiles, read_back};
use crate::series::run_series;
use crate::session::session;
use crate::stage_timer::StageTimer;
use crate::staged_units::StagedUnits;
use crate::stop::{Stop, Stopper};
use crate::store_path::{Location, StorePath};
use crate::telemetry::{ColumnOrigins, Recorder};
use crate::write::{ROW_GROUP_ROWS, check_writable, with_field_roles, write};

/// Execution options of a job. They do not affect its result, except for the table that is read.
#[derive(Clone)]
pub struct JobOptions {
    /// Number of streams that are read concurrently. Computation uses rayon's global pool.
    pub threads: usize,
    /// Memory limit of the process in bytes.
    pub memory_limit: Option<u64>,
    /// Receives progress.
    pub observer: Arc<dyn Progress>,
    /// Records the run for telemetry.
    pub recorder: Option<Arc<Recorder>>,
    /// Stops the job.
    pub stop: Stop,
    /// A table of the host, which is read in place of the locations of a policy or a call.
    pub table: Option<Arc<dyn TableProvider>>,
    /// Whether that table is in memory, so that its first rows can be read once more for warnings. Others may cost a query.
    pub is_table_in_memory: bool,
}

impl Default for JobOptions {
    /// All cores, no memory limit, no observer, never stopped, and no table of the host.
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_limit: None,
            observer: Arc::new(NoProgress),
            recorder: None,
            stop: Stopper::new().1,
            table: None,
            is_table_in_memory: false,
        }
    }
}

/// A published release.
#[derive(Clone, Debug)]
pub struct PublishedRelease {
    /// Output location.
    pub location: String,
    /// Content of `_throng/metrics.json`.
    pub sidecar: Sidecar,
    /// Data files.
    pub files: Vec<FileEntry>,
    /// Reasons why the release may protect less than it seems to.
    pub warnings: Vec<String>,
}

/// Anonymizes the input of a policy, verifies the release and publishes it.
pub async fn run(policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
    run_with(policy, options, None).await
}

/// Runs the job on a compute cluster, with the same release as [`run`]. The options apply to the driver.
pub async fn run_on(cluster: &Cluster, policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
    run_with(policy, options, Some(cluster)).await
}

/// Begins a new series of releases under a policy with `mode = "series"`. The release is checked against none before it.
pub async fn rebase(policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
    rebase_with(policy, options, None).await
}

/// Begins a new series as [`rebase`] does, with the same release, on a compute cluster.
pub async fn rebase_on(cluster: &Cluster, policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
    rebase_with(policy, options, Some(cluster)).await
}

async fn rebase_with(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
) -> Result<PublishedRelease, JobError> {
    if policy.series.is_none() {
        let text = "a policy without [series] has no series to begin; set `mode = \"series\"` under [output]";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    run_series(policy, options, cluster, true).await
}

async fn run_with(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
) -> Result<PublishedRelease, JobError> {
    if policy.series.is_some() {
        return run_series(policy, options, cluster, false).await;
    }
    if policy.output.mode == Mode::Append {
        let appended = match cluster {
            None => append(policy, options, Duration::ZERO).await?,
            Some(cluster) => append_on(cluster, policy, options).await?,
        };
        let nothing_new = || JobError::new(Kind::NoInput, format!("{} has all files of the input", appended.location));
        return appended.release.ok_or_else(nothing_new);
    }
    let run_id = begin_run(options);
    let span = tracing::info_span!("run", %run_id);
    async {
        if let Some(preset) = policy.privacy.preset {
            tracing::info!(preset = preset.as_str(), k = policy.privacy.k, "{}", preset.description(policy.privacy.k));
        }
        let output = output_of(policy, options.table.is_some())?;
        let staged = Staged::begin_for(&output, policy, &run_id).await?;
        let run = run_facts(policy, run_id)?;
        let ready = unless_stopped(options, anonymize_tables(policy, options, cluster, &staged, &run)).await;
        let (staged, ready) = staged.or_abandon(ready).await?;
        publish(ready, staged, &run, output.to_string(), CommittedWith::Nothing).await
    }
    .instrument(span)
    .await
}

/// Anonymizes the input of a policy, or with pseudonyms all tables that they link.
async fn anonymize_tables(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    staged: &Staged,
    run: &RunFacts,
) -> Result<StagedRelease, JobError> {
    match (policy.pseudonym_column(), cluster) {
        (None, _) => anonymize(policy, options, cluster, staged, run, None).await,
        (Some(_), None) => anonymize_linked(policy, options, staged, run).await,
        (Some(_), Some(_)) => {
            let text = "rows are linked by pseudonyms in one process; run the job without --cluster";
            Err(JobError::new(Kind::BadPolicy, text))
        }
    }
}

/// Returns the output location, after checking that it does not overlap the locations of the input. A table of the host has none.
fn output_of(policy: &Policy, is_of_host: bool) -> Result<StorePath, JobError> {
    let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
    if !is_of_host {
        let tables = policy.linked_tables();
        for location in tables.iter().flat_map(|(_, table)| &table.input.locations) {
            let location = delta_table(location).unwrap_or(location);
            check_no_overlap(&Location::parse_with(location, &policy.store)?.place, &output)?;
        }
    }
    Ok(output)
}

/// Returns an error if the output overlaps the input, which publishing must never touch.
pub(crate) fn check_no_overlap(input: &StorePath, output: &StorePath) -> Result<(), JobError> {
    if input.overlaps(output) {
        let text = format!("the output {output} and the input {input} overlap; choose an output outside of the input");
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    Ok(())
}

async fn anonymize(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    staged: &Staged,
    run: &RunFacts,
    new_files: Option<NewFiles>,
) -> Result<StagedRelease, JobError> {
    let clock = Arc::new(StageTimer::start(options));
    let session = session(options)?;
    let is_append = new_files.is_some();
    let input = match new_files {
        Some(files) => input::open_files(policy, &session, files).await?,
        None => input::open(policy, &session, options).await?,
    };
    let BoundJob { input, table } = bind_input(policy, &session, input)?;
    if let Some(recorder) = &options.recorder {
        recorder.bound(ColumnOrigins::of(table.anonymizer()));
    }
    #[cfg(feature = "leaky")]
    crate::leaky::look(input.as_ref());
    let anonymizer = Arc::clone(table.anonymizer());
    check_distributable(cluster, input.as_ref())?;
    if is_append && input.expected_rows() == Some(0) {
        let text = "the new files have no rows; they wait until there are files with enough rows to satisfy the policy";
        return Err(JobError::new(Kind::Infeasible, text));
    }
    let guards = DeliveryGuards::of(policy).await?;
    guards.check_declared(input.expected_rows())?;
    let gate = ReleaseGate::open(policy, &session, &input).await?;
    let repeating = sampled_identifiers(policy, &anonymizer, input.as_ref(), &session, options);
    let staging = async {
        match cluster {
            None => {
                let place = staged.place()?;
                run_local(policy, options, &clock, &session, input.as_ref(), table, &place, &guards).await
            }
            Some(cluster) => {
                let rows = input.rows(&cluster.session)?.into_view();
                let place = staged.attempts()?;
                let made = release_on(cluster, rows, &anonymizer, &place, policy.output.rows_per_file, &clock).await;
                // If the input changed while it was read, that is reported first: rows may only seem to be lost.
                input.check_unchanged().await?;
                let made = made?;
                input.check_rows(made.facts.rows_read)?;
                guards.check_facts(&made.facts)?;
                Ok(StagedFacts { files: staged.take(made.files).await?, ..made })
            }
        }
    };
    let (repeating, staged_facts) = tokio::join!(repeating, staging);
    let StagedFacts { facts, files, units, cluster: of_cluster } = staged_facts?;

    let span = clock.begin(Stage::Verify, Some(facts.rows_read - facts.suppressed));
    let output = output_facts(&files, &facts, staged);
    let place = staged.place()?;
    let staged_files = files.clone();
    let written = StagedFiles { files, place: &place, facts: &facts, units };
    let (findings, read_back) = read_back(written, &anonymizer, options, cluster).instrument(span).await?;
    let examined = gate.examine_files(&place, &staged_files).await?;
    let verified = DescribedRelease {
        policy,
        anonymizer: &anonymizer,
        guards: &guards,
        input: &input.describe(),
        output,
        facts,
        findings: &findings,
        exposure: read_back.exposure(),
        examined,
        threads: options.threads,
        cluster: of_cluster,
    };
    let mut sidecar = verified.sidecar(run);
    sidecar.privacy.repeating_identifiers = repeating.len() as u64;
    let exposed = read_back.exposure().map(InsensitiveExposure::warnings).unwrap_or_default();
    let warnings = [warnings_of(&repeating), exposed].concat();
    #[cfg(feature = "leaky")]
    let sidecar = Sidecar { throng_version: crate::leaky::version(), ..sidecar };
    let input_digest = digest_of_input(policy, input.as_ref())?;
    Ok(StagedRelease { sidecar, read_back, input_digest, clock, warnings })
}

/// Returns the identifiers that repeat in the first rows of the input, unless reading a table of the host again may cost a query.
async fn sampled_identifiers(
    policy: &Policy,
    anonymizer: &Anonymizer,
    input: &dyn JobInput,
    session: &SessionContext,
    options: &JobOptions,
) -> Vec<RepeatingIdentifier> {
    if options.table.is_some() && !options.is_table_in_memory {
        return Vec::new();
    }
    repeating_identifiers(policy, anonymizer.binding(), input, session, Some(SAMPLED_ROWS)).await
}

/// Returns an error if a compute cluster would have to read an input that only this process can.
pub(crate) fn check_distributable(cluster: Option<&Cluster>, input: &dyn JobInput) -> Result<(), JobError> {
    if cluster.is_some() && !input.is_distributable() {
        let text = "an input with partition columns is read in one process; run the job without --cluster";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    Ok(())
}

/// Returns the digest by which a later run recognizes that nothing has changed. It does not cover the version of a population
/// table, so a run with one has no digest.
fn digest_of_input(policy: &Policy, input: &dyn JobInput) -> Result<Option<String>, JobError> {
    let population = policy.privacy.population.as_ref().map(|population| &population.source);
    match (population, input.fingerprint()) {
        (Some(PopulationSource::Table(_)), _) | (_, None) => Ok(None),
        (_, Some(fingerprint)) => Ok(Some(input_digest(policy, fingerprint)?)),
    }
}

/// Creates a staged release in this process.
#[expect(clippy::too_many_arguments, reason = "the state of a job, in the order of its stages")]
async fn run_local(
    policy: &Policy,
    options: &JobOptions,
    clock: &Arc<StageTimer>,
    session: &SessionContext,
    input: &dyn JobInput,
    table: AnonymizedTable,
    place: &StorePath,
    guards: &DeliveryGuards,
) -> Result<StagedFacts, JobError> {
    let table = table.with_progress(Arc::clone(clock) as Arc<dyn Progress>).with_external_verification();
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;

    let release = match plan.release(session.task_ctx()).await {
        Err(error) => return Err(failure(error, &table, input, session).await),
        Ok(release) => release,
    };
    input.check_unchanged().await?;
    let facts = release.facts().clone();
    input.check_rows(facts.rows_read)?;
    guards.check_facts(&facts)?;
    let batches = release.compact_stream_with_units(ROW_GROUP_ROWS, options.threads);
    let binding = table.anonymizer().binding();
    let has_units = binding.unit.is_some();
    let schema = with_field_roles(&release.schema(), binding);
    // From here on the stream alone owns the release, and frees memory and spill files with its last row.
    drop((release, table));

    let rows = facts.rows_read - facts.suppressed;
    let span = clock.begin(Stage::Write, Some(rows));
    drop(plan);
    let rows_per_file = usize::try_from(policy.output.rows_per_file).unwrap_or(usize::MAX);
    let (files, units) = write_rows(batches, has_units, schema, place, rows_per_file, options).instrument(span).await?;
    Ok(StagedFacts { facts, files, units, cluster: None })
}

/// Writes rows to their files. Their units, if any, are written to a temporary file of this process for verification.
async fn write_rows(
    batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send + 'static,
    has_units: bool,
    schema: SchemaRef,
    place: &StorePath,
    rows_per_file: usize,
    options: &JobOptions,
) -> Result<(Vec<FileEntry>, Option<StagedUnits>), JobError> {
    if !has_units {
        return Ok((write(batches, schema, place, rows_per_file, options).await?, None));
    }
    let units = StagedUnits::create()?;
    let files = write(units.split(batches)?, schema, place, rows_per_file, options).await?;
    Ok((files, Some(units)))
}

/// A policy bound to its input, before any row is read.
pub(crate) struct BoundJob {
    pub(crate) input: Arc<dyn JobInput>,
    pub(crate) table: AnonymizedTable,
}

/// Opens the input of a policy and binds the policy to it.
pub(crate) async fn bind(
    policy: &Policy,
    session: &SessionContext,
    options: &JobOptions,
) -> Result<BoundJob, JobError> {
    bind_input(policy, session, input::open(policy, session, options).await?)
}

fn bind_input(policy: &Policy, session: &SessionContext, input: Arc<dyn JobInput>) -> Result<BoundJob, JobError> {
    check_types(policy, input.as_ref())?;
    let mut bound = policy.clone();
    if policy.series.is_some() {
        // A series counts units by its ledger.
        bound.privacy.unit.clear();
    }
    let table = AnonymizedTable::new(input.rows(session)?.into_view(), Arc::new(bound))?;
    check_writable(table.anonymizer().schema(), table.anonymizer().input_schema())?;
    if policy.output.format == OutputFormat::Delta {
        check_releasable(table.anonymizer().schema())?;
    }
    let reading = input.read_plan(Some(&columns_read(&table)));
    let rows = input.expected_rows().unwrap_or_else(|| reading.rows_of(input.describe().bytes));
    reading.writing(rows).apply(session)?;
    Ok(BoundJob { input, table: table.with_expected_rows(Some(rows)) })
}

/// Returns the names of the columns from which a release is made.
fn columns_read(table: &AnonymizedTable) -> Vec<&str> {
    let (anonymizer, schema) = (table.anonymizer(), table.anonymizer().input_schema());
    let names = anonymizer.columns_read().into_iter().map(|column| schema.field(column).name().as_str());
    // Blocks are derived.
    names.filter(|name| *name != BLOCK_COLUMN).collect()
}

/// Converts an error of the operator. For a read error it names the file at fault.
pub(crate) async fn failure(
    error: throng_datafusion::AnonymizeError,
    table: &AnonymizedTable,
    input: &dyn JobInput,
    session: &SessionContext,
) -> JobError {
    match error {
        throng_datafusion::AnonymizeError::Read(error) => input.locate(session, &columns_read(table), &error).await,
        error => error.into(),
    }
}
