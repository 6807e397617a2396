//! A release as record batches, in canonical order.

mod columns;
mod deal;
mod held;
mod labels;
mod spilled;

use std::pin::Pin;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use futures::{Stream, StreamExt};
use throng_core::anonymize::Method;
use throng_core::dictionary_encode::is_text;
use throng_core::global_dictionary::GlobalDictionary;
use throng_core::metrics::Utility;
use throng_core::recode::released_fields;
use throng_core::risk::{BorrowedRows, ClassSizes};
use throng_core::row_hash::Checksum;
use throng_core::survey::SUPPRESSED;
use throng_policy::Binding;

use crate::anonymizer::Anonymizer;
use crate::buffered_rows::{kept_column, numbers};
use crate::classes::Classes;
use crate::passthrough::passthrough_columns;
use crate::resources::reserve;
use crate::snapshot::{Snapshot, StreamRows};
use crate::{AnonymizeError, to_canonical_array, to_canonical_field};
pub(crate) use deal::{Deal, FirstLook};
use held::HeldRows;
pub(crate) use labels::{Form, ReleasedLabels, Run, Shown};
use spilled::SpilledRows;

/// The schema of a release, known before any row is read: fresh fields in the order of the input's columns.
pub fn released_schema(binding: &Binding, input: &Schema) -> SchemaRef {
    Arc::new(Schema::new(columns(binding, input).into_iter().map(|(field, _)| field).collect::<Vec<_>>()))
}

/// Where a released column comes from.
#[derive(Clone, Copy, Debug)]
enum ReleasedFrom {
    /// A column of labels of a quasi-identifier.
    Label { quasi: usize, part: usize },
    /// A column that is kept as it is.
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

/// What is known of a release besides its rows.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Rows of the input.
    pub rows_read: u64,
    /// Rows of the input that are left out.
    pub suppressed: u64,
    /// Leaves into which the table was cut.
    pub leaves: u64,
    /// Cycles of local search, in the part that had fewest.
    pub cycles: u32,
    /// How classes were formed.
    pub method: Method,
    /// Why in this way.
    pub reason: &'static str,
    /// Of what the release shows besides quasi-identifiers.
    pub checksum: Checksum,
    /// What the release still tells.
    pub utility: Utility,
    /// The sizes of the classes of the input: distinct tuples of quasi-identifiers.
    pub cells: ClassSizes,
    /// Rows that classes have borrowed.
    pub borrowed: BorrowedRows,
}

/// All rows of a release.
pub struct Release {
    facts: Facts,
    labels: Arc<ReleasedLabels>,
    rows: Rows,
}

impl std::fmt::Debug for Release {
    /// Without the rows: what is printed of a plan must not hold data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Release").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Where the rows are.
enum Rows {
    Held(Arc<HeldRows>),
    Spilled(SpilledRows),
}

/// The strings of the kept columns that hold strings, over all batches.
pub(crate) struct Lexicons {
    columns: Vec<Option<GlobalDictionary>>,
}

impl Lexicons {
    /// No strings yet of rows with this schema.
    fn new(rows: &Schema) -> Self {
        let kept = rows.fields().iter().skip(kept_column(0));
        Self { columns: kept.map(|field| is_text(field.data_type()).then(GlobalDictionary::default)).collect() }
    }

    /// The strings of rows that are in memory.
    fn of(snapshot: &Snapshot) -> Result<Self, AnonymizeError> {
        let mut lexicons = Self::new(&snapshot.row_schema());
        for stream in &snapshot.streams {
            let mut batches = stream.rows.read()?;
            while let Some(batch) = batches.next()? {
                lexicons.add(&batch);
            }
        }
        Ok(lexicons)
    }

    /// Adds the strings of a batch.
    fn add(&mut self, rows: &RecordBatch) {
        for (kept, lexicon) in self.columns.iter_mut().enumerate() {
            if let Some(lexicon) = lexicon {
                lexicon.add(rows.column(kept_column(kept)));
            }
        }
    }

    /// The schema of rows with the numbers of strings, and with plain strings where there are too many.
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

    /// Rows in this form.
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

    /// How many columns have more strings than a lexicon holds.
    fn scattered(&self) -> usize {
        self.columns.iter().flatten().filter(|lexicon| !lexicon.is_whole()).count()
    }

    /// The strings of each kept column that has all of them here.
    fn values(&self) -> Vec<Option<ArrayRef>> {
        self.columns.iter().map(|lexicon| lexicon.as_ref().and_then(GlobalDictionary::values)).collect()
    }

