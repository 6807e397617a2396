//! Layout of a row between survey and release: group or class, row hash, pass-through columns.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, Schema, SchemaRef, UInt32Type};

use crate::AnonymizeError;
use crate::passthrough::PassthroughColumn;

/// Row hashes are stored as 128-bit decimals; no arithmetic is done on them.
const HASH: DataType = DataType::Decimal128(38, 0);

/// Returns the schema of buffered rows: number, row hash, pass-through columns. The latter are named by index, which
/// makes their names unique.
pub(crate) fn row_schema(kept: &[PassthroughColumn]) -> SchemaRef {
    let mut fields = vec![Field::new("number", DataType::UInt32, false), Field::new("content", HASH, false)];
    fields.extend(kept.iter().enumerate().map(|(place, kept)| Field::new(place.to_string(), kept.data_type(), true)));
    Arc::new(Schema::new(fields))
}

/// Builds a batch of buffered rows. `numbers` are group ids at first, and class ids later. Text of the host may be views in place of
/// the dictionaries of the schema.
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
    let fields = schema.fields().iter().zip(&columns).map(|(field, column)| match column.data_type() {
        DataType::Utf8View => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// Returns the group or class id of each row.
pub(crate) fn numbers(rows: &RecordBatch) -> &[u32] {
    rows.column(0).as_primitive::<UInt32Type>().values()
}

/// Replaces the group or class ids.
pub(crate) fn with_numbers(rows: &RecordBatch, numbers: Vec<u32>) -> Result<RecordBatch, AnonymizeError> {
    let mut columns = rows.columns().to_vec();
    columns[0] = Arc::new(UInt32Array::from(numbers));
    RecordBatch::try_new(rows.schema(), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// Returns the row hash of each row.
pub(crate) fn content(rows: &RecordBatch) -> impl ExactSizeIterator<Item = u128> {
    rows.column(1).as_primitive::<Decimal128Type>().values().iter().map(|hash| hash.cast_unsigned())
}

/// Returns the index of a pass-through column in a batch of buffered rows.
pub(crate) fn kept_column(kept: usize) -> usize {
    kept + 2
}
