//! Reads all rows of a plan once: surveys them, and buffers their pass-through columns.
//!
//! Buffered rows stay in memory as long as the pool allows and are spilled otherwise, so later passes see the same rows
//! even if the input changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use throng_core::CoreError;
use throng_core::dictionary_encode::DictionaryEncoder;
use throng_core::out_of_core::{ChunkedSurvey, SharedQuota, SurveyLimits, TableSurvey, Workspace};
use throng_core::progress::{NoProgress, Progress};
use throng_core::row_hash::RowHasher;
use throng_core::survey::{SUPPRESSED, Survey, SurveySpec};
use throng_core::table::Table;
use throng_policy::{Binding, UNIT_COLUMN};
use tokio::task::JoinSet;

use crate::AnonymizeError;
use crate::borrowed_rows::{borrowed_bytes, is_in_memory};
use crate::buffered_rows::{numbers, row_batch, row_schema};
use crate::catch_decode_panic::catch_decode_panics;
use crate::passthrough::{PassthroughColumn, passthrough_columns};
use crate::resources::Resources;
use crate::spill_buffer::{BufferedBatches, SpillBuffer};
use crate::unit_column::{UnitColumn, unit_spec};

/// Number of batches that are decoded ahead of the survey.
const BUFFERED_BATCHES: usize = 2;

/// Divisor of the memory for rows: the share that the values of one column may use before they are spilled.
const VALUES_SHARE: usize = 8;

/// Survey and buffered rows of a plan.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Values and groups of all rows.
    pub(crate) survey: TableSurvey,
    /// Rows of each stream.
    pub(crate) streams: Vec<StreamRows>,
    pub(crate) workspace: Resources,
    row_schema: SchemaRef,
}

/// Buffered rows of one stream.
#[derive(Debug)]
pub(crate) struct StreamRows {
    /// Rows, with their group id within the chunk.
    pub(crate) rows: BufferedBatches,
    pub(crate) chunks: Vec<RowChunk>,
}

/// A chunk of buffered rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowChunk {
    /// Number of batches whose group ids belong to the chunk.
    pub(crate) batches: usize,
    /// Number of groups; ids of the chunk are below it.
    pub(crate) groups: usize,
}

/// Mapping of input columns to their use.
struct SnapshotColumns {
    spec: Arc<SurveySpec>,
    /// Names of the columns that are read.
    columns: Vec<String>,
    /// Quasi-identifiers, then sensitive columns, as indices into `columns`.
    surveyed: Vec<usize>,
    /// Unit of each row, which is derived and follows `columns`.
    unit: Option<UnitColumn>,
    /// Pass-through columns, with their indices into `columns`.
    kept: Vec<(usize, PassthroughColumn)>,
    /// Whether rows are buffered; otherwise they are only surveyed.
    are_rows_kept: bool,
    /// Whether the host holds the rows too, so that buffering them needs no copy.
    are_rows_borrowed: bool,
    rows: SchemaRef,
    seed: u64,
    progress: Arc<dyn Progress>,
    workspace: Resources,
    quota: SharedQuota,
    limits: SurveyLimits,
}

