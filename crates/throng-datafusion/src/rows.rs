//! A row as it is kept between the survey and the release: what the release shows of it, its group, and its content hash.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};

use crate::Error;
use crate::kept::Kept;

/// The bytes of a content hash.
const HASH_BYTES: i32 = 16;

/// The schema of kept rows: a number and a hash, and then what is kept. Names are places, so that none is there twice.
pub(crate) fn row_schema(kept: &[Kept]) -> SchemaRef {
    let mut fields = vec![
        Field::new("number", DataType::UInt32, false),
        Field::new("content", DataType::FixedSizeBinary(HASH_BYTES), false),
    ];
    fields.extend(kept.iter().enumerate().map(|(place, kept)| Field::new(place.to_string(), kept.data_type(), true)));
    Arc::new(Schema::new(fields))
}

/// Rows with these numbers and hashes. A number is a group first, and a class later.
pub(crate) fn row_batch(
    schema: &SchemaRef,
    numbers: Vec<u32>,
    content: &[u128],
    kept: Vec<ArrayRef>,
) -> Result<RecordBatch, Error> {
    let bytes: Vec<u8> = content.iter().flat_map(|hash| hash.to_be_bytes()).collect();
    let content = FixedSizeBinaryArray::try_new(HASH_BYTES, Buffer::from_vec(bytes), None);
    let content = content.map_err(|source| Error::Kernel("hash", source))?;
    let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(numbers)), Arc::new(content)];
    columns.extend(kept);
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| Error::Kernel("batch", source))
}

/// The numbers of rows.
pub(crate) fn numbers(rows: &RecordBatch) -> &[u32] {
    rows.column(0).as_primitive::<UInt32Type>().values()
}

/// The same rows with other numbers.
pub(crate) fn with_numbers(rows: &RecordBatch, numbers: Vec<u32>) -> Result<RecordBatch, Error> {
    let mut columns = rows.columns().to_vec();
    columns[0] = Arc::new(UInt32Array::from(numbers));
    RecordBatch::try_new(rows.schema(), columns).map_err(|source| Error::Kernel("batch", source))
}

/// The content hash of a row.
pub(crate) fn content(rows: &RecordBatch) -> impl ExactSizeIterator<Item = u128> {
    let hashes = rows.column(1).as_fixed_size_binary();
    (0..hashes.len()).map(|row| hashes.value(row).iter().fold(0, |hash, byte| hash << 8 | u128::from(*byte)))
}

/// The place of a kept column in a batch.
pub(crate) fn kept_column(kept: usize) -> usize {
    kept + 2
}
