//! Combines class labels and pass-through columns into released batches.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::execution::memory_pool::MemoryReservation;
use rayon::prelude::*;
use throng_core::dictionary_encode::dictionary_type;

use super::{ReleasedFrom, columns};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::passthrough::passthrough_columns;

/// Encoding of string columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As in the schema of the release.
    Plain,
    /// Dictionary-encoded where possible, with one dictionary shared by all batches.
    Compact,
}

/// A run of rows of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) class: u32,
    pub(crate) rows: usize,
}

/// Labels of all classes.
pub(crate) struct ClassLabels {
    /// For each quasi-identifier, the distinct labels of each released column.
    pub(crate) columns: Vec<Vec<ArrayRef>>,
    /// Label index by class and quasi-identifier, row-major.
    pub(crate) label_of: Vec<u32>,
}

/// Labels of all classes, and the schema of the release.
pub(crate) struct ReleasedLabels {
    schema: SchemaRef,
    compact_schema: SchemaRef,
    sources: Vec<ReleasedFrom>,
    labels: Arc<ClassLabels>,
    /// Global dictionary of each pass-through column, if it has one.
    strings: Vec<Option<ArrayRef>>,
    _reservation: MemoryReservation,
}

impl ReleasedLabels {
    pub(super) fn new(
        anonymizer: &Anonymizer,
        labels: Arc<ClassLabels>,
        strings: Vec<Option<ArrayRef>>,
        reservation: MemoryReservation,
    ) -> Self {
        let columns = columns(anonymizer.binding(), anonymizer.input_schema());
        let (fields, sources): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let is_compact = |source: &ReleasedFrom| match *source {
            ReleasedFrom::Label { quasi, part } => labels.columns[quasi][part].data_type() == &DataType::Utf8,
            ReleasedFrom::Kept(column) => strings[column].is_some(),
        };
        let compact = |(field, source): (&Arc<Field>, &ReleasedFrom)| match is_compact(source) {
            true => Arc::new(field.as_ref().clone().with_data_type(dictionary_type())),
            false => Arc::clone(field),
        };
        let fields: Vec<Arc<Field>> = schema.fields().iter().zip(&sources).map(compact).collect();
        let compact_schema = Arc::new(Schema::new(fields));
        Self { schema, compact_schema, sources, labels, strings, _reservation: reservation }
    }

    /// Creates labels for pass-through columns without global dictionaries; also returns their number.
    pub(crate) fn plain(
        anonymizer: &Anonymizer,
        labels: Arc<ClassLabels>,
        reservation: MemoryReservation,
    ) -> (Self, usize) {
        let kept = passthrough_columns(anonymizer.binding()).len();
        (Self::new(anonymizer, labels, vec![None; kept], reservation), kept)
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Builds a released batch from class runs. `kept` returns a pass-through column of its rows. Columns are built in
    /// parallel.
    pub(crate) fn batch(
        &self,
        form: Form,
        runs: &[Run],
        kept: impl Fn(usize) -> Result<ArrayRef, AnonymizeError> + Sync,
    ) -> Result<RecordBatch, AnonymizeError> {
        let schema = match form {
            Form::Plain => &self.schema,
            Form::Compact => &self.compact_schema,
        };
        let column = |(source, field): (&ReleasedFrom, &Arc<Field>)| {
            let (numbers, values) = match *source {
                ReleasedFrom::Label { quasi, part } => {
                    (self.label_indices(runs, quasi), &self.labels.columns[quasi][part])
                }
                ReleasedFrom::Kept(column) => match &self.strings[column] {
                    Some(strings) => (kept(column)?, strings),
                    None => return in_type(kept(column)?, field.data_type()),
                },
            };
            let numbers = numbers.as_primitive::<UInt32Type>();
            if field.data_type() == &dictionary_type() {
                let compact = DictionaryArray::try_new(numbers.clone(), Arc::clone(values));
                return Ok(
                    Arc::new(compact.map_err(|source| AnonymizeError::Kernel("dictionary", source))?) as ArrayRef
                );
            }
            let values = take(values, numbers, None).map_err(|source| AnonymizeError::Kernel("take", source))?;
            in_type(values, field.data_type())
        };
        let columns = self.sources.par_iter().zip(&schema.fields()[..]).map(column).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
    }

    /// Returns the label index of each row.
    fn label_indices(&self, runs: &[Run], quasi: usize) -> ArrayRef {
        let width = self.labels.columns.len();
        let mut labels = Vec::with_capacity(runs.iter().map(|run| run.rows).sum());
        for run in runs {
            labels.resize(labels.len() + run.rows, self.labels.label_of[run.class as usize * width + quasi]);
        }
        Arc::new(UInt32Array::from(labels))
    }
}

/// Casts a column to its released type if necessary.
fn in_type(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef, AnonymizeError> {
    match column.data_type() == data_type {
        true => Ok(column),
        false => cast(&column, data_type).map_err(|source| AnonymizeError::Kernel("cast", source)),
    }
}
