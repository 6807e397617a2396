//! `throng run`: the stages of a job, one after the other.

use std::sync::Arc;

use throng_core::anonymize::Method;
use throng_core::cluster::Class;
use throng_core::content::Checksum;
use throng_core::feasibility::Feasibility;
use throng_core::metrics::Utility;
use throng_core::model::Privacy;
use throng_core::partition::Allowed;
use throng_core::recode::Recoding;
use throng_core::table::Table;
use throng_core::verify::Findings;
use throng_datafusion::{Release, Snapshot, kept_names, released_schema};
use throng_policy::{Binding, CsvOptions, Format, Policy};
use tracing::Instrument;

use crate::clock::Clock;
use crate::engine::session;
use crate::error::{JobError, Kind};
use crate::manifest::{self, FileEntry, Manifest};
use crate::method::method_of;
use crate::place::{Location, Place};
use crate::progress::{Observer, Stage};
use crate::promise::promise_of;
use crate::publish::Staging;
use crate::resources::peak_memory_bytes;
use crate::sidecar::{AlgorithmFacts, InputFacts, OutputFacts, PrivacyFacts, ResourceFacts, RunFacts, Sidecar};
use crate::source::{Source, SourceFile};
use crate::stop::Stop;
use crate::verify::{Unchanged, examine};
use crate::write::{check_writable, digest, write};

/// How a job runs; nothing here changes its result.
#[derive(Clone)]
pub struct JobOptions {
    /// Streams that are read at the same time. Computation uses the global pool of rayon.
    pub threads: usize,
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
    let span = tracing::info_span!("run", %run_id);
    async {
        let output = Place::parse(&policy.output.location)?;
        for location in &policy.input.locations {
            check_apart(&Location::parse(location)?.place, &output)?;
        }
        let staging = Staging::begin(&output, policy.output.mode, &run_id).await?;
        let run = RunFacts { run_id, policy_digest: digest(policy.canonical_json().as_bytes()) };
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
    clock: Clock,
}

async fn anonymize(
    policy: &Policy,
    options: &JobOptions,
    staging: &Staging,
    run: &RunFacts,
) -> Result<Verified, JobError> {
    let mut clock = Clock::start(Arc::clone(&options.observer));
    let span = clock.begin(Stage::Survey, None);
    let surveyed = survey(policy, options).instrument(span).await?;
    let Surveyed { binding, source, snapshot } = surveyed;
    let binding = Arc::new(binding);
    let privacy = binding.privacy();
    let allowed = Allowed::of(&snapshot.table, &privacy);
    let feasibility = Feasibility::of(&snapshot.table, &privacy, &allowed);
    if !feasibility.shortfalls.is_empty() {
        return Err(throng_core::Error::Infeasible(feasibility.shortfalls).into());
    }
    let (rows_read, suppressed) = (snapshot.rows, snapshot.suppressed + feasibility.suppressed);
    if let Some(text) = too_many_suppressed(binding.suppression_limit, rows_read, suppressed) {
        return Err(JobError::new(Kind::Infeasible, format!("the privacy target can't be met: {text}")));
    }

    let (method, reason) = method_of(&policy.algorithm, &binding);
    let (schema, bound, observer) = (Arc::clone(&source.schema), Arc::clone(&binding), Arc::clone(&options.observer));
    let work = move || {
        let (leaves, classes) =
            form_classes(method, &allowed, &snapshot.table, &privacy, &mut clock, observer.as_ref())?;
        let _stage = clock.begin(Stage::Recode, None).entered();
        let recoding = Recoding::without(&snapshot.table, &classes, &allowed.out)?;
        let utility = Utility::of(&snapshot.table, &recoding, bound.k);
        let expected = snapshot.checksum(&recoding);
        let release = Release::new(snapshot, recoding, &bound, &schema)?;
        tracing::info!(classes = utility.classes, ncp = utility.ncp, "classes generalized");
        Ok::<_, JobError>((release, utility, expected, leaves, clock))
    };
    let span = tracing::Span::current();
    let done = tokio::task::spawn_blocking(move || span.in_scope(work)).await;
    let done = done.map_err(|_| JobError::internal("anonymizing stopped"))??;
    let (release, utility, expected, leaves, mut clock) = done;

    let span = clock.begin(Stage::Write, Some(release.rows() as u64));
    let place = staging.place()?;
    let written = write(Arc::new(release), &place, Arc::clone(&options.observer)).instrument(span).await?;
    clock.move_time(Stage::Write, Stage::Recode, written.recoding);

    let rows: u64 = written.files.iter().map(|file| file.rows).sum();
    let span = clock.begin(Stage::Verify, Some(rows));
    let staged = Staged { files: &written.files, place: &place, utility: &utility, checksum: expected };
    let findings = verify(staged, policy, &binding, &source, options).instrument(span).await?;

    let bytes = written.files.iter().map(|file| file.bytes).sum();
    let sidecar = Sidecar::new(
        run,
        InputFacts { rows: rows_read, files: source.files.len() as u64, bytes: source.bytes() },
        OutputFacts { rows, files: written.files.len() as u64, bytes, suppressed_rows: suppressed },
        PrivacyFacts::of(&findings),
        utility,
        AlgorithmFacts {
            partition: policy.algorithm.partition.as_str(),
            cluster: method.cluster.as_str(),
            reason,
            seed: policy.algorithm.seed,
            leaves,
        },
        ResourceFacts { threads: options.threads, peak_memory_bytes: peak_memory_bytes() },
    );
    Ok(Verified { sidecar, files: written.files, clock })
}

/// The input of a policy after one look at it.
pub(crate) struct Surveyed {
    pub(crate) binding: Binding,
    pub(crate) source: Source,
    pub(crate) snapshot: Snapshot,
}

/// Binds the policy to its input and reads it.
pub(crate) async fn survey(policy: &Policy, options: &JobOptions) -> Result<Surveyed, JobError> {
    let session = session(options.threads);
    let source = Source::open(&session, &policy.input.locations, policy.input.format, policy.input.csv).await?;
    let binding = policy.bind(&source.schema)?;
    check_writable(&released_schema(&binding, &source.schema))?;
    let observer = Arc::clone(&options.observer);
    let on_rows = Arc::new(move |rows| observer.advance(rows));
    let snapshot = match Snapshot::read(source.frame(&session)?, &binding, policy.algorithm.seed, on_rows).await {
        Err(throng_datafusion::Error::Read(error)) => {
            let sensitive = binding.sensitive.iter().map(|sensitive| &sensitive.column);
            let kept = sensitive.chain(&binding.insensitive);
            let read = binding.quasi.iter().map(|quasi| &quasi.column).chain(kept).map(|column| column.name.as_str());
            return Err(source.failure(&session, &read.collect::<Vec<_>>(), &error).await);
        }
        read => read?,
    };
    tracing::info!(rows = snapshot.rows, cells = snapshot.table.cell_count(), files = source.files.len(), "input read");
    Ok(Surveyed { binding, source, snapshot })
}

fn form_classes(
    method: Method,
    allowed: &Allowed,
    table: &Table,
    privacy: &Privacy,
    clock: &mut Clock,
    observer: &dyn Observer,
) -> Result<(u64, Vec<Class>), JobError> {
    let leaves = clock.begin(Stage::Partition, None).in_scope(|| {
        let leaves = method.leaves(allowed, table, privacy)?;
        tracing::info!(leaves = leaves.len(), "table cut into leaves");
        Ok::<_, JobError>(leaves)
    })?;
    let classes = clock.begin(Stage::Cluster, Some(table.cell_count() as u64)).in_scope(|| {
        let classes = method.classes(&leaves, table, privacy, &|cells| observer.advance(cells as u64));
        tracing::info!(clusters = classes.len(), "clusters formed");
        classes
    });
    Ok((leaves.len() as u64, classes))
}

/// Why so many suppressed rows are more than the policy allows, if they are.
pub(crate) fn too_many_suppressed(limit: Option<f64>, rows: u64, suppressed: u64) -> Option<String> {
    let limit = limit?;
    let is_within = suppressed as f64 <= limit * rows as f64;
    (!is_within).then(|| {
        format!(
            "{suppressed} of {rows} rows would have to be suppressed, and `suppression_limit = {limit}` allows at most \
             {}; raise a `limit` or `suppression_limit`, or lower k or p",
            (limit * rows as f64).floor()
        )
    })
}

/// A release on its staging place, and what is known of it.
struct Staged<'a> {
    files: &'a [FileEntry],
    place: &'a Place,
    utility: &'a Utility,
    /// Of the rows of the input that are released.
    checksum: Checksum,
}

