//! Reads all rows of a plan once: surveys them, and buffers their pass-through columns.
//!
//! Buffered rows stay in memory as long as the pool allows and are spilled otherwise, so later passes see the same rows
//! even if the input changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, SendableRecordBatchStream};
use futures::TryStreamExt;
use throng_core::CoreError;
use throng_core::dictionary_encode::DictionaryEncoder;
use throng_core::row_hash::RowHasher;
use throng_core::survey::{
    CountedTuples, Domains, ProjectedSurvey, RankedKeys, SORTED_TOGETHER, SUPPRESSED, Survey, SurveySpec,
    SurveyedValues,
};
use throng_core::table::Table;
use throng_policy::{Binding, UNIT_COLUMN};
use tokio::task::JoinSet;

use crate::AnonymizeError;
use crate::buffered_rows::{numbers, row_batch, row_schema};
use crate::catch_decode_panic::catch_decode_panics;
use crate::groups::PartSizes;
use crate::passthrough::{PassthroughColumn, passthrough_columns};
use crate::progress::{NoProgress, Progress};
use crate::rank_keys::rank_keys;
use crate::resources::{Resources, reserve};
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};
use crate::spilled_values::{KeyBuffer, SpilledColumn, StreamKeys};
use crate::unit_column::{UnitColumn, unit_spec};

/// Number of groups after which a stream ends its chunk and restarts group numbering.
///
/// The group table of a chunk should fit into the cache of a core.
const CHUNK_GROUPS: usize = 1 << 15;

/// Number of batches that are decoded ahead of the survey.
const BUFFERED_BATCHES: usize = 2;

/// Survey and buffered rows of a plan.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) streams: Vec<StreamRows>,
    pub(crate) seen: Vec<SurveyedValues>,
    /// Number of rows read.
    pub(crate) rows: u64,
    /// Number of rows suppressed because of nulls.
    pub(crate) suppressed: u64,
    pub(crate) workspace: Resources,
    row_schema: SchemaRef,
    /// Number of surveyed columns.
    width: usize,
    /// Memory for the surveyed values.
    values: MemoryReservation,
    /// Keys of the columns whose values were spilled, by stream, until they are ranked.
    keys: Vec<Vec<StreamKeys>>,
    spilled: Arc<Vec<SpilledColumn>>,
}

/// Buffered rows of one stream.
#[derive(Debug)]
pub(crate) struct StreamRows {
    /// Rows, with their group id within the chunk.
    pub(crate) rows: BufferedBatches,
    /// Groups of the chunks, one batch per chunk.
    pub(crate) groups: BufferedBatches,
    /// Number of row batches per chunk.
    pub(crate) chunk_batches: Vec<usize>,
    /// Number of groups over all chunks.
    chunk_groups: u64,
}

impl StreamRows {
    /// Wraps the groups of a remote stream, without its rows.
    pub(crate) fn of_groups(
        groups: BufferedBatches,
        count: u64,
        workspace: &Resources,
    ) -> Result<Self, AnonymizeError> {
        let rows = SpillBuffer::new(workspace, row_schema(&[]), &SharedQuota::new(0), "rows").finish()?;
        Ok(Self { rows, groups, chunk_batches: Vec::new(), chunk_groups: count })
    }
}

