//! `throng run`: the stages of a job, one after the other.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use throng_core::verify::Findings;
use throng_datafusion::{AnonymizedTable, Anonymizer, Facts, Progress, kept_names};
use throng_policy::{Binding, CsvOptions, Format, Policy};
use tracing::Instrument;

use crate::clock::Clock;
use crate::engine::session;
use crate::error::{JobError, Kind};
use crate::manifest::{self, FileEntry, Manifest};
use crate::place::{Location, Place};
use crate::progress::{Observer, Stage};
use crate::publish::Staging;
use crate::resources::peak_memory_bytes;
use crate::sidecar::{
    AlgorithmFacts, ColumnCounts, InputFacts, OutputFacts, ReleaseFacts, ResourceFacts, RunFacts, Sidecar,
};
use crate::source::{Source, SourceFile};
use crate::stop::Stop;
use crate::telemetry::Origins;
use crate::verify::{Examined, Unchanged, examine};
use crate::write::{ROW_GROUP_ROWS, check_writable, digest, write};

/// How a job runs; nothing here changes its result.
#[derive(Clone)]
pub struct JobOptions {
    /// Streams that are read at the same time. Computation uses the global pool of rayon.
    pub threads: usize,
    /// The memory that the process should keep within, in bytes.
    pub memory_limit: Option<u64>,
    /// Hears of the progress.
    pub observer: Arc<dyn Observer>,
    /// Tells the job to stop.
    pub stop: Stop,
}

/// A published release.
#[derive(Clone, Debug)]
pub struct Released {
    /// The output location.
    pub location: String,
    /// What is also in `_throng/metrics.json`.
    pub sidecar: Sidecar,
    /// The data files.
    pub files: Vec<FileEntry>,
}

/// Anonymizes the input of a policy, verifies the release and publishes it.
pub async fn run(policy: &Policy, options: &JobOptions) -> Result<Released, JobError> {
    let run_id = uuid::Uuid::new_v4().simple().to_string();
    options.observer.started(&run_id);
    let span = tracing::info_span!("run", %run_id);
    async {
        if let Some(preset) = policy.privacy.preset {
            tracing::info!(preset = preset.as_str(), k = policy.privacy.k, "{}", preset.told(policy.privacy.k));
        }
        let output = Place::parse(&policy.output.location)?;
        for location in &policy.input.locations {
            check_apart(&Location::parse(location)?.place, &output)?;
        }
        let staging = Staging::begin(&output, policy.output.mode, &run_id).await?;
        let policy_digest = digest(policy.canonical_json().as_bytes());
        let run = RunFacts { run_id, policy_digest, has_report: policy.output.report };
        let verified = tokio::select! {
            biased;
            () = options.stop.asked() => Err(JobError::new(Kind::Stopped, "stopped; nothing was published")),
            verified = anonymize(policy, options, &staging, &run) => verified,
        };
        match verified {
            Ok(verified) => publish(verified, staging, &run, output.to_string()).await,
            Err(error) => {
                staging.abandon().await;
                Err(error)
            }
        }
    }
    .instrument(span)
    .await
}

/// Publishing must never touch the input.
fn check_apart(input: &Place, output: &Place) -> Result<(), JobError> {
    if input.overlaps(output) {
        let text = format!("the output {output} and the input {input} overlap; choose an output outside of the input");
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    Ok(())
}

/// What is ready to be published.
struct Verified {
    sidecar: Sidecar,
    files: Vec<FileEntry>,
    clock: Arc<Clock>,
}

async fn anonymize(
    policy: &Policy,
    options: &JobOptions,
    staging: &Staging,
    run: &RunFacts,
) -> Result<Verified, JobError> {
    let clock = Arc::new(Clock::start(Arc::clone(&options.observer)));
    let session = session(options)?;
    let Bound { source, table } = bind(policy, &session).await?;
    options.observer.bound(&Origins::of(table.anonymizer()));
    #[cfg(feature = "leaky")]
    crate::leaky::look(&source);
    let table = table.with_progress(Arc::clone(&clock) as Arc<dyn Progress>).verified_by_its_reader();
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;

    let release = match plan.release(session.task_ctx()).await {
        Err(error) => return Err(failure(error, &table, &source, &session).await),
        Ok(release) => release,
    };
    let facts = release.facts().clone();
    source.check_rows(facts.rows_read)?;
    let anonymizer = Arc::clone(table.anonymizer());
    let batches = release.compact_stream(ROW_GROUP_ROWS, options.threads);
    // From here on the stream alone holds the release, and gives back memory and spill files with its last row.
    drop((release, table));

    let rows = facts.rows_read - facts.suppressed;
    let span = clock.begin(Stage::Write, Some(rows));
    let place = staging.place()?;
    let schema = plan.schema();
    drop(plan);
    let files = write(batches, schema, &place, options).instrument(span).await?;

    let span = clock.begin(Stage::Verify, Some(rows));
    let staged = Staged { files: &files, place: &place, facts: &facts };
    let findings = verify(staged, policy, &anonymizer, options).instrument(span).await?;

    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let bytes = files.iter().map(|file| file.bytes).sum();
    let release = ReleaseFacts {
        input: InputFacts { rows: facts.rows_read, files: source.files.len() as u64, bytes: source.bytes() },
        output: OutputFacts { rows, files: files.len() as u64, bytes, suppressed_rows: facts.suppressed },
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
    };
    let resources = ResourceFacts { threads: options.threads, peak_memory_bytes: peak_memory_bytes() };
    let sidecar = Sidecar::new(run, release, &findings, resources);
    #[cfg(feature = "leaky")]
    let sidecar = Sidecar { throng_version: crate::leaky::version(), ..sidecar };
    Ok(Verified { sidecar, files, clock })
}

fn column_counts(binding: &Binding) -> ColumnCounts {
    ColumnCounts {
        dropped: binding.dropped.len() as u64,
        quasi: binding.quasi.len() as u64,
        sensitive: binding.sensitive.len() as u64,
        unchanged: binding.insensitive.len() as u64,
    }
}

/// A policy and its input, before a row is read.
pub(crate) struct Bound {
    pub(crate) source: Source,
    pub(crate) table: AnonymizedTable,
}

/// Finds the input of a policy and binds the policy to it.
pub(crate) async fn bind(policy: &Policy, session: &SessionContext) -> Result<Bound, JobError> {
    let source = Source::open(session, &policy.input.locations, policy.input.format, policy.input.csv).await?;
    let table = AnonymizedTable::new(source.frame(session)?.into_view(), Arc::new(policy.clone()))?;
    check_writable(table.anonymizer().schema())?;
    Ok(Bound { source, table })
}

/// Why a release could not be made. Where the engine could not read, the file is named.
pub(crate) async fn failure(
    error: throng_datafusion::Error,
    table: &AnonymizedTable,
    source: &Source,
    session: &SessionContext,
) -> JobError {
    match error {
        throng_datafusion::Error::Read(error) => {
            let schema = table.anonymizer().input_schema();
            let read = table.anonymizer().columns_read().into_iter().map(|column| schema.field(column).name().as_str());
            source.failure(session, &read.collect::<Vec<_>>(), &error).await
        }
        error => error.into(),
    }
}

/// A release on its staging place, and what is known of it.
struct Staged<'a> {
    files: &'a [FileEntry],
    place: &'a Place,
    facts: &'a Facts,
}

