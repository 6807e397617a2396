//! A row as it is kept between the survey and the release: what the release shows of it, its group, and its content hash.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, Schema, SchemaRef, UInt32Type};

use crate::AnonymizeError;
use crate::passthrough::PassthroughColumn;

/// A content hash is kept as a wide integer, which is never computed with.
const HASH: DataType = DataType::Decimal128(38, 0);

/// The schema of kept rows: a number and a hash, and then what is kept. Names are places, so that none is there twice.
pub(crate) fn row_schema(kept: &[PassthroughColumn]) -> SchemaRef {
    let mut fields = vec![Field::new("number", DataType::UInt32, false), Field::new("content", HASH, false)];
    fields.extend(kept.iter().enumerate().map(|(place, kept)| Field::new(place.to_string(), kept.data_type(), true)));
    Arc::new(Schema::new(fields))
}

/// Rows with these numbers and hashes. A number is a group first, and a class later.
pub(crate) fn row_batch(
    schema: &SchemaRef,
    numbers: Vec<u32>,
    content: Vec<u128>,
    kept: Vec<ArrayRef>,
) -> Result<RecordBatch, AnonymizeError> {
    let content = content.into_iter().map(u128::cast_signed).collect::<Vec<i128>>();
    let content = Decimal128Array::new(content.into(), None).with_data_type(HASH);
    let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(numbers)), Arc::new(content)];
    columns.extend(kept);
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// The numbers of rows.
pub(crate) fn numbers(rows: &RecordBatch) -> &[u32] {
    rows.column(0).as_primitive::<UInt32Type>().values()
}

/// The same rows with other numbers.
pub(crate) fn with_numbers(rows: &RecordBatch, numbers: Vec<u32>) -> Result<RecordBatch, AnonymizeError> {
    let mut columns = rows.columns().to_vec();
    columns[0] = Arc::new(UInt32Array::from(numbers));
    RecordBatch::try_new(rows.schema(), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// The content hash of a row.
pub(crate) fn content(rows: &RecordBatch) -> impl ExactSizeIterator<Item = u128> {
    rows.column(1).as_primitive::<Decimal128Type>().values().iter().map(|hash| hash.cast_unsigned())
}

/// The place of a kept column in a batch.
pub(crate) fn kept_column(kept: usize) -> usize {
    kept + 2
}