/// Mapping of input columns to their use.
#[derive(Clone)]
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
    rows: SchemaRef,
    seed: u64,
    progress: Arc<dyn Progress>,
    workspace: Resources,
    allowance: SharedQuota,
    /// Memory that the values of one column of one stream may use before they are spilled.
    most_values: usize,
    /// Approximate number of rows of each stream, if known.
    stream_rows: Option<u64>,
    /// Number of streams.
    streams: usize,
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
        let reading = SnapshotColumns { most_values, stream_rows, streams: streams.len(), ..reading };
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
        let (reading, workspace) = (Arc::new(reading.clone()), &reading.workspace);
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
        for (_, part) in &mut parts {
            part.end_chunk(&reading)?;
        }
        // If any stream was spilled, spill all of them to free memory for the next stages.
        let is_spilled = parts.iter().any(|(_, part)| part.rows.is_spilled());
        let keyed = parts.iter().flat_map(|(_, part)| part.keys.iter().map(|keys| keys.column));
        let keyed: BTreeSet<usize> = keyed.collect();
        for (_, part) in &mut parts {
            part.spill_values(&keyed, workspace)?;
        }
        let mut snapshot = Self {
            streams: Vec::new(),
            seen: Vec::new(),
            rows: 0,
            suppressed: 0,
            workspace: workspace.clone(),
            row_schema: Arc::clone(&reading.rows),
            width: reading.surveyed.len(),
            values: workspace.reservation("values"),
            keys: Vec::new(),
            spilled: Arc::default(),
        };
        for (_, part) in parts {
            snapshot.add(part, is_spilled)?;
        }
        Ok(snapshot)
    }

    /// Creates a snapshot without rows, of `width` surveyed columns.
    pub(crate) fn empty(width: usize, workspace: Resources) -> Self {
        let values = workspace.reservation("values");
        let row_schema = row_schema(&[]);
        let (streams, seen, keys, spilled) = (Vec::new(), Vec::new(), Vec::new(), Arc::default());
        Self { streams, seen, rows: 0, suppressed: 0, workspace, row_schema, width, values, keys, spilled }
    }

    /// Merges the values and groups of a remote partition with `rows` rows; the rows stay there.
    pub(crate) fn gather(&mut self, groups: StreamRows, seen: SurveyedValues, rows: u64) -> Result<(), AnonymizeError> {
        self.rows += rows;
        self.suppressed += seen.suppressed();
        reserve(&self.values, self.values.size() + seen.size(), VALUES)?;
        self.seen.push(seen);
        self.streams.push(groups);
        Ok(())
    }

    /// Number of surveyed columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the columns whose values are not in memory, in order, once [`Snapshot::domains`] has ranked them.
    pub(crate) fn spilled(&self) -> &Arc<Vec<SpilledColumn>> {
        &self.spilled
    }

    /// Merges the values of all streams into domains, and drops them.
    pub(crate) fn domains(&mut self) -> Result<Domains, AnonymizeError> {
        let mut columns: BTreeMap<usize, Vec<StreamKeys>> = BTreeMap::new();
        for keys in std::mem::take(&mut self.keys).into_iter().flatten() {
            columns.entry(keys.column).or_default().push(keys);
        }
        let spilled = columns.into_values().map(|streams| rank_keys(streams, &self.workspace));
        self.spilled = Arc::new(spilled.collect::<Result<_, _>>()?);
        let ranked: Vec<RankedKeys> = self.spilled.iter().map(|column| column.ranked).collect();
        let seen = std::mem::take(&mut self.seen);
        let (values, bytes) =
            seen.iter().fold((0, 0), |(values, bytes), seen| (values + seen.values(), bytes + seen.size()));
        let reserved = reserve(&self.values, merging_bytes(values, bytes), VALUES);
        let groups = self.groups() as usize;
        let least =
            || self.workspace.least_beside_rows(domain_bytes(values, bytes, groups, self.width), self.bytes() as usize);
        reserved.map_err(|error| error.replace_least(least))?;
        let domains = Domains::with_ranked(seen, &ranked)?;
        reserve(&self.values, bytes + values * VALUE_BYTES, VALUES)?;
        Ok(domains)
    }

    /// Returns the memory of the distinct values, in bytes.
    pub(crate) fn values_size(&self) -> usize {
        self.values.size()
    }

    /// Returns the number of groups over all chunks.
    pub(crate) fn groups(&self) -> u64 {
        self.streams.iter().map(|stream| stream.chunk_groups).sum()
    }

    /// Returns whether rows were spilled.
    pub(crate) fn is_spilled(&self) -> bool {
        self.streams.iter().any(|stream| stream.rows.is_spilled())
    }

    /// Returns the schema of buffered rows.
    pub(crate) fn row_schema(&self) -> SchemaRef {
        Arc::clone(&self.row_schema)
    }

    /// Returns the mean size of a buffered row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.bytes() as usize / ((self.rows - self.suppressed) as usize).max(1)
    }

    /// Returns the size of all buffered rows.
    pub(crate) fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.rows.bytes() as u64).sum()
    }

    fn add(&mut self, mut part: StreamSurvey, is_spilled: bool) -> Result<(), AnonymizeError> {
        if is_spilled {
            part.rows.spill()?;
            part.groups.spill()?;
        }
        self.rows += part.rows_read;
        let seen = part.survey.finish()?;
        self.suppressed += seen.suppressed();
        // Only the values of the survey remain.
        drop(part.reservation);
        reserve(&self.values, self.values.size() + seen.size(), VALUES)?;
        self.seen.push(seen);
        self.keys.push(part.keys.into_iter().map(KeyBuffer::finish).collect::<Result<_, _>>()?);
        let (rows, groups) = (part.rows.finish()?, part.groups.finish()?);
        let StreamSurvey { chunk_batches, chunk_groups, .. } = part;
        self.streams.push(StreamRows { rows, groups, chunk_batches, chunk_groups });
        Ok(())
    }
}