/// Reads the staged files back. The promise must hold in them, no row may be missing, and what they show must be what
/// the metrics speak of.
async fn verify(
    staged: Staged<'_>,
    policy: &Policy,
    anonymizer: &Anonymizer,
    options: &JobOptions,
) -> Result<Findings, JobError> {
    let refused = |what: &str| {
        JobError::new(
            Kind::Verification,
            format!("the staged release was read back and refused: {what}; nothing is published"),
        )
    };
    let session = session(options)?;
    let mut files = Vec::new();
    for file in staged.files {
        let place = staged.place.child(&file.path);
        let meta = object_store::ObjectStoreExt::head(&place.store, &place.path).await;
        let meta = meta.map_err(|error| JobError::storage(format!("reading {place} back"), &error))?;
        files.push(SourceFile { place, meta });
    }
    let csv = CsvOptions { delimiter: b',', header: true };
    let source = Source::of_files(&session, files, Format::Parquet, csv).await?;
    let names = |schema: &datafusion::arrow::datatypes::Schema| -> Vec<String> {
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    if names(&source.schema) != names(anonymizer.schema()) {
        return Err(refused("its columns are not those of the policy"));
    }
    let (promise, _) = policy.promise();
    let unchanged = Unchanged { columns: kept_names(anonymizer.binding()), seed: policy.algorithm.seed };
    let observer = Arc::clone(&options.observer);
    let seen = |is_together| {
        examine(&session, &source, promise.clone(), Some(unchanged.clone()), is_together, Arc::clone(&observer))
    };
    // A release has its classes together, which takes little memory to verify. If it should not, it is verified all the
    // same.
    let (findings, checksum) = match seen(true).await? {
        Examined::Whole(findings, checksum) => (findings, checksum),
        Examined::Scattered => match seen(false).await? {
            Examined::Whole(findings, checksum) => (findings, checksum),
            Examined::Scattered => return Err(JobError::internal("a release was not looked at as a whole")),
        },
    };
    if !findings.holds() {
        return Err(refused("a class does not satisfy the privacy model"));
    }
    if checksum != staged.facts.checksum || checksum.rows() + staged.facts.suppressed != staged.facts.rows_read {
        return Err(refused("rows were lost, changed or doubled"));
    }
    if findings.classes != staged.facts.utility.classes || findings.sum_of_squares != staged.facts.utility.dm {
        return Err(refused("its classes are not those that the metrics speak of"));
    }
    tracing::info!(classes = findings.classes, rows = findings.rows, "release verified");
    Ok(findings)
}

async fn publish(verified: Verified, staging: Staging, run: &RunFacts, location: String) -> Result<Released, JobError> {
    let Verified { mut sidecar, files, clock } = verified;
    let span = clock.begin(Stage::Publish, None);
    let manifest = Manifest {
        schema_version: manifest::SCHEMA_VERSION,
        throng_version: sidecar.throng_version.clone(),
        run_id: run.run_id.clone(),
        policy_digest: run.policy_digest.clone(),
        files,
    };
    // The sidecar is itself published, so its clock stops at the moment when it is written.
    let mut finish = || {
        sidecar.set_times(&clock.times());
        sidecar.resources.peak_memory_bytes = peak_memory_bytes();
        sidecar.clone()
    };
    let files = staging.commit(manifest, &mut finish).instrument(span).await?;
    tracing::info!(files = files.len(), rows = sidecar.output.rows, "release published");
    Ok(Released { location, sidecar, files })
}
