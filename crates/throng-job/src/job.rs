//! `throng run`: the stages of a job, in order.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use throng_datafusion::AnonymizedTable;
use throng_policy::{Binding, Policy};
use throng_report::document::{
    AlgorithmFacts, ColumnCounts, InputFacts, OutputFacts, ReleaseFacts, ResourceFacts, RunFacts, Sidecar,
};
use tracing::Instrument;

use crate::distributed::{Cluster, Made, make};
use crate::error::{JobError, Kind};
use crate::input::{self, JobInput};
use crate::manifest::{FileEntry, input_digest, policy_digest};
use crate::progress::{NoProgress, Progress, Stage};
use crate::publish::Staged;
use crate::readback::{ReadBack, StagedFiles, read_back};
use crate::resources::peak_memory_bytes;
use crate::session::session;
use crate::stage_timer::StageTimer;
use crate::stop::{Stop, Stopper};
use crate::store_path::{Location, StorePath};
use crate::telemetry::{ColumnOrigins, Recorder};
use crate::write::{ROW_GROUP_ROWS, check_writable, write};

/// Execution options of a job. They do not affect its result.
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
}

impl Default for JobOptions {
    /// All cores, no memory limit, no observer, and never stopped.
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_limit: None,
            observer: Arc::new(NoProgress),
            recorder: None,
            stop: Stopper::new().1,
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
}

/// Anonymizes the input of a policy, verifies the release and publishes it.
pub async fn run(policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
    run_with(policy, options, None).await
}

/// Runs the job on a compute cluster, with the same release as [`run`]. The options apply to the driver.
pub async fn run_on(cluster: &Cluster, policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
    run_with(policy, options, Some(cluster)).await
}

async fn run_with(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
) -> Result<PublishedRelease, JobError> {
    let run_id = uuid::Uuid::new_v4().simple().to_string();
    if let Some(recorder) = &options.recorder {
        recorder.started(&run_id);
    }
    let span = tracing::info_span!("run", %run_id);
    async {
        if let Some(preset) = policy.privacy.preset {
            tracing::info!(preset = preset.as_str(), k = policy.privacy.k, "{}", preset.told(policy.privacy.k));
        }
        let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
        for location in &policy.input.locations {
            check_apart(&Location::parse_with(location, &policy.store)?.place, &output)?;
        }
        let staged = Staged::begin(&output, policy.output.mode, policy.output.commit, &run_id).await?;
        let policy_digest = policy_digest(policy)?;
        let run = RunFacts { run_id, policy_digest, has_report: policy.output.report };
        let ready = tokio::select! {
            biased;
            () = options.stop.asked() => Err(JobError::new(Kind::Stopped, "stopped; nothing was published")),
            ready = anonymize(policy, options, cluster, &staged, &run) => ready,
        };
        match ready {
            Ok(ready) => publish(ready, staged, &run, output.to_string()).await,
            Err(error) => {
                staged.abandon().await;
                Err(error)
            }
        }
    }
    .instrument(span)
    .await
}

