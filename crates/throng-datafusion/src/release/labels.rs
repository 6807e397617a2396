//! Combines class labels and pass-through columns into released batches.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use rayon::prelude::*;
use throng_core::dictionary_encode::dictionary_type;
use throng_core::out_of_core::MemoryBudget;

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
    /// String views. Buffers hold no byte of a string that no row of the batch has, since consumers may write buffers
    /// unchanged.
    Views,
}

/// A run of rows of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) class: u32,
    pub(crate) rows: usize,
}

/// Distinct labels of the released columns, and which of them each class shows.
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
    view_schema: SchemaRef,
    sources: Vec<ReleasedFrom>,
    labels: Arc<ClassLabels>,
    /// Global dictionary of each pass-through column, if it has one.
    strings: Vec<Option<ArrayRef>>,
    _memory: Box<dyn MemoryBudget>,
}

impl ReleasedLabels {
    pub(super) fn new(
        anonymizer: &Anonymizer,
        labels: Arc<ClassLabels>,
        strings: Vec<Option<ArrayRef>>,
        memory: Box<dyn MemoryBudget>,
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
        let view_schema = Arc::new(Schema::new(schema.fields().iter().map(view_field).collect::<Vec<_>>()));
        Self { schema, compact_schema, view_schema, sources, labels, strings, _memory: memory }
    }

    /// Creates labels for pass-through columns without global dictionaries; also returns their number.
    pub(crate) fn plain(
        anonymizer: &Anonymizer,
        labels: Arc<ClassLabels>,
        memory: Box<dyn MemoryBudget>,
    ) -> (Self, usize) {
        let kept = passthrough_columns(anonymizer.binding()).len();
        (Self::new(anonymizer, labels, vec![None; kept], memory), kept)
    }

    /// Returns the schema of the release, or of its batches in another form.
    pub(crate) fn schema(&self, form: Form) -> &SchemaRef {
        match form {
            Form::Plain => &self.schema,
            Form::Compact => &self.compact_schema,
            Form::Views => &self.view_schema,
        }
    }

    /// Builds a released batch from class runs. `kept` returns a pass-through column of its rows. Columns are built in
    /// parallel.
    pub(crate) fn batch(
        &self,
        form: Form,
        runs: &[Run],
        kept: impl Fn(usize) -> Result<ArrayRef, AnonymizeError> + Sync,
    ) -> Result<RecordBatch, AnonymizeError> {
        let schema = self.schema(form);
        let column = |(place, (source, field)): (usize, (&ReleasedFrom, &Arc<Field>))| {
            let (numbers, values) = match *source {
                ReleasedFrom::Label { quasi, part } => {
                    (self.label_indices(runs, quasi), &self.labels.columns[quasi][part])
                }
                ReleasedFrom::Kept(column) => match &self.strings[column] {
                    Some(strings) => (kept(column)?, strings),
                    None if form == Form::Views => {
                        // Copies first: pass-through views share buffers with rows of other batches, plain strings hold
                        // only their own rows.
                        let plain = in_type(kept(column)?, self.schema.field(place).data_type())?;
                        return in_type(plain, field.data_type());
                    }
                    None => return in_type(kept(column)?, field.data_type()),
                },
            };
            let numbers = numbers.as_primitive::<UInt32Type>();
            if field.data_type() == &DataType::Utf8View {
                return views(values, numbers);
            }
            if field.data_type() == &dictionary_type() {
                let compact = DictionaryArray::try_new(numbers.clone(), Arc::clone(values));
                return Ok(
                    Arc::new(compact.map_err(|source| AnonymizeError::Kernel("dictionary", source))?) as ArrayRef
                );
            }
            let values = take(values, numbers, None).map_err(|source| AnonymizeError::Kernel("take", source))?;
            in_type(values, field.data_type())
        };
        let columns = self.sources.par_iter().zip(&schema.fields()[..]).enumerate().map(column);
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
    }

    /// Builds a batch of the columns of labels alone.
    pub(crate) fn labels(&self, runs: &[Run]) -> Result<RecordBatch, AnonymizeError> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (source, field) in self.sources.iter().zip(self.schema.fields()) {
            if let ReleasedFrom::Label { quasi, part } = *source {
                let numbers = self.label_indices(runs, quasi);
                let labels = take(&self.labels.columns[quasi][part], &numbers, None);
                let labels = labels.map_err(|source| AnonymizeError::Kernel("take", source))?;
                columns.push(in_type(labels, field.data_type())?);
                fields.push(Arc::clone(field));
            }
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(|source| AnonymizeError::Kernel("batch", source))
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

/// Returns the field with strings as views.
fn view_field(field: &Arc<Field>) -> Arc<Field> {
    match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    }
}

/// Returns strings by number, as views of one buffer that has each of these strings once, and no other.
fn views(strings: &ArrayRef, numbers: &UInt32Array) -> Result<ArrayRef, AnonymizeError> {
    const UNUSED: u32 = u32::MAX;
    let failed = |source| AnonymizeError::Kernel("views", source);
    let mut place_of = vec![UNUSED; strings.len()];
    let mut used = Vec::new();
    let mut place = |number: u32| {
        let place = &mut place_of[number as usize];
        if *place == UNUSED {
            *place = used.len() as u32;
            used.push(number);
        }
        *place
    };
    let places: UInt32Array = match numbers.null_count() {
        0 => numbers.values().iter().map(|number| place(*number)).collect::<Vec<_>>().into(),
        _ => numbers.iter().map(|number| number.map(&mut place)).collect(),
    };
    let used = take(strings, &UInt32Array::from(used), None).map_err(failed)?;
    let views = in_type(in_type(used, &DataType::Utf8)?, &DataType::Utf8View)?;
    take(&views, &places, None).map_err(failed)
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
