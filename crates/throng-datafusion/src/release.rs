//! A release as record batches, in canonical order, any range of rows at a time.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{interleave, take};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use futures::{FutureExt, Stream, StreamExt};
use throng_core::anonymize::Method;
use throng_core::content::Checksum;
use throng_core::metrics::Utility;
use throng_core::recode::{DealKey, Recoding, ReleaseOrder, released_fields};
use throng_policy::Binding;

use crate::kept::kept_columns;
use crate::snapshot::Snapshot;
use crate::{Error, plain, plain_field};

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
#[derive(Debug)]
pub struct Release {
    facts: Facts,
    schema: SchemaRef,
    sources: Vec<Source>,
    recoding: Recoding,
    order: ReleaseOrder,
    batches: Vec<RecordBatch>,
    /// The number of the first row of each batch.
    first_row: Vec<u32>,
}

impl Release {
    /// Puts the rows of a snapshot into the classes of a recoding.
    pub(crate) fn new(
        snapshot: Snapshot,
        recoding: Recoding,
        facts: Facts,
        binding: &Binding,
        input: &Schema,
    ) -> Result<Self, Error> {
        let key = DealKey::new(&snapshot.table, snapshot.seed)?;
        let order = ReleaseOrder::new(&recoding, &snapshot.groups, &snapshot.content, &key);
        let (fields, sources): (Vec<_>, Vec<_>) = columns(binding, input).into_iter().unzip();
        let mut first_row = Vec::with_capacity(snapshot.batches.len());
        let mut rows = 0;
        for batch in &snapshot.batches {
            first_row.push(rows);
            rows += batch.num_rows() as u32;
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { facts, schema, sources, recoding, order, batches: snapshot.batches, first_row })
    }

    /// The schema of the release.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// What is known of the release.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// How many rows are released.
    pub fn rows(&self) -> usize {
        self.order.rows.len()
    }

    /// A range of the release.
    pub fn batch(&self, range: Range<usize>) -> Result<RecordBatch, Error> {
        let rows = &self.order.rows[range];
        let places: Vec<(usize, usize)> = rows.iter().map(|row| self.place(*row)).collect();
        let classes: Vec<u32> = rows.iter().map(|row| self.order.class_of[*row as usize]).collect();
        let columns = self
            .sources
            .iter()
            .map(|source| match *source {
                Source::Label { quasi, part } => self.labels(&classes, quasi, part),
                Source::Kept(column) => self.kept(&places, column),
            })
            .collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(self.schema(), columns).map_err(|source| Error::Kernel("batch", source))
    }

    /// All rows in canonical order, in batches of so many rows. As many batches as `ahead` are made at the same time.
    pub(crate) fn stream(
        release: Arc<Self>,
        batch_rows: usize,
        ahead: usize,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> {
        let (rows, step) = (release.rows(), batch_rows.max(1));
        let ranges = (0..rows).step_by(step).map(move |first| first..rows.min(first + step));
        let batch = move |range| {
            let release = Arc::clone(&release);
            SpawnedTask::spawn_blocking(move || release.batch(range))
                .map(|batch| batch.map_err(|_| DataFusionError::from(Error::Task))?.map_err(DataFusionError::from))
        };
        futures::stream::iter(ranges).map(batch).buffered(ahead.max(1))
    }

    /// The batch of a row, and its row there.
    fn place(&self, row: u32) -> (usize, usize) {
        let batch = self.first_row.partition_point(|first| *first <= row) - 1;
        (batch, (row - self.first_row[batch]) as usize)
    }

    fn labels(&self, classes: &[u32], quasi: usize, part: usize) -> Result<ArrayRef, Error> {
        let labels: UInt32Array = classes.iter().map(|class| self.recoding.label(*class, quasi)).collect();
        let (_, values) = &self.recoding.columns()[quasi].columns[part];
        plain(&take(values, &labels, None).map_err(|source| Error::Kernel("take", source))?)
    }

    fn kept(&self, places: &[(usize, usize)], column: usize) -> Result<ArrayRef, Error> {
        let arrays: Vec<&dyn Array> = self.batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        interleave(&arrays, places).map_err(|source| Error::Kernel("interleave", source))
    }
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