impl Snapshot {
    /// Reads all rows of a plan, its partitions in parallel. `seed` keys the row hash. `expected_rows` is their approximate number,
    /// if known.
    pub(crate) async fn read(
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        binding: &Binding,
        seed: u64,
        expected_rows: Option<u64>,
        workspace: &Resources,
        progress: &Arc<dyn Progress>,
    ) -> Result<Self, AnonymizeError> {
        let reading = SnapshotColumns::new(binding, seed, true, workspace.clone(), Arc::clone(progress));
        let partitions = 0..input.output_partitioning().partition_count();
        let streams = partitions.map(|partition| input.execute(partition, Arc::clone(context)));
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let most_values = workspace.memory_for_rows() / VALUES_SHARE / streams.len().max(1);
        let known = StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new());
        let known = known.ok().and_then(|known| known.num_rows.get_value().copied());
        let rows = expected_rows.or(known.map(|rows| rows as u64));
        let stream_rows = rows.map(|rows| rows.div_ceil(streams.len().max(1) as u64));
        let limits = SurveyLimits { most_values, stream_rows, streams: streams.len() };
        let reading = SnapshotColumns { limits, are_rows_borrowed: is_in_memory(input), ..reading };
        Self::of_streams(streams, reading).await
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
        let reading = Arc::new(reading);
        let mut tasks = JoinSet::new();
        for (index, stream) in streams.into_iter().enumerate() {
            let (stream, reading) = (catch_decode_panics(stream), Arc::clone(&reading));
            // A file that can't be split is a single stream; decode it on one thread while another surveys.
            let stream = spawn_buffered(stream, BUFFERED_BATCHES);
            tasks.spawn(async move { StreamSurvey::read(stream, &reading).await.map(|read| (index, read)) });
        }
        let mut parts = Vec::new();
        while let Some(done) = tasks.join_next().await {
            parts.push(done.map_err(|_| AnonymizeError::Task)??);
        }
        parts.sort_by_key(|(index, _)| *index);
        let mut parts: Vec<StreamSurvey> = parts.into_iter().map(|(_, part)| part).collect();
        for part in &mut parts {
            part.end_chunk()?;
        }
        // If any stream was spilled, spill all of them to free memory for the next stages.
        let is_spilled = parts.iter().any(|part| part.rows.is_spilled());
        let columns: BTreeSet<usize> = parts.iter().flat_map(|part| part.survey.spilled_columns()).collect();
        for part in &mut parts {
            part.survey.spill_values(&columns)?;
        }
        let mut snapshot = Self {
            survey: TableSurvey::new(reading.surveyed.len(), reading.workspace.workspace()),
            streams: Vec::new(),
            workspace: reading.workspace.clone(),
            row_schema: Arc::clone(&reading.rows),
        };
        for part in parts {
            snapshot.add(part, is_spilled)?;
        }
        Ok(snapshot)
    }

    fn add(&mut self, part: StreamSurvey, is_spilled: bool) -> Result<(), AnonymizeError> {
        let StreamSurvey { mut survey, mut rows, chunks, .. } = part;
        if is_spilled {
            rows.spill()?;
            survey.spill_groups()?;
        }
        self.survey.add(survey)?;
        let rows = rows.finish()?;
        self.survey.add_buffered_rows(rows.bytes(), rows.is_spilled());
        self.streams.push(StreamRows { rows, chunks });
        Ok(())
    }

    /// Returns the number of rows that are not suppressed.
    pub(crate) fn kept_rows(&self) -> u64 {
        self.survey.rows() - self.survey.suppressed()
    }

    /// Returns whether rows were spilled.
    pub(crate) fn is_spilled(&self) -> bool {
        self.survey.are_rows_spilled()
    }

    /// Returns the schema of buffered rows.
    pub(crate) fn row_schema(&self) -> SchemaRef {
        Arc::clone(&self.row_schema)
    }

    /// Returns the mean size of a buffered row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.survey.row_bytes() as usize / (self.kept_rows() as usize).max(1)
    }
}

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
        let mut surveyed: Vec<usize> = surveyed.map(&mut place).collect();
        let kept = if are_rows_kept { passthrough_columns(binding) } else { Vec::new() };
        let rows = row_schema(&kept);
        let unit = binding.unit.as_ref().map(|unit| UnitColumn::new(unit, seed, &mut place));
        let of_input = kept.iter().filter(|kept| kept.source.name != UNIT_COLUMN);
        let mut places: Vec<usize> = of_input.map(|kept| place(&kept.source.name)).collect();
        // The derived unit comes last.
        surveyed.extend(unit.as_ref().map(|_| columns.len()));
        places.resize(kept.len(), columns.len());
        let kept = places.into_iter().zip(kept).collect();
        let quota = SharedQuota::new(workspace.memory_for_rows());
        Self {
            spec: Arc::new(spec),
            columns,
            surveyed,
            unit,
            rows,
            kept,
            are_rows_kept,
            are_rows_borrowed: false,
            seed,
            progress,
            workspace,
            quota,
            limits: SurveyLimits { most_values: usize::MAX, stream_rows: None, streams: 1 },
        }
    }
}