/// Reads the staged files back. The promise must hold in them, no row may be missing, and what they show must be what
/// the metrics speak of.
async fn verify(
    staged: Staged<'_>,
    policy: &Policy,
    binding: &Binding,
    input: &Source,
    options: &JobOptions,
) -> Result<Findings, JobError> {
    let refused = |what: &str| {
        JobError::new(
            Kind::Verification,
            format!("the staged release was read back and refused: {what}; nothing is published"),
        )
    };
    let session = session(options.threads);
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
    if names(&source.schema) != names(&released_schema(binding, &input.schema)) {
        return Err(refused("its columns are not those of the policy"));
    }
    let (promise, _) = promise_of(policy);
    let unchanged = Unchanged { columns: kept_names(binding), seed: policy.algorithm.seed };
    let observer = Arc::clone(&options.observer);
    let (findings, checksum) = examine(&session, &source, promise, Some(unchanged), observer).await?;
    if !findings.holds() {
        return Err(refused("a class does not satisfy the privacy model"));
    }
    if checksum != staged.checksum {
        return Err(refused("rows were lost, changed or doubled"));
    }
    if findings.classes != staged.utility.classes || findings.sum_of_squares != staged.utility.dm {
        return Err(refused("its classes are not those that the metrics speak of"));
    }
    tracing::info!(classes = findings.classes, rows = findings.rows, "release verified");
    Ok(findings)
}

async fn publish(verified: Verified, staging: Staging, run: &RunFacts, location: String) -> Result<Released, JobError> {
    let Verified { mut sidecar, files, mut clock } = verified;
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