/// Divisor of the memory for rows: the share that the values of one column may use before they are spilled.
const VALUES_SHARE: usize = 8;

/// Memory per group, besides its tuple, while groups are counted and put in order.
const GROUP_BYTES: usize = 96;

/// Memory per distinct value of a domain besides the value: coordinate and position.
const VALUE_BYTES: usize = 16;

/// Returns the memory for merging distinct values of this size.
fn merging_bytes(values: usize, bytes: usize) -> usize {
    // Values are copied, ordered by an index if they are not numbers, and ranked. Then domains are built: coordinates in
    // two steps, and positions.
    let (ranking, building) = (3 * bytes + 12 * values, bytes + 24 * values);
    // Numbers are sorted in ranges: keys and indices, twice.
    ranking.max(building) + 32 * values.min(SORTED_TOGETHER)
}

/// Returns the memory until the rows of `width` surveyed columns are grouped, with distinct values of this size.
fn domain_bytes(values: usize, bytes: usize, groups: usize, width: usize) -> usize {
    let grouped = groups.min(PartSizes::default().most_groups) * (size_of::<u32>() * width + GROUP_BYTES);
    merging_bytes(values, bytes).max(bytes + values * VALUE_BYTES + grouped)
}

/// Maximum number of rows and bytes of a stream in projections: a file may declare any number.
const MAX_ROWS: u64 = 1 << 40;
const MAX_BYTES: usize = 1 << 48;

/// Name of the resource in the out-of-memory error.
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
        let allowance = SharedQuota::new(workspace.memory_for_rows());
        Self {
            spec: Arc::new(spec),
            columns,
            surveyed,
            unit,
            rows,
            kept,
            are_rows_kept,
            seed,
            progress,
            workspace,
            allowance,
            most_values: usize::MAX,
            stream_rows: None,
            streams: 1,
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
    survey: Survey,
    compactor: DictionaryEncoder,
    hasher: RowHasher,
    rows: SpillBuffer,
    groups: SpillBuffer,
    /// Columns whose values are spilled.
    keys: Vec<KeyBuffer>,
    chunk_batches: Vec<usize>,
    chunk_groups: u64,
    /// Number of batches in the current chunk.
    batches: usize,
    rows_read: u64,
    reservation: MemoryReservation,
}

