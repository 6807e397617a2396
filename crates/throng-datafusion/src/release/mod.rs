//! The release as record batches, in canonical order.

mod buckets;
mod columns;
mod held;
mod labels;
mod spilled;

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use futures::{Stream, StreamExt};
use rayon::prelude::*;
use throng_core::anonymize::Method;
use throng_core::dictionary_encode::is_text;
use throng_core::global_dictionary::GlobalDictionary;
use throng_core::metrics::Utility;
use throng_core::out_of_core::{ClassedGroups, Classes, LowestRanks, RowAssignment, Workspace};
use throng_core::recode::{Shares, released_fields};
use throng_core::risk::{BorrowedRows, ClassSizes};
use throng_core::row_hash::Checksum;
use throng_core::survey::SUPPRESSED;
use throng_core::verify::Findings;
use throng_policy::{Binding, UNIT_COLUMN};

use crate::anonymizer::Anonymizer;
use crate::buffered_rows::{content, kept_column, numbers};
use crate::passthrough::passthrough_columns;
use crate::release_plan::ReleasePlan;
use crate::resources::reserve;
use crate::snapshot::{Snapshot, StreamRows};
use crate::verification::verify_release;
use crate::{AnonymizeError, to_canonical_array, to_canonical_field};
use held::HeldRows;
pub(crate) use labels::{ClassLabels, Form, ReleasedLabels, Run};
use spilled::SpilledRows;

/// Returns the schema of a release, in the order of the input columns. Fields carry no metadata of the input. The unit of
/// privacy, which accompanies the rows until they are verified, is not part of it.
pub(crate) fn released_schema(binding: &Binding, input: &Schema) -> SchemaRef {
    let fields = columns(binding, input).into_iter().map(|(field, _)| field);
    Arc::new(Schema::new(fields.filter(|field| field.name() != UNIT_COLUMN).collect::<Vec<_>>()))
}

/// Removes the unit of privacy, which is the last column if there is one.
pub(crate) fn without_unit(batch: RecordBatch) -> Result<RecordBatch, DataFusionError> {
    match batch.schema_ref().index_of(UNIT_COLUMN) {
        Ok(unit) => Ok(batch.project(&(0..unit).collect::<Vec<_>>())?),
        Err(_) => Ok(batch),
    }
}

/// Source of a released column.
#[derive(Clone, Copy, Debug)]
enum ReleasedFrom {
    /// A label column of a quasi-identifier.
    Label { quasi: usize, part: usize },
    /// A pass-through column.
    Kept(usize),
}

fn columns(binding: &Binding, input: &Schema) -> Vec<(Field, ReleasedFrom)> {
    let mut columns: Vec<(usize, Field, ReleasedFrom)> = Vec::new();
    for (quasi, bound) in binding.quasi.iter().enumerate() {
        for (part, field) in released_fields(&bound.spec, &bound.column.data_type).into_iter().enumerate() {
            columns.push((bound.column.index, to_canonical_field(&field), ReleasedFrom::Label { quasi, part }));
        }
    }
    for (place, kept) in passthrough_columns(binding).into_iter().enumerate() {
        columns.push((kept.source.index, kept.field(input), ReleasedFrom::Kept(place)));
    }
    columns.sort_by_key(|(index, _, _)| *index);
    columns.into_iter().map(|(_, field, source)| (field, source)).collect()
}

/// Metrics of a release.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Number of input rows.
    pub rows_read: u64,
    /// Number of suppressed rows.
    pub suppressed: u64,
    /// Number of leaves of the partition.
    pub leaves: u64,
    /// Cycles of local search, minimum over all parts.
    pub cycles: u32,
    /// Method that formed the classes.
    pub method: Method,
    /// Reason for the choice of the method.
    pub reason: &'static str,
    /// Checksum of the pass-through columns.
    pub checksum: Checksum,
    /// Utility metrics.
    pub utility: Utility,
    /// Sizes of the distinct quasi-identifier tuples of the input.
    pub cells: ClassSizes,
    /// Statistics of borrowed rows.
    pub borrowed: BorrowedRows,
}

/// A release: its rows, in memory or spilled, and its metrics.
pub struct Release {
    facts: Facts,
    findings: OnceLock<Findings>,
    labels: Arc<ReleasedLabels>,
    rows: Rows,
    /// Mean size of a row in memory.
    row_bytes: usize,
}

impl std::fmt::Debug for Release {
    /// Omits the rows, since debug output must not contain data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Release").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Storage of the rows.
enum Rows {
    Held(Arc<HeldRows>),
    Spilled(SpilledRows),
}

/// Global dictionaries of the string columns among the pass-through columns.
pub(crate) struct Lexicons {
    columns: Vec<Option<GlobalDictionary>>,
}

impl Lexicons {
    /// Creates empty dictionaries for rows of this schema.
    fn new(rows: &Schema) -> Self {
        let kept = rows.fields().iter().skip(kept_column(0));
        Self { columns: kept.map(|field| is_text(field.data_type()).then(GlobalDictionary::default)).collect() }
    }