impl SnapshotColumns {
    /// Returns the columns of a batch, followed by the unit if there is one. Strings are dictionary-encoded once, for
    /// survey and buffer.
    fn of_batch(
        &self,
        batch: &RecordBatch,
        compactor: &mut DictionaryEncoder,
    ) -> Result<Vec<ArrayRef>, AnonymizeError> {
        let columns = self.columns.iter().map(|name| -> Result<ArrayRef, AnonymizeError> {
            let missing = || DataFusionError::Internal("a column of the query is missing from its result".to_owned());
            let column = batch.column_by_name(name).ok_or_else(missing)?;
            compactor.compact(column).map_err(|source| AnonymizeError::Kernel("compact", source))
        });
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        if let Some(unit) = &self.unit {
            columns.push(unit.of(&columns, batch.num_rows())?);
        }
        Ok(columns)
    }

    /// Returns a hasher of the released columns. The unit is not released, so neither order nor checksum of the rows may depend
    /// on it. It comes last.
    fn hasher(&self) -> Result<RowHasher, AnonymizeError> {
        let released = self.kept.iter().filter(|(_, kept)| kept.source.name != UNIT_COLUMN);
        let types: Vec<DataType> = released.map(|(_, kept)| kept.data_type()).collect();
        Ok(RowHasher::new(&types, self.seed)?)
    }

    /// Returns the rows of a batch as they are buffered, with these numbers. Text may be borrowed from the batch of a host.
    fn kept_rows(
        &self,
        columns: &[ArrayRef],
        host: Option<&RecordBatch>,
        numbers: Vec<u32>,
        compactor: &mut DictionaryEncoder,
        hasher: &mut RowHasher,
    ) -> Result<RecordBatch, AnonymizeError> {
        let kept = self.kept.iter().map(|(place, kept)| kept.of(&columns[*place], compactor));
        let mut kept = kept.collect::<Result<Vec<_>, AnonymizeError>>()?;
        let content = hasher.hash(&kept, numbers.len())?;
        if let Some(host) = host {
            for (column, (_, kept)) in kept.iter_mut().zip(&self.kept) {
                if let Some(borrowed) = kept.borrowed(column, host) {
                    *column = borrowed;
                }
            }
        }
        row_batch(&self.rows, numbers, content, kept)
    }

    /// Returns the surveyed ones among the columns of a batch.
    fn surveyed(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.surveyed.iter().map(|place| Arc::clone(&columns[*place])).collect()
    }
}

/// Surveys rows in memory. Returns their cells, and the group of each row or [`SUPPRESSED`]; `None` if all rows are
/// suppressed.
pub(crate) fn survey_rows(
    rows: &RecordBatch,
    binding: &Binding,
    seed: u64,
    workspace: &Resources,
) -> Result<Option<(Table, Vec<u32>)>, AnonymizeError> {
    let reading = SnapshotColumns::new(binding, seed, false, workspace.clone(), Arc::new(NoProgress));
    let columns = reading.of_batch(rows, &mut DictionaryEncoder::default())?;
    let mut survey = Survey::new(Arc::clone(&reading.spec))?;
    let numbers = survey.push(&reading.surveyed(&columns))?;
    let merged = match Survey::merge(vec![survey]) {
        Err(CoreError::NoRows { .. }) => return Ok(None),
        merged => merged?,
    };
    let group = |number: u32| if number == SUPPRESSED { SUPPRESSED } else { merged.groups[0][number as usize] };
    let groups = numbers.into_iter().map(group).collect();
    Ok(Some((merged.table, groups)))
}

