//! The driver of the verifier: counts the classes of a release and the checksum of its rows.
//!
//! Everything that verifies runs the verifier through this module: queries and hosts before a row of a release is
//! emitted, jobs that read their files back, tasks of a compute cluster, `throng verify` and `privacy_check`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use futures::{Stream, TryStreamExt};
use throng_core::dictionary_encode::{DictionaryEncoder, is_text};
use throng_core::exposure::{ExposureColumns, ExposureSketch, InsensitiveExposure};
use throng_core::progress::{NoProgress, Progress};
use throng_core::row_hash::{Checksum, RowHasher};
use throng_core::verify::{Findings, Promise, Verifier, VerifyError};
use tokio::sync::mpsc;

use crate::anonymizer::Anonymizer;
use crate::passthrough::passthrough_names;
use crate::release::{Facts, Release};
use crate::{AnonymizeError, to_canonical_array, to_canonical_field};

/// The promise that a release must keep, and how the release is read.
#[derive(Clone)]
pub struct Verification {
    promise: Promise,
    unchanged: Option<PassthroughCheck>,
    exposure: Option<ExposureCheck>,
    are_classes_contiguous: bool,
    progress: Arc<dyn Progress>,
    memory: Option<Arc<dyn MemoryPool>>,
}

/// Columns whose values must be unchanged, and the seed of their row hash.
#[derive(Clone, Debug)]
struct PassthroughCheck {
    columns: Vec<String>,
    seed: u64,
}

/// Columns whose exposure is measured, and the seed of their hashes.
#[derive(Clone, Debug)]
struct ExposureCheck {
    insensitive: Vec<String>,
    sensitive: Vec<String>,
    quasi: Vec<String>,
    k: u64,
    seed: u64,
}

/// Counts of one stream.
pub(crate) struct CountedRows {
    pub(crate) verifier: Verifier,
    pub(crate) checksum: Checksum,
    pub(crate) exposure: Option<ExposureSketch>,
}

/// Findings about a release.
#[derive(Clone, Debug)]
pub struct VerifiedTable {
    /// Findings of the verifier.
    pub findings: Findings,
    /// Checksum of the pass-through columns; the empty checksum unless they are compared.
    pub checksum: Checksum,
    /// Exposure by insensitive columns; `None` if there are none, or it was not measured.
    pub exposure: Option<InsensitiveExposure>,
}

impl VerifiedTable {
    /// Returns an error if insensitive columns single out more rows than this share.
    pub fn check_exposure(&self, limit: Option<f64>) -> Result<(), AnonymizeError> {
        match (&self.exposure, limit) {
            (Some(exposure), Some(limit)) if exposure.singled_out() > limit => Err(AnonymizeError::Exposed {
                alone: exposure.alone,
                with_quasi: exposure.with_quasi.unwrap_or(exposure.alone),
                limit,
            }),
            _ => Ok(()),
        }
    }
}

impl Verification {
    /// Verifies a promise.
    pub fn new(promise: Promise) -> Self {
        let progress = Arc::new(NoProgress);
        Self { promise, unchanged: None, exposure: None, are_classes_contiguous: false, progress, memory: None }
    }

    /// Verifies the promise of a bound policy, computes the checksum of the pass-through columns, and measures the exposure by
    /// insensitive columns.
    pub fn of(anonymizer: &Anonymizer) -> Self {
        let binding = anonymizer.binding();
        let (columns, seed) = (passthrough_names(binding), anonymizer.content_seed());
        let unchanged = Some(PassthroughCheck { columns, seed });
        let exposure = (!binding.insensitive.is_empty()).then(|| ExposureCheck {
            insensitive: binding.insensitive.iter().map(|column| column.name.clone()).collect(),
            sensitive: binding.sensitive.iter().map(|column| column.column.name.clone()).collect(),
            quasi: binding.released_quasi_names(),
            k: binding.k,
            seed,
        });
        Self { unchanged, exposure, ..Self::new(anonymizer.policy().staged_promise()) }
    }

    /// Expects contiguous classes, which takes less memory. If they are not, there is no result.
    pub fn expecting_contiguous_classes(self) -> Self {
        Self { are_classes_contiguous: true, ..self }
    }

