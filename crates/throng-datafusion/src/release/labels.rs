//! What classes show and what rows keep, put together in the columns of the release.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::execution::memory_pool::MemoryReservation;
use rayon::prelude::*;
use throng_core::dictionary_encode::dictionary_type;
use throng_core::recode::{Labels, Recoding};

use super::{ReleasedFrom, columns};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::passthrough::passthrough_columns;

/// In which form strings are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the schema of the release says.
    Plain,
    /// As numbers with a dictionary, which all batches share, where there is one.
    Compact,
}

/// Rows of one class, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) class: u32,
    pub(crate) rows: usize,
}

/// What the classes show.
#[derive(Clone)]
pub(crate) struct Shown {
    /// For each quasi-identifier, the labels of each released column.
    pub(crate) columns: Vec<Vec<ArrayRef>>,
    /// Class by class, the label of each quasi-identifier.
    pub(crate) label_of: Vec<u32>,
}

impl Shown {
    pub(crate) fn of(recoding: &Recoding) -> Self {
        let arrays = |labels: &Labels| labels.columns.iter().map(|(_, column)| Arc::clone(column)).collect();
        Self {
            columns: recoding.columns().iter().map(arrays).collect(),
            label_of: recoding.labels_of_classes().to_vec(),
        }
    }
}

/// What the classes show, in the columns of the release.
pub(crate) struct ReleasedLabels {
    schema: SchemaRef,
    compact_schema: SchemaRef,
    sources: Vec<ReleasedFrom>,
    shown: Shown,
    /// Per kept column, the strings that its numbers stand for.
    strings: Vec<Option<ArrayRef>>,
    _reservation: MemoryReservation,
}

impl ReleasedLabels {
    pub(super) fn new(
        anonymizer: &Anonymizer,
        shown: Shown,
        strings: Vec<Option<ArrayRef>>,
        reservation: MemoryReservation,
    ) -> Self {
        let columns = columns(anonymizer.binding(), anonymizer.input_schema());
        let (fields, sources): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let is_compact = |source: &ReleasedFrom| match *source {
            ReleasedFrom::Label { quasi, part } => shown.columns[quasi][part].data_type() == &DataType::Utf8,
            ReleasedFrom::Kept(column) => strings[column].is_some(),
        };
        let compact = |(field, source): (&Arc<Field>, &ReleasedFrom)| match is_compact(source) {
            true => Arc::new(field.as_ref().clone().with_data_type(dictionary_type())),
            false => Arc::clone(field),
        };
        let fields: Vec<Arc<Field>> = schema.fields().iter().zip(&sources).map(compact).collect();
        let compact_schema = Arc::new(Schema::new(fields));
        Self { schema, compact_schema, sources, shown, strings, _reservation: reservation }
    }

    /// The same for rows that are kept as they are, strings included; and how many columns are.
    pub(crate) fn plain(anonymizer: &Anonymizer, shown: Shown, reservation: MemoryReservation) -> (Self, usize) {
        let kept = passthrough_columns(anonymizer.binding()).len();
        (Self::new(anonymizer, shown, vec![None; kept], reservation), kept)
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of the release, given their classes and a way to get a column that is kept. Columns are made in parallel.
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
                ReleasedFrom::Label { quasi, part } => (self.labels(runs, quasi), &self.shown.columns[quasi][part]),
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

    /// The label of each row.
    fn labels(&self, runs: &[Run], quasi: usize) -> ArrayRef {
        let width = self.shown.columns.len();
        let mut labels = Vec::with_capacity(runs.iter().map(|run| run.rows).sum());
        for run in runs {
            labels.resize(labels.len() + run.rows, self.shown.label_of[run.class as usize * width + quasi]);
        }
        Arc::new(UInt32Array::from(labels))
    }
}

/// A column as the release holds it.
fn in_type(column: ArrayRef, data_type: &DataType) -> Result<ArrayRef, AnonymizeError> {
    match column.data_type() == data_type {
        true => Ok(column),
        false => cast(&column, data_type).map_err(|source| AnonymizeError::Kernel("cast", source)),
    }
}
