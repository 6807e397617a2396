//! One look at all rows of a plan: the survey, and what a release shows of each row besides its quasi-identifiers.
//!
//! The input is read once. What is kept of it stays in memory as long as the pool allows, and goes to disk then, so that
//! a second look is a look at the same rows, whatever happens to the input.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use throng_core::dictionary_encode::DictionaryEncoder;
use throng_core::row_hash::RowHasher;
use throng_core::survey::{CountedTuples, Domains, SUPPRESSED, Survey, SurveySpec, SurveyedValues};
use throng_policy::Binding;
use tokio::task::JoinSet;

use crate::AnonymizeError;
use crate::buffered_rows::{numbers, row_batch, row_schema};
use crate::catch_decode_panic::catch_decode_panics;
use crate::passthrough::{PassthroughColumn, passthrough_columns};
use crate::progress::{NoProgress, Progress};
use crate::resources::{Resources, reserve};
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};

/// A stream that has seen so many groups hands them out and begins to number anew.
///
/// The numbers of a chunk are found in a table that should stay in the cache of a core.
const CHUNK_GROUPS: usize = 1 << 15;

/// So many batches may be decoded ahead of those that are looked at.
const BUFFERED_BATCHES: usize = 2;

/// All rows of a plan.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) streams: Vec<StreamRows>,
    pub(crate) seen: Vec<SurveyedValues>,
    /// How many rows were read.
    pub(crate) rows: u64,
    /// How many of them are left out of the release because of their nulls.
    pub(crate) suppressed: u64,
    pub(crate) workspace: Resources,
    row_schema: SchemaRef,
    /// How many columns were surveyed.
    width: usize,
    /// For the values that were seen.
    values: MemoryReservation,
}

/// The rows of one stream.
#[derive(Debug)]
pub(crate) struct StreamRows {
    /// Rows with the number of their group in their chunk.
    pub(crate) rows: BufferedBatches,
    /// The groups of each chunk, a batch per chunk.
    pub(crate) groups: BufferedBatches,
    /// How many batches of rows each chunk has.
    pub(crate) chunk_batches: Vec<usize>,
    /// How many groups all chunks have.
    chunk_groups: u64,
}

impl StreamRows {
    /// Groups of rows that are elsewhere.
    pub(crate) fn of_groups(
        groups: BufferedBatches,
        count: u64,
        workspace: &Resources,
    ) -> Result<Self, AnonymizeError> {
        let rows = SpillBuffer::new(workspace, row_schema(&[]), &SharedQuota::new(0), "rows").finish()?;
        Ok(Self { rows, groups, chunk_batches: Vec::new(), chunk_groups: count })
    }
}

/// Which columns of the query are for what.
#[derive(Clone)]
struct SnapshotColumns {
    spec: Arc<SurveySpec>,
    /// The columns that are looked at, by name.
    columns: Vec<String>,
    /// Quasi-identifiers, then sensitive columns, by their places among `columns`.
    surveyed: Vec<usize>,
    /// What is kept, with the places of the columns that it comes from.
    kept: Vec<(usize, PassthroughColumn)>,
    /// Whether rows are kept at all; otherwise they are surveyed only.
    are_rows_kept: bool,
    rows: SchemaRef,
    seed: u64,
    progress: Arc<dyn Progress>,
    workspace: Resources,
    allowance: SharedQuota,
}

impl Snapshot {
    /// Reads all rows of a plan, its partitions in parallel. The seed keys the content hash.
    pub(crate) async fn read(
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        binding: &Binding,
        seed: u64,
        workspace: &Resources,
        progress: &Arc<dyn Progress>,
    ) -> Result<Self, AnonymizeError> {
        let reading = SnapshotColumns::new(binding, seed, true, workspace.clone(), Arc::clone(progress));
        let partitions = 0..input.output_partitioning().partition_count();
        let streams = partitions.map(|partition| input.execute(partition, Arc::clone(context)));
        Self::of_streams(streams.collect::<Result<Vec<_>, _>>()?, reading).await
    }