    /// Reports rows to `progress`.
    pub fn with_progress(self, progress: Arc<dyn Progress>) -> Self {
        Self { progress, ..self }
    }

    /// Reserves the memory of the verifier from this pool.
    pub fn within(self, memory: Arc<dyn MemoryPool>) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Returns the names of the columns that are read, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.promise.columns();
        names.extend(self.unchanged.iter().flat_map(|unchanged| unchanged.columns.iter().map(String::as_str)));
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// Fails if a column of the promise is missing, occurs twice, or can't be compared.
    pub fn check_schema(&self, schema: &Schema) -> Result<(), VerifyError> {
        self.verifier(schema).map(drop)
    }

    pub(crate) fn verifier(&self, schema: &Schema) -> Result<Verifier, VerifyError> {
        let verifier = Verifier::new(self.promise.clone(), schema)?;
        Ok(if self.are_classes_contiguous { verifier.expecting_classes_together() } else { verifier })
    }

    /// Verifies the streams of a release, in parallel. Returns `None` if contiguous classes were expected and not
    /// found. Dropping the future stops the work.
    pub async fn run(
        &self,
        schema: &Schema,
        streams: Vec<SendableRecordBatchStream>,
    ) -> Result<Option<VerifiedTable>, AnonymizeError> {
        let mut tasks = JoinSet::new();
        let contents = Arc::new(ContentPool::default());
        for stream in streams {
            let (verification, contents) = (self.clone(), Arc::clone(&contents));
            tasks.spawn(async move { verification.count_classes(&stream.schema(), stream, &contents).await });
        }
        let mut whole: Option<Verifier> = None;
        while let Some(verifier) = tasks.join_next().await {
            let verifier = verifier.map_err(|_| AnonymizeError::Task)??;
            match &mut whole {
                None => whole = Some(verifier),
                Some(whole) => whole.merge(verifier),
            }
        }
        let verifier = match whole {
            Some(whole) => whole,
            None => self.verifier(schema)?,
        };
        let (checksum, exposure) = self.merged(&contents, schema)?;
        let is_valid = !verifier.is_scattered();
        Ok(is_valid.then(|| self.verified(CountedRows { verifier, checksum, exposure })))
    }

    fn verified(&self, counted: CountedRows) -> VerifiedTable {
        let CountedRows { verifier, checksum, exposure } = counted;
        let exposure = exposure.and_then(|sketch| self.exposure_of(&sketch));
        VerifiedTable { findings: verifier.finish(), checksum, exposure }
    }

    /// Returns the exposure of all rows of a sketch.
    pub(crate) fn exposure_of(&self, sketch: &ExposureSketch) -> Option<InsensitiveExposure> {
        self.exposure.as_ref().map(|check| sketch.finish(check.k))
    }

    /// Returns an empty sketch of the exposure of rows with this schema.
    pub(crate) fn sketch(&self, schema: &Schema) -> Result<Option<ExposureSketch>, AnonymizeError> {
        let Some(ExposureCheck { insensitive, sensitive, quasi, seed, .. }) = &self.exposure else { return Ok(None) };
        let column = |name: &String| {
            let field = schema.field_with_name(name).ok()?;
            Some((name.clone(), to_canonical_field(field).data_type().clone()))
        };
        let columns = |names: &[String]| names.iter().filter_map(column).collect();
        let columns =
            ExposureColumns { insensitive: columns(insensitive), sensitive: columns(sensitive), quasi: columns(quasi) };
        Ok(Some(ExposureSketch::new(columns, *seed)?))
    }

    /// Counts the rows of one stream.
    pub(crate) async fn count(
        &self,
        schema: &Schema,
        batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Unpin,
    ) -> Result<CountedRows, AnonymizeError> {
        let contents = Arc::new(ContentPool::default());
        let verifier = self.count_classes(schema, batches, &contents).await?;
        let (checksum, exposure) = self.merged(&contents, schema)?;
        Ok(CountedRows { verifier, checksum, exposure })
    }

    /// Returns the checksum and the exposure of all rows of a pool.
    fn merged(
        &self,
        contents: &ContentPool,
        schema: &Schema,
    ) -> Result<(Checksum, Option<ExposureSketch>), AnonymizeError> {
        match contents.merged() {
            (checksum, None) => Ok((checksum, self.sketch(schema)?)),
            merged => Ok(merged),
        }
    }

