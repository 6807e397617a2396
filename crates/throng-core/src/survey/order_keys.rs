//! Numbers, dates and times as 64-bit keys of the same order.
//!
//! A column of such values needs no list of all of its distinct values: keys are sorted, spilled and compared without it, and
//! decode to their values.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, make_array};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use std::sync::Arc;

use crate::error::{Result, kernel};

const SIGN: u64 = 1 << 63;

/// Returns the key of a whole number.
pub(super) fn signed(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// Returns the whole number of a key.
pub(super) fn unsigned(key: u64) -> i64 {
    (key ^ SIGN).cast_signed()
}

/// Returns the key of a real number.
pub(super) fn of_real(value: f64) -> u64 {
    match value.to_bits() {
        negative if negative >= SIGN => !negative,
        positive => positive | SIGN,
    }
}

/// Returns the real number of a key.
pub(super) fn real(key: u64) -> f64 {
    f64::from_bits(if key >= SIGN { key ^ SIGN } else { !key })
}

/// How the values of a type are encoded as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Signed,
    Unsigned,
    Real,
}

fn kind_of(data_type: &DataType) -> Option<KeyKind> {
    use DataType::*;
    match data_type {
        Int8 | Int16 | Int32 | Int64 | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(_, _) => {
            Some(KeyKind::Signed)
        }
        UInt8 | UInt16 | UInt32 | UInt64 => Some(KeyKind::Unsigned),
        Float32 | Float64 => Some(KeyKind::Real),
        _ => None,
    }
}

/// Returns whether values of this type have keys.
pub(super) fn has_keys(data_type: &DataType) -> bool {
    kind_of(data_type).is_some()
}

/// Returns the keys of values without nulls; `None` for a type without keys.
pub(crate) fn keys(values: &ArrayRef) -> Result<Option<Vec<u64>>> {
    fn of<T: ArrowPrimitiveType>(values: &ArrayRef, key: impl Fn(T::Native) -> u64) -> Result<Option<Vec<u64>>> {
        let data = values.to_data().into_builder().data_type(T::DATA_TYPE).build().map_err(kernel("keys"))?;
        Ok(Some(make_array(data).as_primitive::<T>().values().iter().map(|value| key(*value)).collect()))
    }
    match (kind_of(values.data_type()), values.data_type().primitive_width()) {
        (Some(KeyKind::Signed), Some(1)) => of::<Int8Type>(values, |value| signed(value.into())),
        (Some(KeyKind::Signed), Some(2)) => of::<Int16Type>(values, |value| signed(value.into())),
        (Some(KeyKind::Signed), Some(4)) => of::<Int32Type>(values, |value| signed(value.into())),
        (Some(KeyKind::Signed), Some(8)) => of::<Int64Type>(values, signed),
        (Some(KeyKind::Unsigned), Some(1)) => of::<UInt8Type>(values, u64::from),
        (Some(KeyKind::Unsigned), Some(2)) => of::<UInt16Type>(values, u64::from),
        (Some(KeyKind::Unsigned), Some(4)) => of::<UInt32Type>(values, u64::from),
        (Some(KeyKind::Unsigned), Some(8)) => of::<UInt64Type>(values, |value| value),
        (Some(KeyKind::Real), Some(4)) => of::<Float32Type>(values, |value| of_real(value.into())),
        (Some(KeyKind::Real), Some(8)) => of::<Float64Type>(values, of_real),
        _ => Ok(None),
    }
}

/// Returns the values of keys; `None` for a type without keys. Inverse of [`keys`].
pub(crate) fn values(keys: impl Iterator<Item = u64>, data_type: &DataType) -> Result<Option<ArrayRef>> {
    fn of<T: ArrowPrimitiveType>(
        keys: impl Iterator<Item = u64>,
        data_type: &DataType,
        value: impl Fn(u64) -> T::Native,
    ) -> Result<Option<ArrayRef>> {
        let plain: ArrayRef = Arc::new(PrimitiveArray::<T>::from_iter_values(keys.map(value)));
        let data = plain.to_data().into_builder().data_type(data_type.clone()).build().map_err(kernel("keys"))?;
        Ok(Some(make_array(data)))
    }
    match (kind_of(data_type), data_type.primitive_width()) {
        (Some(KeyKind::Signed), Some(1)) => of::<Int8Type>(keys, data_type, |key| unsigned(key) as i8),
        (Some(KeyKind::Signed), Some(2)) => of::<Int16Type>(keys, data_type, |key| unsigned(key) as i16),
        (Some(KeyKind::Signed), Some(4)) => of::<Int32Type>(keys, data_type, |key| unsigned(key) as i32),
        (Some(KeyKind::Signed), Some(8)) => of::<Int64Type>(keys, data_type, unsigned),
        (Some(KeyKind::Unsigned), Some(1)) => of::<UInt8Type>(keys, data_type, |key| key as u8),
        (Some(KeyKind::Unsigned), Some(2)) => of::<UInt16Type>(keys, data_type, |key| key as u16),
        (Some(KeyKind::Unsigned), Some(4)) => of::<UInt32Type>(keys, data_type, |key| key as u32),
        (Some(KeyKind::Unsigned), Some(8)) => of::<UInt64Type>(keys, data_type, |key| key),
        (Some(KeyKind::Real), Some(4)) => of::<Float32Type>(keys, data_type, |key| real(key) as f32),
        (Some(KeyKind::Real), Some(8)) => of::<Float64Type>(keys, data_type, real),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float32Array, Float64Array, Int8Array, Int64Array, TimestampMicrosecondArray, UInt64Array};

    use super::*;

    #[test]
    fn keys_have_the_order_of_their_values_and_come_back() {
        let ascending: [ArrayRef; 6] = [
            Arc::new(Int8Array::from(vec![-128, -1, 0, 1, 127])),
            Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            Arc::new(UInt64Array::from(vec![0, 1, u64::MAX])),
            Arc::new(Float32Array::from(vec![f32::MIN, -1.5, -1e-30, 0.0, 0.1, f32::MAX])),
            Arc::new(Float64Array::from(vec![f64::MIN, -1.5, -1e-300, 0.0, 0.1, f64::MAX])),
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN, -1, 0, 5]).with_timezone("+01:00")),
        ];
        for array in ascending {
            let of_values = keys(&array).unwrap().unwrap();
            assert!(of_values.is_sorted_by(|a, b| a < b), "{array:?}");
            assert_eq!(&values(of_values.into_iter(), array.data_type()).unwrap().unwrap(), &array);
        }
        assert!(!has_keys(&DataType::Utf8) && !has_keys(&DataType::Decimal128(10, 2)));
    }
}