    /// Reads all rows of one stream.
    pub(crate) async fn of_stream(
        stream: SendableRecordBatchStream,
        binding: &Binding,
        seed: u64,
        are_rows_kept: bool,
        workspace: &Resources,
    ) -> Result<Self, AnonymizeError> {
        let reading = SnapshotColumns::new(binding, seed, are_rows_kept, workspace.clone(), Arc::new(NoProgress));
        Self::of_streams(vec![stream], reading).await
    }

    async fn of_streams(
        streams: Vec<SendableRecordBatchStream>,
        reading: SnapshotColumns,
    ) -> Result<Self, AnonymizeError> {
        let (reading, workspace) = (Arc::new(reading.clone()), &reading.workspace);
        let mut tasks = JoinSet::new();
        for (index, stream) in streams.into_iter().enumerate() {
            let (stream, reading) = (catch_decode_panics(stream), Arc::clone(&reading));
            // A file that can't be parted is one stream: then a thread decodes while another looks at what was decoded.
            let stream = spawn_buffered(stream, BUFFERED_BATCHES);
            tasks.spawn(async move { StreamSurvey::read(stream, &reading).await.map(|read| (index, read)) });
        }
        let mut parts = Vec::new();
        while let Some(done) = tasks.join_next().await {
            parts.push(done.map_err(|_| AnonymizeError::Task)??);
        }
        parts.sort_by_key(|(index, _)| *index);
        // Where some rows had to make room, the others make room for what comes next.
        let is_spilled = parts.iter().any(|(_, part)| part.rows.is_spilled());
        let mut snapshot = Self {
            streams: Vec::new(),
            seen: Vec::new(),
            rows: 0,
            suppressed: 0,
            workspace: workspace.clone(),
            row_schema: Arc::clone(&reading.rows),
            width: reading.surveyed.len(),
            values: workspace.reservation("values"),
        };
        for (_, part) in parts {
            snapshot.add(part, is_spilled)?;
        }
        Ok(snapshot)
    }

    /// No rows, of so many columns that are surveyed.
    pub(crate) fn empty(width: usize, workspace: Resources) -> Self {
        let values = workspace.reservation("values");
        let row_schema = row_schema(&[]);
        Self { streams: Vec::new(), seen: Vec::new(), rows: 0, suppressed: 0, workspace, row_schema, width, values }
    }

    /// Adds what somebody else has seen of so many rows, which are not here.
    pub(crate) fn gather(&mut self, groups: StreamRows, seen: SurveyedValues, rows: u64) -> Result<(), AnonymizeError> {
        self.rows += rows;
        self.suppressed += seen.suppressed();
        reserve(&self.values, self.values.size() + seen.size(), VALUES)?;
        self.seen.push(seen);
        self.streams.push(groups);
        Ok(())
    }

    /// How many columns were surveyed.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Merges what the streams have seen, and forgets it.
    pub(crate) fn domains(&mut self) -> Result<Domains, AnonymizeError> {
        let seen = std::mem::take(&mut self.seen);
        let (values, bytes) =
            seen.iter().fold((0, 0), |(values, bytes), seen| (values + seen.values(), bytes + seen.size()));
        reserve(&self.values, 3 * bytes + values * MERGED_BYTES, VALUES)?;
        let domains = Domains::merge(&seen)?;
        reserve(&self.values, bytes + values * VALUE_BYTES, VALUES)?;
        Ok(domains)
    }

    /// How many groups the chunks have handed out.
    pub(crate) fn groups(&self) -> u64 {
        self.streams.iter().map(|stream| stream.chunk_groups).sum()
    }

    /// Whether rows are on disk.
    pub(crate) fn is_spilled(&self) -> bool {
        self.streams.iter().any(|stream| stream.rows.is_spilled())
    }

    /// The schema of its rows.
    pub(crate) fn row_schema(&self) -> SchemaRef {
        Arc::clone(&self.row_schema)
    }