    /// Counts the classes of one stream. The content of its rows is added to `contents` in parallel.
    async fn count_classes(
        &self,
        schema: &Schema,
        mut batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Unpin,
        contents: &Arc<ContentPool>,
    ) -> Result<Verifier, AnonymizeError> {
        let mut verifier = self.verifier(schema)?;
        let memory = self.reservation();
        let (content_batches, mut received) = mpsc::channel::<RecordBatch>(BATCHES_BETWEEN);
        let (verification, contents) = (self.clone(), Arc::clone(contents));
        let content = SpawnedTask::spawn(async move {
            while let Some(batch) = received.recv().await {
                contents.add(&batch, &verification)?;
                tokio::task::consume_budget().await;
            }
            Ok::<_, AnonymizeError>(())
        });
        while let Some(batch) = batches.try_next().await? {
            let rows = batch.num_rows() as u64;
            // The receiver is gone only if it failed, which is returned below.
            if content_batches.send(batch.clone()).await.is_err() {
                break;
            }
            verifier.push(&batch)?;
            if let Some(memory) = &memory {
                memory.try_resize(verifier.size())?;
            }
            self.progress.advance(rows);
            tokio::task::consume_budget().await;
        }
        drop(content_batches);
        content.join().await.map_err(|_| AnonymizeError::Task)??;
        Ok(verifier)
    }

    fn reservation(&self) -> Option<MemoryReservation> {
        self.memory.as_ref().map(|pool| MemoryConsumer::new("throng verify").register(pool))
    }

    /// Returns the content of no rows of this schema.
    fn content(&self, schema: &Schema) -> Result<ReleasedContent, AnonymizeError> {
        let places = |names: &mut dyn Iterator<Item = &str>| -> Vec<usize> {
            names.filter_map(|name| schema.index_of(name).ok()).collect()
        };
        let unchanged = match &self.unchanged {
            Some(PassthroughCheck { columns, seed }) => {
                let places = places(&mut columns.iter().map(String::as_str));
                let types = places.iter().map(|place| to_canonical_field(schema.field(*place)).data_type().clone());
                Some((RowHasher::new(&types.collect::<Vec<DataType>>(), *seed)?, places))
            }
            None => None,
        };
        let exposure = self.sketch(schema)?.map(|sketch| {
            let places = places(&mut sketch.names());
            (sketch, places)
        });
        Ok(ReleasedContent { unchanged, checksum: Checksum::default(), exposure, columns: HashableColumns::default() })
    }
}

/// Number of batches that are queued to be counted.
const BATCHES_BETWEEN: usize = 2;

/// Contents of the rows of several streams. A batch is added to any of them that is idle, so there are as many as threads that
/// add batches at a time, and not as many as streams; which rows a content has does not matter once all are merged.
#[derive(Default)]
struct ContentPool {
    idle: Mutex<Vec<PooledContent>>,
}

/// A content and the memory that it has reserved.
struct PooledContent {
    content: ReleasedContent,
    memory: Option<MemoryReservation>,
}

impl ContentPool {
    fn idle(&self) -> MutexGuard<'_, Vec<PooledContent>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch.
    fn add(&self, batch: &RecordBatch, verification: &Verification) -> Result<(), AnonymizeError> {
        let idle = self.idle().pop();
        let mut pooled = match idle {
            Some(pooled) => pooled,
            None => {
                PooledContent { content: verification.content(batch.schema_ref())?, memory: verification.reservation() }
            }
        };
        pooled.content.push(batch)?;
        if let Some(memory) = &pooled.memory {
            memory.try_resize(pooled.content.size())?;
        }
        self.idle().push(pooled);
        Ok(())
    }

    /// Returns the checksum and the exposure of all rows, after the last of them was added.
    fn merged(&self) -> (Checksum, Option<ExposureSketch>) {
        let (mut checksum, mut exposure) = (Checksum::default(), None::<ExposureSketch>);
        for PooledContent { content, .. } in self.idle().drain(..) {
            checksum.merge(content.checksum);
            match (&mut exposure, content.exposure) {
                (Some(exposure), Some((sketch, _))) => exposure.merge(sketch),
                (exposure, sketch) => *exposure = sketch.map(|(sketch, _)| sketch),
            }
        }
        (checksum, exposure)
    }
}

