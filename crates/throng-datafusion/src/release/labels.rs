//! What classes show and what rows keep, put together in the columns of the release.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::execution::memory_pool::MemoryReservation;
use rayon::prelude::*;
use throng_core::compact::compact_type;
use throng_core::recode::Recoding;

use super::Source;
use crate::Error;

/// In which form strings are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the schema of the release says.
    Plain,
    /// As numbers with a dictionary, which all batches share, where there is one.
    Compact,
}

/// Rows of one class, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) class: u32,
    pub(super) rows: usize,
}

/// What the classes show, in the columns of the release.
pub(super) struct ReleasedLabels {
    schema: SchemaRef,
    compact_schema: SchemaRef,
    sources: Vec<Source>,
    recoding: Recoding,
    /// Per kept column, the strings that its numbers stand for.
    strings: Vec<Option<ArrayRef>>,
    _reservation: MemoryReservation,
}

impl ReleasedLabels {
    pub(super) fn new(
        schema: SchemaRef,
        sources: Vec<Source>,
        recoding: Recoding,
        strings: Vec<Option<ArrayRef>>,
        reservation: MemoryReservation,
    ) -> Self {
        let is_compact = |source: &Source| match *source {
            Source::Label { quasi, part } => recoding.columns()[quasi].columns[part].1.data_type() == &DataType::Utf8,
            Source::Kept(column) => strings[column].is_some(),
        };
        let compact = |(field, source): (&Arc<Field>, &Source)| match is_compact(source) {
            true => Arc::new(field.as_ref().clone().with_data_type(compact_type())),
            false => Arc::clone(field),
        };
        let fields: Vec<Arc<Field>> = schema.fields().iter().zip(&sources).map(compact).collect();
        let compact_schema = Arc::new(Schema::new(fields));
        Self { schema, compact_schema, sources, recoding, strings, _reservation: reservation }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of the release, given their classes and a way to get a column that is kept. Columns are made in parallel.
    pub(super) fn batch(
        &self,
        form: Form,
        runs: &[Run],
        kept: impl Fn(usize) -> Result<ArrayRef, Error> + Sync,
    ) -> Result<RecordBatch, Error> {
        let schema = match form {
            Form::Plain => &self.schema,
            Form::Compact => &self.compact_schema,
        };
        let column = |(source, field): (&Source, &Arc<Field>)| {
            let (numbers, values) = match *source {
                Source::Label { quasi, part } => {
                    (self.labels(runs, quasi), &self.recoding.columns()[quasi].columns[part].1)
                }
                Source::Kept(column) => match &self.strings[column] {
                    Some(strings) => (kept(column)?, strings),
                    None => return in_type(kept(column)?, field.data_type()),
                },
            };
            let numbers = numbers.as_primitive::<UInt32Type>();
            if field.data_type() == &compact_type() {
                let compact = DictionaryArray::try_new(numbers.clone(), Arc::clone(values));
                return Ok(Arc::new(compact.map_err(|source| Error::Kernel("dictionary", source))?) as ArrayRef);
            }
            let values = take(values, numbers, None).map_err(|source| Error::Kernel("take", source))?;
            in_type(values, field.data_type())
        };
        let columns = self.sources.par_iter().zip(&schema.fields()[..]).map(column).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| Error::Kernel("batch", source))
    }

    /// The label of each row.
    fn labels(&self, runs: &[Run], quasi: usize) -> ArrayRef {
        let mut labels = Vec::with_capacity(runs.iter().map(|run| run.rows).sum());
        for run in runs {
            labels.resize(labels.len() + run.rows, self.recoding.label(run.class, quasi));
        }
        Arc::new(UInt32Array::from(labels))
    }
}

/// A column as the release holds it.
fn in_type(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef, Error> {
    match column.data_type() == data_type {
        true => Ok(column),
        false => cast(&column, data_type).map_err(|source| Error::Kernel("cast", source)),
    }
}