    /// The mean size of what is kept of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.bytes() as usize / ((self.rows - self.suppressed) as usize).max(1)
    }

    /// The size of what is kept of all rows.
    pub(crate) fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.rows.bytes() as u64).sum()
    }

    fn add(&mut self, mut part: StreamSurvey, is_spilled: bool) -> Result<(), AnonymizeError> {
        if is_spilled {
            part.rows.spill()?;
            part.groups.spill()?;
        }
        part.end_chunk()?;
        self.rows += part.rows_read;
        let seen = part.survey.finish()?;
        self.suppressed += seen.suppressed();
        // What is left of the survey are its values.
        drop(part.reservation);
        reserve(&self.values, self.values.size() + seen.size(), VALUES)?;
        self.seen.push(seen);
        let (rows, groups) = (part.rows.finish()?, part.groups.finish()?);
        let StreamSurvey { chunk_batches, chunk_groups, .. } = part;
        self.streams.push(StreamRows { rows, groups, chunk_batches, chunk_groups });
        Ok(())
    }
}

/// What a distinct value of a domain takes besides itself: its coordinate and its place.
const VALUE_BYTES: usize = 16;

/// What it takes while domains are built, besides three copies: its rank, its order, its place, its coordinate twice.
const MERGED_BYTES: usize = 32;

/// What runs out when values don't fit.
const VALUES: &str = "the distinct values of the quasi-identifiers";

impl SnapshotColumns {
    fn new(
        binding: &Binding,
        seed: u64,
        are_rows_kept: bool,
        workspace: Resources,
        progress: Arc<dyn Progress>,
    ) -> Self {
        let spec = survey_spec(binding);
        let quasi = binding.quasi.iter().map(|quasi| &quasi.column.name);
        let surveyed = quasi.chain(binding.sensitive.iter().map(|sensitive| &sensitive.column.name));
        let mut columns: Vec<String> = Vec::new();
        let mut place = |name: &String| match columns.iter().position(|known| known == name) {
            Some(place) => place,
            None => {
                columns.push(name.clone());
                columns.len() - 1
            }
        };
        let surveyed = surveyed.map(&mut place).collect();
        let kept = if are_rows_kept { passthrough_columns(binding) } else { Vec::new() };
        let rows = row_schema(&kept);
        let kept = kept.into_iter().map(|kept| (place(&kept.source.name), kept)).collect();
        let allowance = SharedQuota::new(workspace.memory_for_rows());
        Self {
            spec: Arc::new(spec),
            columns,
            surveyed,
            rows,
            kept,
            are_rows_kept,
            seed,
            progress,
            workspace,
            allowance,
        }
    }
}

/// The columns that are surveyed: quasi-identifiers, and then sensitive columns.
pub(crate) fn survey_spec(binding: &Binding) -> SurveySpec {
    SurveySpec {
        quasi: binding.quasi.iter().map(|q| (q.spec.clone(), q.column.data_type.clone())).collect(),
        sensitive: binding.sensitive.iter().map(|s| (s.spec.clone(), s.column.data_type.clone())).collect(),
    }
}

/// One stream on its way.
struct StreamSurvey {
    survey: Survey,
    compactor: DictionaryEncoder,
    hasher: RowHasher,
    rows: SpillBuffer,
    groups: SpillBuffer,
    chunk_batches: Vec<usize>,
    chunk_groups: u64,
    /// Batches of the current chunk.
    batches: usize,
    rows_read: u64,
    reservation: MemoryReservation,
}