/// Checksum and exposure of rows.
struct ReleasedContent {
    /// Hasher of the pass-through columns, and their indices.
    unchanged: Option<(RowHasher, Vec<usize>)>,
    checksum: Checksum,
    /// Sketch, and the indices of its columns.
    exposure: Option<(ExposureSketch, Vec<usize>)>,
    columns: HashableColumns,
}

impl ReleasedContent {
    /// Adds a batch.
    fn push(&mut self, batch: &RecordBatch) -> Result<(), AnonymizeError> {
        self.columns.clear(batch.num_columns());
        if let Some((hasher, places)) = &mut self.unchanged {
            self.checksum.add(hasher.hash(&self.columns.of(batch, places)?, batch.num_rows())?);
        }
        if let Some((sketch, places)) = &mut self.exposure {
            sketch.push(&self.columns.of(batch, places)?, batch.num_rows())?;
        }
        Ok(())
    }

    /// Returns the approximate memory in bytes.
    fn size(&self) -> usize {
        self.exposure.as_ref().map_or(0, |(sketch, _)| sketch.size())
    }
}

/// Columns of a batch as the row hash takes them: dictionary-encoded strings, and canonical types otherwise. Each is converted
/// once per batch.
#[derive(Default)]
struct HashableColumns {
    columns: Vec<Option<ArrayRef>>,
    encoder: DictionaryEncoder,
}

impl HashableColumns {
    /// Resets the cache for another batch.
    fn clear(&mut self, columns: usize) {
        self.columns.clear();
        self.columns.resize(columns, None);
    }

    /// Returns some columns of the batch.
    fn of(&mut self, batch: &RecordBatch, places: &[usize]) -> Result<Vec<ArrayRef>, AnonymizeError> {
        let column = |place: &usize| {
            if let Some(known) = &self.columns[*place] {
                return Ok(Arc::clone(known));
            }
            let column = batch.column(*place);
            let column = match is_text(column.data_type()) {
                true => self.encoder.compact(column).map_err(|source| AnonymizeError::Kernel("strings", source))?,
                false => to_canonical_array(column)?,
            };
            self.columns[*place] = Some(Arc::clone(&column));
            Ok(column)
        };
        places.iter().map(column).collect()
    }
}

impl Facts {
    /// Returns why a release with these facts must be refused, or `None` if it keeps its promise, no row is missing,
    /// and its classes are those of the metrics.
    pub fn refusal(&self, verified: &VerifiedTable) -> Option<&'static str> {
        let VerifiedTable { findings, checksum, .. } = verified;
        if !findings.holds() {
            return Some("a class does not satisfy the privacy model");
        }
        if *checksum != self.checksum || checksum.rows() + self.suppressed != self.rows_read {
            return Some("rows were lost, changed or doubled");
        }
        let is_described = findings.classes == self.utility.classes && findings.sum_of_squares == self.utility.dm;
        (!is_described).then_some("its classes are not those of the metrics")
    }
}

/// Verifies a release before any of its rows is emitted.
pub(crate) async fn verify_release(
    release: &Arc<Release>,
    anonymizer: &Anonymizer,
    batch_rows: usize,
    ahead: usize,
) -> Result<Findings, AnonymizeError> {
    let verification = Verification::of(anonymizer).expecting_contiguous_classes();
    let counted = verification.count(&release.schema_with_units(), release.stream_with_units(batch_rows, ahead)).await;
    let counted = counted.map_err(|error| match error {
        AnonymizeError::Verify(_) => AnonymizeError::Refused("its columns are not those of the policy"),
        other => other,
    })?;
    if counted.verifier.is_scattered() {
        return Err(AnonymizeError::Refused("its classes do not lie together"));
    }
    let verified = verification.verified(counted);
    if let Some(refusal) = release.facts().refusal(&verified) {
        return Err(AnonymizeError::Refused(refusal));
    }
    verified.check_exposure(anonymizer.policy().privacy.guards.insensitive_uniqueness)?;
    for warning in verified.exposure.iter().flat_map(InsensitiveExposure::warnings) {
        tracing::info!("{warning}");
    }
    let findings = verified.findings;
    tracing::info!(classes = findings.classes, rows = findings.rows, "release verified");
    Ok(findings)
}