/// Returns an error if the output overlaps the input, which publishing must never touch.
fn check_apart(input: &StorePath, output: &StorePath) -> Result<(), JobError> {
    if input.overlaps(output) {
        let text = format!("the output {output} and the input {input} overlap; choose an output outside of the input");
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    Ok(())
}

/// A release that is ready to be published.
struct StagedRelease {
    sidecar: Sidecar,
    read_back: ReadBack,
    input_digest: Option<String>,
    clock: Arc<StageTimer>,
}

async fn anonymize(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    staged: &Staged,
    run: &RunFacts,
) -> Result<StagedRelease, JobError> {
    let clock = Arc::new(StageTimer::start(options));
    let session = session(options)?;
    let BoundJob { input, table } = bind(policy, &session).await?;
    if let Some(recorder) = &options.recorder {
        recorder.bound(ColumnOrigins::of(table.anonymizer()));
    }
    #[cfg(feature = "leaky")]
    crate::leaky::look(input.as_ref());
    let anonymizer = Arc::clone(table.anonymizer());
    let Made { facts, files, cluster: of_cluster } = match cluster {
        None => run_local(policy, options, &clock, &session, input.as_ref(), table, staged).await?,
        Some(cluster) => {
            let rows = input.rows(&cluster.session)?.into_view();
            let place = staged.attempts()?;
            let made = make(cluster, rows, &anonymizer, &place, policy.output.rows_per_file, &clock).await;
            // If the input changed while it was read, that is reported first: rows may only seem to be lost.
            input.check_unchanged().await?;
            let made = made?;
            input.check_rows(made.facts.rows_read)?;
            Made { files: staged.take(made.files).await?, ..made }
        }
    };

    let span = clock.begin(Stage::Verify, Some(facts.rows_read - facts.suppressed));
    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let (count, bytes) = (files.len() as u64, files.iter().map(|file| file.bytes).sum());
    let place = staged.place()?;
    let written = StagedFiles { files, place: &place, facts: &facts };
    let (findings, read_back) = read_back(written, policy, &anonymizer, options, cluster).instrument(span).await?;

    let described = input.describe();
    let release = ReleaseFacts {
        input: InputFacts { rows: facts.rows_read, files: described.files, bytes: described.bytes },
        output: OutputFacts { rows, files: count, bytes, suppressed_rows: facts.suppressed },
        columns: column_counts(anonymizer.binding()),
        algorithm: AlgorithmFacts {
            partition: policy.algorithm.partition.as_str().into(),
            cluster: facts.method.cluster.as_str().into(),
            reason: facts.reason.into(),
            seed: policy.algorithm.seed,
            budget: policy.algorithm.budget.to_string(),
            leaves: facts.leaves,
            search_cycles: facts.cycles,
        },
        utility: facts.utility,
        cells: facts.cells,
        borrowed: facts.borrowed,
    };
    let resources =
        ResourceFacts { threads: options.threads, peak_memory_bytes: peak_memory_bytes(), cluster: of_cluster };
    let sidecar = Sidecar::new(run, release, &findings, resources);
    #[cfg(feature = "leaky")]
    let sidecar = Sidecar { throng_version: crate::leaky::version(), ..sidecar };
    let input_digest = input.fingerprint().map(|fingerprint| input_digest(policy, fingerprint)).transpose()?;
    Ok(StagedRelease { sidecar, read_back, input_digest, clock })
}

/// Creates a staged release in this process.
async fn run_local(
    policy: &Policy,
    options: &JobOptions,
    clock: &Arc<StageTimer>,
    session: &SessionContext,
    input: &dyn JobInput,
    table: AnonymizedTable,
    staged: &Staged,
) -> Result<Made, JobError> {
    let table = table.with_progress(Arc::clone(clock) as Arc<dyn Progress>).with_external_verification();
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;

    let release = match plan.release(session.task_ctx()).await {
        Err(error) => return Err(failure(error, &table, input, session).await),
        Ok(release) => release,
    };
    input.check_unchanged().await?;
    let facts = release.facts().clone();
    input.check_rows(facts.rows_read)?;
    let batches = release.compact_stream(ROW_GROUP_ROWS, options.threads);
    // From here on the stream alone owns the release, and frees memory and spill files with its last row.
    drop((release, table));

    let rows = facts.rows_read - facts.suppressed;
    let span = clock.begin(Stage::Write, Some(rows));
    let place = staged.place()?;
    let schema = plan.schema();
    drop(plan);
    let rows_per_file = usize::try_from(policy.output.rows_per_file).unwrap_or(usize::MAX);
    let files = write(batches, schema, &place, rows_per_file, options).instrument(span).await?;
    Ok(Made { facts, files, cluster: None })
}

fn column_counts(binding: &Binding) -> ColumnCounts {
    ColumnCounts {
        dropped: binding.dropped.len() as u64,
        quasi: binding.quasi.len() as u64,
        sensitive: binding.sensitive.len() as u64,
        unchanged: binding.insensitive.len() as u64,
    }
}

/// A policy bound to its input, before any row is read.
pub(crate) struct BoundJob {
    pub(crate) input: Arc<dyn JobInput>,
    pub(crate) table: AnonymizedTable,
}

/// Opens the input of a policy and binds the policy to it.
pub(crate) async fn bind(policy: &Policy, session: &SessionContext) -> Result<BoundJob, JobError> {
    let input = input::open(policy, session).await?;
    let table = AnonymizedTable::new(input.rows(session)?.into_view(), Arc::new(policy.clone()))?;
    check_writable(table.anonymizer().schema())?;
    Ok(BoundJob { input, table })
}

/// Converts an error of the operator. For a read error it names the file at fault.
pub(crate) async fn failure(
    error: throng_datafusion::AnonymizeError,
    table: &AnonymizedTable,
    input: &dyn JobInput,
    session: &SessionContext,
) -> JobError {
    match error {
        throng_datafusion::AnonymizeError::Read(error) => {
            let schema = table.anonymizer().input_schema();
            let read = table.anonymizer().columns_read().into_iter().map(|column| schema.field(column).name().as_str());
            input.locate(session, &read.collect::<Vec<_>>(), &error).await
        }
        error => error.into(),
    }
}

async fn publish(
    ready: StagedRelease,
    staged: Staged,
    run: &RunFacts,
    location: String,
) -> Result<PublishedRelease, JobError> {
    let StagedRelease { mut sidecar, read_back, input_digest, clock } = ready;
    let span = clock.begin(Stage::Publish, None);
    // The sidecar is itself published, so its times end at the moment it is written.
    let mut finish = || {
        sidecar.set_times(&clock.times());
        sidecar.resources.peak_memory_bytes = peak_memory_bytes();
        sidecar.clone()
    };
    let files = async {
        let committed = staged.verified(read_back).commit(run, input_digest, &mut finish).await?;
        Ok::<_, JobError>(committed.clean().await)
    }
    .instrument(span)
    .await?;
    tracing::info!(files = files.len(), rows = sidecar.output.rows, "release published");
    Ok(PublishedRelease { location, sidecar, files })
}
