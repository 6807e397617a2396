//! Canonical types of released columns: no dictionaries, no views, no 64-bit offsets, no metadata of the input, and no type
//! that Parquet stores only as a hint for Arrow, since other readers would see bare integers.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, make_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Field, FieldRef,
    Time32SecondType, TimeUnit, TimestampSecondType,
};

use crate::AnonymizeError;

/// Returns the field with its canonical type, recursively for nested types, and without metadata.
pub fn to_canonical_field(field: &Field) -> Field {
    Field::new(field.name(), canonical_type(field.data_type()), field.is_nullable()).with_metadata(HashMap::new())
}

fn to_canonical_ref(field: &FieldRef) -> FieldRef {
    Arc::new(to_canonical_field(field))
}

fn canonical_type(data_type: &DataType) -> DataType {
    match data_type {
        // The width of offsets depends on how rows were batched, and Parquet has none.
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        // Parquet has no unit coarser than milliseconds.
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Dictionary(_, value) => canonical_type(value),
        DataType::RunEndEncoded(_, value) => canonical_type(value.data_type()),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(to_canonical_ref).collect()),
        DataType::List(item) | DataType::ListView(item) | DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::List(to_canonical_ref(item))
        }
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(to_canonical_ref(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(to_canonical_ref(entries), *sorted),
        other => other.clone(),
    }
}

/// Casts the values to the canonical type. A value that the type can't hold is an error: none becomes null or another
/// value.
pub fn to_canonical_array(array: &ArrayRef) -> Result<ArrayRef, AnonymizeError> {
    let data_type = canonical_type(array.data_type());
    if &data_type == array.data_type() {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, &data_type, &options).map_err(|source| AnonymizeError::Kernel("cast", source))
}

/// Whether a release can hold all values of a column, including nested ones. Arrow allows a time or a decimal to exceed
/// the range of its type, and Parquet would write different digits.
pub(crate) fn fits_canonical(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Decimal32(precision, _) => is_within::<Decimal32Type>(array, *precision),
        DataType::Decimal64(precision, _) => is_within::<Decimal64Type>(array, *precision),
        DataType::Decimal128(precision, _) => is_within::<Decimal128Type>(array, *precision),
        DataType::Decimal256(precision, _) => is_within::<Decimal256Type>(array, *precision),
        DataType::Timestamp(TimeUnit::Second, _) => {
            let values = array.as_primitive::<TimestampSecondType>();
            values.iter().flatten().all(|seconds| seconds.checked_mul(1000).is_some())
        }
        DataType::Time32(TimeUnit::Second) => {
            let values = array.as_primitive::<Time32SecondType>();
            values.iter().flatten().all(|seconds| seconds.checked_mul(1000).is_some())
        }
        DataType::LargeUtf8 => has_short_offsets(array.as_string::<i64>().offsets()),
        DataType::LargeBinary => has_short_offsets(array.as_binary::<i64>().offsets()),
        DataType::LargeList(_) if !has_short_offsets(array.as_list::<i64>().offsets()) => false,
        data_type if data_type.is_nested() || matches!(data_type, DataType::Dictionary(..)) => {
            array.to_data().child_data().iter().all(|child| fits_canonical(&make_array(child.clone())))
        }
        _ => true,
    }
}

/// Whether all values of a batch together fit 32-bit offsets.
fn has_short_offsets(offsets: &[i64]) -> bool {
    offsets.last().is_none_or(|last| i32::try_from(*last).is_ok())
}

fn is_within<T: DecimalType>(array: &dyn Array, precision: u8) -> bool {
    array.as_primitive::<T>().validate_decimal_precision(precision).is_ok()
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{
        Decimal128Array, DictionaryArray, Int32Array, LargeStringArray, ListArray, Time32SecondArray,
        TimestampSecondArray,
    };
    use datafusion::arrow::buffer::OffsetBuffer;
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    fn columns_of(value: i64) -> Vec<ArrayRef> {
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![None, Some(value), Some(1)]));
        let keys = Int32Array::from(vec![0, 1, 1]);
        let item = Arc::new(Field::new("item", seconds.data_type().clone(), true));
        let list = ListArray::new(item, OffsetBuffer::from_lengths([1, 2]), Arc::clone(&seconds), None);
        let cents = Decimal128Array::from(vec![i128::from(value)]).with_precision_and_scale(16, 2).unwrap();
        vec![
            Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::clone(&seconds))),
            seconds,
            Arc::new(list),
            Arc::new(cents),
        ]
    }

    #[test]
    fn a_release_does_not_show_how_wide_the_offsets_of_text_were() {
        let text: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("flu"), None]));
        let plain = to_canonical_array(&text).unwrap();
        assert_eq!((plain.data_type(), plain.null_count(), plain.len()), (&DataType::Utf8, 1, 2));
    }

    #[test]
    fn values_beyond_the_range_of_a_release_are_found_in_every_form() {
        let largest = i64::MAX / 1000;
        for column in columns_of(largest) {
            assert!(fits_canonical(&column), "{}", column.data_type());
            to_canonical_array(&column).unwrap();
        }
        for column in columns_of(largest + 1).into_iter().take(3) {
            assert!(!fits_canonical(&column), "{}", column.data_type());
            assert!(to_canonical_array(&column).is_err(), "{}", column.data_type());
        }
        assert!(columns_of(i64::MAX).iter().all(|column| !fits_canonical(column)));
        let day = |seconds| Time32SecondArray::from(vec![seconds]);
        assert!(fits_canonical(&day(86_399)) && !fits_canonical(&day(i32::MAX)));
    }
}