    /// What the strings take of the memory.
    fn size(&self) -> usize {
        self.columns.iter().flatten().map(GlobalDictionary::size).sum()
    }
}

impl Release {
    /// Puts the rows of a snapshot into classes.
    pub(crate) fn new(anonymizer: &Anonymizer, snapshot: Snapshot, classes: Classes) -> Result<Self, AnonymizeError> {
        let Classes { recoding, utility, cells, borrowed, group_of, key, leaves, cycles, suppressed, reservation } =
            classes;
        tracing::info!(classes = utility.classes, ncp = utility.ncp, "classes generalized");
        let (method, reason) = anonymizer.method();
        let rows_read = snapshot.rows;
        let lexicon_room = snapshot.workspace.reservation("strings");
        let lexicons = match snapshot.is_spilled() {
            true => None,
            false => {
                let lexicons = Lexicons::of(&snapshot)?;
                reserve(&lexicon_room, lexicons.size(), STRINGS)?;
                HeldRows::room(&snapshot, &recoding, &lexicons).map(|room| (lexicons, room))
            }
        };
        let (rows, strings, checksum) = match lexicons {
            Some((lexicons, room)) => {
                let strings = lexicons.values();
                let (rows, checksum) = HeldRows::new(snapshot, room, &recoding, &group_of, key, lexicons)?;
                (Rows::Held(Arc::new(rows)), strings, checksum)
            }
            None => {
                let (rows, lexicons, checksum) = SpilledRows::new(snapshot, &recoding, &group_of, key, &lexicon_room)?;
                (Rows::Spilled(rows), lexicons.values(), checksum)
            }
        };
        let strings_size: usize = strings.iter().flatten().map(|strings| strings.get_array_memory_size()).sum();
        reservation.resize(recoding.size() + strings_size);
        drop(lexicon_room);
        let labels = Arc::new(ReleasedLabels::new(anonymizer, Shown::of(&recoding), strings, reservation));
        let facts = Facts { rows_read, suppressed, leaves, cycles, method, reason, checksum, utility, cells, borrowed };
        Ok(Self { facts, labels, rows })
    }

    /// The schema of the release.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.labels.schema())
    }

    /// What is known of the release.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// How many rows are released.
    pub fn rows(&self) -> u64 {
        self.facts.checksum.rows()
    }

    /// All rows in canonical order, in batches of so many rows. As many batches as `ahead` are made at the same time.
    pub fn stream(
        self: &Arc<Self>,
        batch_rows: usize,
        ahead: usize,
    ) -> Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>> {
        self.stream_in(Form::Plain, batch_rows, ahead)
    }

    /// The same for somebody who writes: where it can be, a column of strings is a dictionary, which all batches share. It
    /// may have entries that no row of a batch has.
    pub fn compact_stream(
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
        let (labels, batch_rows) = (Arc::clone(&self.labels), batch_rows.max(1));
        match &self.rows {
            Rows::Held(rows) => HeldRows::stream(Arc::clone(rows), labels, form, batch_rows, ahead.max(1)).boxed(),
            Rows::Spilled(rows) => rows.stream(labels, form, batch_rows).boxed(),
        }
    }
}

/// What runs out when the strings of the kept columns don't fit.
const STRINGS: &str = "the distinct strings of the columns that are kept";

/// What the order of so many rows takes of the memory.
pub(crate) fn order_bytes(rows: u64) -> u64 {
    rows * held::ROW_BYTES as u64
}

/// Walks over the rows of a stream, with the groups of the recoding in place of those of chunks. `next_group` is the
/// number of groups that the chunks before have.
pub(crate) fn for_each_batch(
    stream: &StreamRows,
    width: usize,
    group_of: &[u32],
    next_group: &mut usize,
    mut then: impl FnMut(&RecordBatch, Vec<u32>) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    let (mut batches, mut chunks) = (stream.rows.read()?, stream.groups.read()?);
    for in_chunk in &stream.chunk_batches {
        let groups = chunks.next()?.map_or(0, |chunk| numbers(&chunk).len() / (width + 1));
        let of_chunk = &group_of[*next_group..*next_group + groups];
        *next_group += groups;
        for _ in 0..*in_chunk {
            let Some(batch) = batches.next()? else { return Err(AnonymizeError::Task) };
            let groups = numbers(&batch).iter().map(|group| of_chunk[*group as usize]).collect();
            then(&batch, groups)?;
        }
    }
    Ok(())
}

/// The checksum of rows with these classes and hashes, without those that are left out.
fn released_checksum(classes: &[u32], content: &[u128]) -> Checksum {
    let released = classes.iter().zip(content).filter(|(class, _)| **class != SUPPRESSED);
    let mut checksum = Checksum::default();
    checksum.add(released.map(|(_, hash)| *hash));
    checksum
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