impl StreamSurvey {
    async fn read(mut stream: SendableRecordBatchStream, reading: &SnapshotColumns) -> Result<Self, AnonymizeError> {
        let workspace = &reading.workspace;
        // The unit is not released, so neither order nor checksum of the rows may depend on it. It comes last.
        let released = reading.kept.iter().filter(|(_, kept)| kept.source.name != UNIT_COLUMN);
        let types: Vec<DataType> = released.map(|(_, kept)| kept.data_type()).collect();
        let mut read = Self {
            survey: Survey::new(Arc::clone(&reading.spec))?,
            compactor: DictionaryEncoder::default(),
            hasher: RowHasher::new(&types, reading.seed)?,
            rows: SpillBuffer::new(workspace, Arc::clone(&reading.rows), &reading.allowance, "rows"),
            groups: SpillBuffer::new(workspace, tuple_schema(), &reading.allowance, "groups"),
            keys: Vec::new(),
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
        let columns = reading.of_batch(batch, &mut self.compactor)?;
        let surveyed = reading.surveyed(&columns);
        let before = self.survey.value_counts();
        let groups = self.survey.push(&surveyed)?;
        self.rows_read += batch.num_rows() as u64;
        let reserved = reserve(&self.reservation, self.survey.size(), VALUES);
        reserved.map_err(|error| error.replace_least(|| self.least(reading, &before, batch.num_rows())))?;
        self.batches += 1;
        if reading.are_rows_kept {
            self.keep(&columns, groups, reading)?;
        }
        if self.survey.groups() >= CHUNK_GROUPS {
            self.end_chunk(reading)?;
        }
        Ok(())
    }

    /// Returns the size of a pool in which the domains of all rows would fit, assuming that the remaining rows have new values at
    /// the rate of the last batch. `before` counts the values before that batch.
    fn least(&self, reading: &SnapshotColumns, before: &[usize], batch_rows: usize) -> Option<u64> {
        let (stream_rows, streams) = (reading.stream_rows?.min(MAX_ROWS), reading.streams);
        let rest = stream_rows.saturating_sub(self.rows_read) as f64 / batch_rows.max(1) as f64;
        let times = |column: usize, count: usize| {
            let times = 1.0 + (count - before[column]) as f64 * rest / count.max(1) as f64;
            // Values that are numbers are spilled.
            let is_spilled = column < reading.spec.quasi.len() && reading.spec.has_order_keys(column);
            let most = reading.most_values as f64 / self.survey.values_size(column).max(1) as f64;
            if is_spilled { times.min(most.max(1.0)) } else { times }
        };
        let times: Vec<f64> =
            self.survey.value_counts().into_iter().enumerate().map(|(column, count)| times(column, count)).collect();
        let ProjectedSurvey { values, bytes, memory } = self.survey.projected(&times);
        let [bytes, memory] = [bytes, memory].map(|bytes| bytes.min(MAX_BYTES) * streams);
        let rows = stream_rows as usize * streams;
        let of_domains = domain_bytes(values * streams, bytes, rows, reading.surveyed.len());
        let buffered = match self.rows.is_spilled() || self.groups.is_spilled() {
            true => usize::MAX,
            false => {
                let held = self.rows.held_bytes() + self.groups.held_bytes();
                rows.saturating_mul(held.div_ceil(self.rows_read.max(1) as usize))
            }
        };
        reading.workspace.least_beside_rows(of_domains.max(memory), buffered)
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

    fn end_chunk(&mut self, reading: &SnapshotColumns) -> Result<(), AnonymizeError> {
        self.chunk_groups += self.survey.groups() as u64;
        self.groups.push(pack(&self.survey.take_groups())?)?;
        self.chunk_batches.push(std::mem::take(&mut self.batches));
        for keys in &mut self.keys {
            keys.push(&mut self.survey)?;
        }
        let is_large = |column: &usize| self.survey.values_size(*column) > reading.most_values;
        let large = (0..reading.spec.quasi.len()).filter(|column| reading.spec.has_order_keys(*column));
        let large: BTreeSet<usize> = large.filter(is_large).collect();
        self.spill_values(&large, &reading.workspace)
    }

    /// Spills the values of these columns, unless they are spilled already. Must be called at the end of a chunk.
    fn spill_values(&mut self, columns: &BTreeSet<usize>, workspace: &Resources) -> Result<(), AnonymizeError> {
        for column in columns {
            if self.keys.iter().all(|keys| keys.column != *column) {
                self.keys.push(KeyBuffer::new(&mut self.survey, *column, self.chunk_batches.len(), workspace)?);
            }
        }
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

/// Returns the schema of packed tuples: one list of numbers, each tuple followed by its number of rows.
pub(crate) fn tuple_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("numbers", DataType::UInt32, false)]))
}

/// Packs tuples into a batch.
pub(crate) fn pack(tuples: &CountedTuples) -> Result<RecordBatch, AnonymizeError> {
    let mut numbers = Vec::with_capacity(tuples.len() * (tuples.width() + 1));
    for (tuple, rows) in tuples.iter() {
        numbers.extend_from_slice(tuple);
        numbers.push(rows);
    }
    number_batch(numbers)
}

/// Returns a batch of numbers.
pub(crate) fn number_batch(numbers: Vec<u32>) -> Result<RecordBatch, AnonymizeError> {
    let column: ArrayRef = Arc::new(UInt32Array::from(numbers));
    RecordBatch::try_new(tuple_schema(), vec![column]).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// Unpacks the tuples of a batch, with their numbers of rows.
pub(crate) fn unpack(batch: &RecordBatch, width: usize) -> impl ExactSizeIterator<Item = (&[u32], u32)> {
    numbers(batch).chunks_exact(width + 1).map(move |entry| (&entry[..width], entry[width]))
}