impl StreamSurvey {
    async fn read(mut stream: SendableRecordBatchStream, reading: &SnapshotColumns) -> Result<Self, AnonymizeError> {
        let workspace = &reading.workspace;
        let types: Vec<DataType> = reading.kept.iter().map(|(_, kept)| kept.data_type()).collect();
        let mut read = Self {
            survey: Survey::new(Arc::clone(&reading.spec))?,
            compactor: DictionaryEncoder::default(),
            hasher: RowHasher::new(&types, reading.seed)?,
            rows: SpillBuffer::new(workspace, Arc::clone(&reading.rows), &reading.allowance, "rows"),
            groups: SpillBuffer::new(workspace, tuple_schema(), &reading.allowance, "groups"),
            chunk_batches: Vec::new(),
            chunk_groups: 0,
            batches: 0,
            rows_read: 0,
            reservation: workspace.reservation("survey"),
        };
        while let Some(batch) = stream.try_next().await? {
            if batch.num_rows() > 0 {
                read.push(&batch, reading)?;
                reading.progress.advance(batch.num_rows() as u64);
            }
        }
        Ok(read)
    }

    fn push(&mut self, batch: &RecordBatch, reading: &SnapshotColumns) -> Result<(), AnonymizeError> {
        // Strings are told apart once, for the survey and for what is kept.
        let columns = reading.columns.iter().map(|name| -> Result<ArrayRef, AnonymizeError> {
            let missing = || DataFusionError::Internal("a column of the query is missing from its result".to_owned());
            let column = batch.column_by_name(name).ok_or_else(missing)?;
            self.compactor.compact(column).map_err(|source| AnonymizeError::Kernel("compact", source))
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let surveyed: Vec<ArrayRef> = reading.surveyed.iter().map(|place| Arc::clone(&columns[*place])).collect();
        let groups = self.survey.push(&surveyed)?;
        reserve(&self.reservation, self.survey.size(), VALUES)?;
        self.rows_read += batch.num_rows() as u64;
        self.batches += 1;
        if reading.are_rows_kept {
            self.keep(&columns, groups, reading)?;
        }
        if self.survey.groups() >= CHUNK_GROUPS {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn keep(
        &mut self,
        columns: &[ArrayRef],
        groups: Vec<u32>,
        reading: &SnapshotColumns,
    ) -> Result<(), AnonymizeError> {
        let kept = reading.kept.iter().map(|(place, kept)| kept.of(&columns[*place], &mut self.compactor));
        let kept = kept.collect::<Result<Vec<_>, AnonymizeError>>()?;
        let content = self.hasher.hash(&kept, groups.len())?;
        self.rows.push(released_rows(row_batch(&reading.rows, groups, content, kept)?)?)
    }

    fn end_chunk(&mut self) -> Result<(), AnonymizeError> {
        self.chunk_groups += self.survey.groups() as u64;
        self.groups.push(pack(&self.survey.take_groups())?)?;
        self.chunk_batches.push(std::mem::take(&mut self.batches));
        Ok(())
    }
}

/// The rows that are not left out.
fn released_rows(rows: RecordBatch) -> Result<RecordBatch, AnonymizeError> {
    if !numbers(&rows).contains(&SUPPRESSED) {
        return Ok(rows);
    }
    let is_kept: BooleanArray = numbers(&rows).iter().map(|number| Some(*number != SUPPRESSED)).collect();
    filter_record_batch(&rows, &is_kept).map_err(|source| AnonymizeError::Kernel("filter", source))
}

/// The schema of tuples: one list of numbers, each tuple followed by its rows.
pub(crate) fn tuple_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("numbers", DataType::UInt32, false)]))
}

/// Tuples as a batch.
pub(crate) fn pack(tuples: &CountedTuples) -> Result<RecordBatch, AnonymizeError> {
    let mut numbers = Vec::with_capacity(tuples.len() * (tuples.width() + 1));
    for (tuple, rows) in tuples.iter() {
        numbers.extend_from_slice(tuple);
        numbers.push(rows);
    }
    let column: ArrayRef = Arc::new(UInt32Array::from(numbers));
    RecordBatch::try_new(tuple_schema(), vec![column]).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// The tuples of this width in a batch, with their rows.
pub(crate) fn unpack(batch: &RecordBatch, width: usize) -> impl ExactSizeIterator<Item = (&[u32], u32)> {
    numbers(batch).chunks_exact(width + 1).map(move |entry| (&entry[..width], entry[width]))
}