/// Returns rows as they are buffered for a release, with these numbers.
pub(crate) fn buffered_rows(
    rows: &RecordBatch,
    numbers: Vec<u32>,
    binding: &Binding,
    seed: u64,
    workspace: &Resources,
) -> Result<RecordBatch, AnonymizeError> {
    let reading = SnapshotColumns::new(binding, seed, true, workspace.clone(), Arc::new(NoProgress));
    let mut compactor = DictionaryEncoder::default();
    let columns = reading.of_batch(rows, &mut compactor)?;
    reading.kept_rows(&columns, None, numbers, &mut compactor, &mut reading.hasher()?)
}

/// Returns the surveyed columns: quasi-identifiers, then sensitive columns.
pub(crate) fn survey_spec(binding: &Binding) -> SurveySpec {
    SurveySpec {
        quasi: binding.quasi.iter().map(|q| (q.spec.clone(), q.column.data_type.clone())).collect(),
        sensitive: binding
            .sensitive
            .iter()
            .map(|s| (s.spec.clone(), s.column.data_type.clone()))
            .chain(binding.unit.as_ref().map(|_| unit_spec()))
            .collect(),
    }
}

/// State of the survey of one stream.
struct StreamSurvey {
    survey: ChunkedSurvey,
    compactor: DictionaryEncoder,
    hasher: RowHasher,
    rows: SpillBuffer,
    chunks: Vec<RowChunk>,
    /// Number of batches in the current chunk.
    batches: usize,
}

impl StreamSurvey {
    async fn read(mut stream: SendableRecordBatchStream, reading: &SnapshotColumns) -> Result<Self, AnonymizeError> {
        let workspace = &reading.workspace;
        let spec = Arc::clone(&reading.spec);
        let mut read = Self {
            survey: ChunkedSurvey::new(spec, reading.limits, &reading.quota, workspace.workspace())?,
            compactor: DictionaryEncoder::default(),
            hasher: reading.hasher()?,
            rows: SpillBuffer::new(workspace, Arc::clone(&reading.rows), &reading.quota, "rows"),
            chunks: Vec::new(),
            batches: 0,
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
        let columns = reading.of_batch(batch, &mut self.compactor)?;
        let row_bytes = (!self.rows.is_spilled()).then(|| self.rows.held_bytes());
        let groups = self.survey.push(&reading.surveyed(&columns), batch.num_rows(), row_bytes)?;
        self.batches += 1;
        if reading.are_rows_kept {
            self.keep(batch, &columns, groups, reading)?;
        }
        if self.survey.is_chunk_full() {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn keep(
        &mut self,
        batch: &RecordBatch,
        columns: &[ArrayRef],
        groups: Vec<u32>,
        reading: &SnapshotColumns,
    ) -> Result<(), AnonymizeError> {
        let host = reading.are_rows_borrowed.then_some(batch);
        let rows = reading.kept_rows(columns, host, groups, &mut self.compactor, &mut self.hasher)?;
        let rows = released_rows(rows)?;
        match host {
            None => self.rows.push(rows),
            Some(_) => {
                let bytes = borrowed_bytes(&rows)?;
                self.rows.push_sized(rows, bytes)
            }
        }
    }

    fn end_chunk(&mut self) -> Result<(), AnonymizeError> {
        let groups = self.survey.end_chunk()?;
        self.chunks.push(RowChunk { batches: std::mem::take(&mut self.batches), groups });
        Ok(())
    }
}

/// Filters out suppressed rows.
fn released_rows(rows: RecordBatch) -> Result<RecordBatch, AnonymizeError> {
    if !numbers(&rows).contains(&SUPPRESSED) {
        return Ok(rows);
    }
    let is_kept: BooleanArray = numbers(&rows).iter().map(|number| Some(*number != SUPPRESSED)).collect();
    filter_record_batch(&rows, &is_kept).map_err(|source| AnonymizeError::Kernel("filter", source))
}
