//! Canonical types of released columns: no dictionaries, no views, no metadata of the input, and no type that Parquet
//! stores only as a hint for Arrow, since other readers would see bare integers.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};

use crate::AnonymizeError;

/// Returns the field with its canonical type, also inside nested types, and without metadata.
pub fn to_canonical_field(field: &Field) -> Field {
    Field::new(field.name(), canonical_type(field.data_type()), field.is_nullable()).with_metadata(HashMap::new())
}

fn to_canonical_ref(field: &FieldRef) -> FieldRef {
    Arc::new(to_canonical_field(field))
}

fn canonical_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        // Parquet has no unit coarser than milliseconds.
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Dictionary(_, value) => canonical_type(value),
        DataType::RunEndEncoded(_, value) => canonical_type(value.data_type()),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(to_canonical_ref).collect()),
        DataType::List(item) | DataType::ListView(item) => DataType::List(to_canonical_ref(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => DataType::LargeList(to_canonical_ref(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(to_canonical_ref(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(to_canonical_ref(entries), *sorted),
        other => other.clone(),
    }
}

/// Casts an array to its canonical type.
pub fn to_canonical_array(array: &ArrayRef) -> Result<ArrayRef, AnonymizeError> {
    let data_type = canonical_type(array.data_type());
    if &data_type == array.data_type() {
        return Ok(Arc::clone(array));
    }
    cast(array, &data_type).map_err(|source| AnonymizeError::Kernel("cast", source))
}