    /// Builds the dictionaries of all buffered rows.
    fn of(snapshot: &Snapshot) -> Result<Self, AnonymizeError> {
        let mut lexicons = Self::new(&snapshot.row_schema());
        if lexicons.columns.iter().all(Option::is_none) {
            return Ok(lexicons);
        }
        for stream in &snapshot.streams {
            // Spilled batches are read one by one.
            let most = if stream.rows.is_spilled() { 1 } else { usize::MAX };
            let (mut batches, mut together) = (stream.rows.read()?, Vec::new());
            while let Some(batch) = batches.next()? {
                snapshot.workspace.check()?;
                together.push(batch);
                if together.len() == most {
                    lexicons.add(&together);
                    together.clear();
                }
            }
            lexicons.add(&together);
        }
        Ok(lexicons)
    }

    /// Adds the strings of batches, the columns in parallel.
    fn add(&mut self, batches: &[RecordBatch]) {
        self.columns.par_iter_mut().enumerate().for_each(|(kept, lexicon)| {
            if let Some(lexicon) = lexicon {
                batches.iter().for_each(|rows| lexicon.add(rows.column(kept_column(kept))));
            }
        });
    }

    /// Returns the schema of encoded rows: dictionary keys, or plain strings in columns with too many distinct ones.
    fn numbered_schema(&self, rows: &Schema) -> SchemaRef {
        let lexicons = std::iter::repeat_n(&None, kept_column(0)).chain(&self.columns);
        let fields = rows.fields().iter().zip(lexicons).map(|(field, lexicon)| match lexicon {
            None => Arc::clone(field),
            Some(lexicon) => {
                let data_type = if lexicon.is_whole() { DataType::UInt32 } else { DataType::Utf8 };
                Arc::new(field.as_ref().clone().with_data_type(data_type))
            }
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Encodes rows in this schema.
    fn numbered(&mut self, rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, AnonymizeError> {
        let mut columns = rows.columns().to_vec();
        for (lexicon, column) in self.columns.iter_mut().zip(&mut columns[kept_column(0)..]) {
            match lexicon {
                Some(lexicon) if lexicon.is_whole() => {
                    *column = Arc::new(lexicon.numbers(std::slice::from_ref(column))?)
                }
                Some(_) => *column = to_canonical_array(column)?,
                None => {}
            }
        }
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
    }

    /// Returns the number of string columns with too many distinct strings for a dictionary.
    fn scattered(&self) -> usize {
        self.columns.iter().flatten().filter(|lexicon| !lexicon.is_whole()).count()
    }

    /// Returns the dictionary of each pass-through column that has one.
    fn values(&self) -> Vec<Option<ArrayRef>> {
        self.columns.iter().map(|lexicon| lexicon.as_ref().and_then(GlobalDictionary::values)).collect()
    }

    /// Returns the memory of all dictionaries.
    fn size(&self) -> usize {
        self.columns.iter().flatten().map(GlobalDictionary::size).sum()
    }
}

impl Release {
    /// Assigns the rows of a snapshot to classes. Spills them if they do not fit into memory.
    pub(crate) fn new(anonymizer: &Anonymizer, snapshot: Snapshot, classes: Classes) -> Result<Self, AnonymizeError> {
        let Classes { recoding, utility, cells, groups, borrowed, key, leaves, cycles, suppressed, memory } = classes;
        tracing::info!(classes = utility.classes, ncp = utility.ncp, "classes generalized");
        let labels_size = recoding.size();
        let (method, reason) = anonymizer.method();
        let (rows_read, row_bytes) = (snapshot.survey.rows(), snapshot.row_bytes());
        let lexicon_room = snapshot.workspace.reservation("strings");
        let group_room = snapshot.workspace.reservation("groups of all parts");
        let (mut plan, parts) = match groups {
            ClassedGroups::Whole(group_of) => (ReleasePlan::new(recoding, group_of, key), None),
            ClassedGroups::InParts(parts) => (ReleasePlan::new(recoding, Vec::new(), key), Some(parts)),
        };
        let lexicons = match snapshot.is_spilled() {
            true => None,
            false => {
                let lexicons = Lexicons::of(&snapshot)?;
                reserve(&lexicon_room, lexicons.size(), STRINGS)?;
                let have_groups_room = match &parts {
                    Some(parts) if group_room.try_resize(parts.gathered_bytes()).is_ok() => {
                        let (group_of, shares) = parts.gather()?;
                        plan = plan.with_groups(group_of, shares);
                        true
                    }
                    Some(_) => false,
                    None => true,
                };
                let room = if have_groups_room { HeldRows::room(&snapshot, &plan, &lexicons) } else { None };
                room.map(|room| (lexicons, room))
            }
        };
        let (rows, strings, checksum) = match (lexicons, parts) {
            (Some((lexicons, room)), _) => {
                let strings = lexicons.values();
                let (rows, checksum) = HeldRows::new(snapshot, room, &plan, lexicons)?;
                (Rows::Held(Arc::new(rows)), strings, checksum)
            }
            (None, None) => {
                let (rows, lexicons, checksum) = SpilledRows::new(snapshot, &plan, &lexicon_room)?;
                (Rows::Spilled(rows), lexicons.values(), checksum)
            }
            (None, Some(parts)) => {
                plan = plan.with_groups(Vec::new(), Shares::new([]));
                group_room.free();
                let (rows, lexicons, checksum) = SpilledRows::of_parts(snapshot, &plan, &parts, &lexicon_room)?;
                (Rows::Spilled(rows), lexicons.values(), checksum)
            }
        };
        let strings_size: usize = strings.iter().flatten().map(|strings| strings.get_array_memory_size()).sum();
        memory.resize(labels_size + strings_size);
        drop(lexicon_room);
        let labels = Arc::new(ReleasedLabels::new(anonymizer, plan.labels, strings, memory));
        let facts = Facts { rows_read, suppressed, leaves, cycles, method, reason, checksum, utility, cells, borrowed };
        Ok(Self { facts, findings: OnceLock::new(), labels, rows, row_bytes })
    }

    /// Returns the schema of the release.
    pub fn schema(&self) -> SchemaRef {
        self.schema_in(Form::Plain)
    }

    /// Returns the schema of [`Release::stream_of_views`]: that of the release, with strings as views.
    pub fn schema_of_views(&self) -> SchemaRef {
        self.schema_in(Form::Views)
    }

    fn schema_in(&self, form: Form) -> SchemaRef {
        let schema = self.labels.schema(form);
        match schema.index_of(UNIT_COLUMN) {
            Ok(unit) => Arc::new(Schema::new(schema.fields()[..unit].to_vec())),
            Err(_) => Arc::clone(schema),
        }
    }

    /// Returns the schema of the release, followed by the unit of privacy if the policy has one.
    pub fn schema_with_units(&self) -> SchemaRef {
        Arc::clone(self.labels.schema(Form::Plain))
    }

    /// Returns the metrics of the release.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns what the verifier found in the released rows, unless the caller verifies them.
    pub fn findings(&self) -> Option<&Findings> {
        self.findings.get()
    }

    /// Verifies all rows, before any of them is emitted.
    pub(crate) async fn verify(
        self: &Arc<Self>,
        anonymizer: &Anonymizer,
        batch_rows: usize,
        ahead: usize,
    ) -> Result<(), AnonymizeError> {
        let findings = verify_release(self, anonymizer, batch_rows, ahead).await?;
        self.findings.set(findings).map_err(|_| AnonymizeError::Task)
    }

    /// Returns the number of released rows.
    pub fn rows(&self) -> u64 {
        self.facts.checksum.rows()
    }

    /// Streams all rows in canonical order, in batches of `batch_rows` rows. If the rows are in memory, `ahead` batches
    /// are built concurrently.
    pub fn stream(
        self: &Arc<Self>,
        batch_rows: usize,
        ahead: usize,
    ) -> Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>> {
        self.stream_with_units(batch_rows, ahead).map(|batch| batch.and_then(without_unit)).boxed()
    }

    /// Like [`Release::stream`], with strings as views: a string that many rows have is in memory once per batch. Buffers hold
    /// no byte of a string that no row of the batch has.
    pub fn stream_of_views(
        self: &Arc<Self>,
        batch_rows: usize,
        ahead: usize,
    ) -> Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>> {
        self.stream_in(Form::Views, batch_rows, ahead).map(|batch| batch.and_then(without_unit)).boxed()
    }

    /// Like [`Release::stream`], with the unit of privacy as the last column if the policy has one. For verification
    /// alone: units must not be shown.
    pub fn stream_with_units(
        self: &Arc<Self>,
        batch_rows: usize,
        ahead: usize,
    ) -> Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>> {
        self.stream_in(Form::Plain, batch_rows, ahead)
    }

    /// Like [`Release::stream_with_units`], but string columns are dictionary-encoded where possible, for writers. The
    /// dictionary is shared by all batches and may have entries that no row of a batch uses.
    pub fn compact_stream_with_units(
        self: &Arc<Self>,
        batch_rows: usize,
        ahead: usize,
    ) -> Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>> {
        self.stream_in(Form::Compact, batch_rows, ahead)
    }

    fn stream_in(
        self: &Arc<Self>,
        form: Form,
        batch_rows: usize,
        ahead: usize,
    ) -> Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>> {
        let (labels, batch_rows) =
            (Arc::clone(&self.labels), batch_rows.min(rows_within(BATCH_BYTES, self.row_bytes)).max(1));
        match &self.rows {
            Rows::Held(rows) => HeldRows::stream(Arc::clone(rows), labels, form, batch_rows, ahead.max(1)).boxed(),
            Rows::Spilled(rows) => rows.stream(labels, form, batch_rows).boxed(),
        }
    }
}

/// Name of the resource in the out-of-memory error.
const STRINGS: &str = "the distinct strings of the columns that are kept";

/// Approximate size of a released batch: batches of wide rows have fewer rows.
const BATCH_BYTES: usize = 8 << 20;

/// Returns the number of rows of this mean size that together have about this size, rounded down to the batch
/// granularity of writers.
fn rows_within(bytes: usize, row_bytes: usize) -> usize {
    const TOGETHER: usize = 8 << 10;
    match bytes / row_bytes.max(1) {
        rows if rows < TOGETHER => rows,
        rows => rows / TOGETHER * TOGETHER,
    }
}

/// Returns the memory to order `rows` rows.
pub(crate) fn order_bytes(rows: u64) -> u64 {
    rows * held::ROW_BYTES as u64
}

/// Calls `then` with the batches of a stream and the group of the recoding of each row. `next_group` is the number of
/// groups in all previous chunks, and is advanced.
pub(crate) fn for_each_batch(
    stream: &StreamRows,
    group_of: &[u32],
    next_group: &mut usize,
    then: impl FnMut(&RecordBatch, Vec<u32>) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    let of_chunk = |groups: usize| -> Result<&[u32], AnonymizeError> {
        let of_chunk = &group_of[*next_group..*next_group + groups];
        *next_group += groups;
        Ok(of_chunk)
    };
    for_each_chunk_batch(stream, of_chunk, then)
}

/// Calls `then` with the batches of a stream and a value of the group of each row. `of_chunk` returns the values of the
/// groups of the next chunk, given their number.
fn for_each_chunk_batch<T: Copy, C: AsRef<[T]>>(
    stream: &StreamRows,
    of_chunk: impl FnMut(usize) -> Result<C, AnonymizeError>,
    mut then: impl FnMut(&RecordBatch, Vec<T>) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    visit_batches(stream, of_chunk, |batch, of_chunk| {
        let groups = numbers(&batch).iter().map(|group| of_chunk.as_ref()[*group as usize]).collect();
        then(&batch, groups)
    })
}

/// Calls `then` with the batches of a stream and the values of the groups of their chunk. `of_chunk` returns the values of the
/// next chunk, given the number of its groups.
fn visit_batches<C>(
    stream: &StreamRows,
    mut of_chunk: impl FnMut(usize) -> Result<C, AnonymizeError>,
    mut then: impl FnMut(RecordBatch, &C) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    let mut batches = stream.rows.read()?;
    for chunk in &stream.chunks {
        let of_chunk = of_chunk(chunk.groups)?;
        for _ in 0..chunk.batches {
            let Some(batch) = batches.next()? else { return Err(AnonymizeError::Task) };
            then(batch, &of_chunk)?;
        }
    }
    Ok(())
}

/// Returns the assignment of the rows of a snapshot to classes, and calls `and_also` with every batch.
pub(crate) fn row_assignment(
    snapshot: &Snapshot,
    plan: &ReleasePlan,
    group_of: &[u32],
    mut and_also: impl FnMut(&RecordBatch) -> Result<(), AnonymizeError>,
) -> Result<RowAssignment, AnonymizeError> {
    let mut ranks = LowestRanks::new(plan.key, snapshot.workspace.budget("row assignment"));
    let mut next_group = 0;
    for stream in &snapshot.streams {
        for_each_batch(stream, group_of, &mut next_group, |batch, groups| {
            snapshot.workspace.check()?;
            and_also(batch)?;
            Ok(ranks.add(&plan.shares, groups.iter().copied().zip(content(batch)))?)
        })?;
    }
    Ok(ranks.finish())
}

/// Returns the checksum of rows with these classes and row hashes, without suppressed rows.
fn released_checksum(classes: &[u32], content: &[u128]) -> Checksum {
    const ROWS_AT_ONCE: usize = 1 << 16;
    let of_some = |(classes, content): (&[u32], &[u128])| {
        let released = classes.iter().zip(content).filter(|(class, _)| **class != SUPPRESSED);
        let mut checksum = Checksum::default();
        checksum.add(released.map(|(_, hash)| *hash));
        checksum
    };
    let merged = |mut checksum: Checksum, other| {
        checksum.merge(other);
        checksum
    };
    classes
        .par_chunks(ROWS_AT_ONCE)
        .zip(content.par_chunks(ROWS_AT_ONCE))
        .map(of_some)
        .reduce(Checksum::default, merged)
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
