//! A release as record batches, in canonical order.

mod deal;
mod held;
mod spilled;

use std::pin::Pin;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{Stream, StreamExt};
use throng_core::anonymize::Method;
use throng_core::content::Checksum;
use throng_core::metrics::Utility;
use throng_core::recode::{Recoding, released_fields};
use throng_core::survey::SUPPRESSED;
use throng_policy::Binding;

use crate::anonymizer::Anonymizer;
use crate::classes::Classes;
use crate::kept::kept_columns;
use crate::rows::{content, numbers};
use crate::snapshot::{Snapshot, StreamRows};
use crate::{Error, plain, plain_field};
use held::HeldRows;
use spilled::SpilledRows;

/// The schema of a release, known before any row is read: fresh fields in the order of the input's columns.
pub fn released_schema(binding: &Binding, input: &Schema) -> SchemaRef {
    Arc::new(Schema::new(columns(binding, input).into_iter().map(|(field, _)| field).collect::<Vec<_>>()))
}

/// Where a released column comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A column of labels of a quasi-identifier.
    Label { quasi: usize, part: usize },
    /// A column that is kept as it is.
    Kept(usize),
}

fn columns(binding: &Binding, input: &Schema) -> Vec<(Field, Source)> {
    let mut columns: Vec<(usize, Field, Source)> = Vec::new();
    for (quasi, bound) in binding.quasi.iter().enumerate() {
        for (part, field) in released_fields(&bound.spec, &bound.column.data_type).into_iter().enumerate() {
            columns.push((bound.column.index, plain_field(&field), Source::Label { quasi, part }));
        }
    }
    for (place, kept) in kept_columns(binding).into_iter().enumerate() {
        columns.push((kept.source.index, kept.field(input), Source::Kept(place)));
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

/// What the classes show, in the columns of the release.
struct ReleasedLabels {
    schema: SchemaRef,
    sources: Vec<Source>,
    recoding: Recoding,
    _reservation: MemoryReservation,
}

impl ReleasedLabels {
    /// Rows of the release, given their classes and a way to get a column that is kept.
    fn batch(&self, classes: &[u32], kept: impl Fn(usize) -> Result<ArrayRef, Error>) -> Result<RecordBatch, Error> {
        let column = |source: &Source| match *source {
            Source::Label { quasi, part } => self.labels(classes, quasi, part),
            Source::Kept(column) => kept(column),
        };
        let columns = self.sources.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|source| Error::Kernel("batch", source))
    }

    fn labels(&self, classes: &[u32], quasi: usize, part: usize) -> Result<ArrayRef, Error> {
        let labels: UInt32Array = classes.iter().map(|class| self.recoding.label(*class, quasi)).collect();
        let (_, values) = &self.recoding.columns()[quasi].columns[part];
        plain(&take(values, &labels, None).map_err(|source| Error::Kernel("take", source))?)
    }
}

impl Release {
    /// Puts the rows of a snapshot into classes.
    pub(crate) fn new(anonymizer: &Anonymizer, snapshot: Snapshot, classes: Classes) -> Result<Self, Error> {
        let Classes { recoding, utility, group_of, key, leaves, cycles, suppressed, reservation } = classes;
        tracing::info!(classes = utility.classes, ncp = utility.ncp, "classes generalized");
        let (method, reason) = anonymizer.method();
        let rows_read = snapshot.rows;
        let (fields, sources): (Vec<_>, Vec<_>) =
            columns(anonymizer.binding(), anonymizer.input_schema()).into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let (rows, checksum) = match HeldRows::room(&snapshot, &recoding) {
            Some(room) => {
                let (rows, checksum) = HeldRows::new(snapshot, room, &recoding, &group_of, &key)?;
                (Rows::Held(Arc::new(rows)), checksum)
            }
            None => {
                let (rows, checksum) = SpilledRows::new(snapshot, &recoding, &group_of, &key)?;
                (Rows::Spilled(rows), checksum)
            }
        };
        let recoding = recoding.without_groups();
        reservation.resize(recoding.size());
        let labels = Arc::new(ReleasedLabels { schema, sources, recoding, _reservation: reservation });
        let facts = Facts { rows_read, suppressed, leaves, cycles, method, reason, checksum, utility };
        Ok(Self { facts, labels, rows })
    }

    /// The schema of the release.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.labels.schema)
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
        let labels = Arc::clone(&self.labels);
        match &self.rows {
            Rows::Held(rows) => HeldRows::stream(Arc::clone(rows), labels, batch_rows.max(1), ahead.max(1)).boxed(),
            Rows::Spilled(rows) => rows.stream(labels, batch_rows.max(1)).boxed(),
        }
    }
}

/// What the order of so many rows takes of the memory.
pub(crate) fn order_bytes(rows: u64) -> u64 {
    rows * held::ROW_BYTES as u64
}

/// Walks over the rows of a stream, with the groups of the recoding in place of those of chunks. `next_group` is the
/// number of groups that the chunks before have.
fn for_each_batch(
    stream: &StreamRows,
    width: usize,
    group_of: &[u32],
    next_group: &mut usize,
    mut then: impl FnMut(&RecordBatch, Vec<u32>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut batches, mut chunks) = (stream.rows.read()?, stream.groups.read()?);
    for in_chunk in &stream.chunk_batches {
        let groups = chunks.next()?.map_or(0, |chunk| numbers(&chunk).len() / (width + 1));
        let of_chunk = &group_of[*next_group..*next_group + groups];
        *next_group += groups;
        for _ in 0..*in_chunk {
            let Some(batch) = batches.next()? else { return Err(Error::Task) };
            let groups = numbers(&batch).iter().map(|group| of_chunk[*group as usize]).collect();
            then(&batch, groups)?;
        }
    }
    Ok(())
}

/// Adds the rows of a batch that are released.
fn add_released(checksum: &mut Checksum, recoding: &Recoding, batch: &RecordBatch, groups: &[u32]) {
    let is_released = |group: u32| group != SUPPRESSED && !recoding.is_out(group);
    let released = groups.iter().zip(content(batch)).filter(|(group, _)| is_released(**group));
    checksum.add(released.map(|(_, hash)| hash));
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
