//! Distinct values of a column as text and as numbers.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// The values as they are written into a release. Null becomes the empty text; an instant is written in UTC. A value
/// that has no text, such as a date beyond the calendar, is an error.
pub fn labels(values: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    let values = match values.data_type() {
        DataType::Timestamp(unit, Some(_)) => &cast(values, &DataType::Timestamp(*unit, Some("+00:00".into())))?,
        _ => values,
    };
    let options = FormatOptions::default().with_display_error(false);
    let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
    (0..values.len()).map(|row| formatter.value(row).try_to_string()).collect()
}

/// Ascending values on a line, as distances from the first of them; none when the type has no order of magnitude.
///
/// Distances are taken before anything is rounded: nanoseconds since 1970 differ by less than a double can tell.
pub fn distances(values: &ArrayRef) -> Option<Vec<f64>> {
    use DataType::*;
    fn from_first(values: Vec<i128>) -> Vec<f64> {
        let first = values.first().copied().unwrap_or(0);
        values.into_iter().map(|value| (value - first) as f64).collect()
    }
    let wide = |array: &ArrayRef| -> Option<Vec<f64>> {
        let array = cast(array, &Int64).ok()?;
        Some(from_first(array.as_primitive::<Int64Type>().values().iter().map(|value| i128::from(*value)).collect()))
    };
    match values.data_type() {
        Date32 | Time32(_) => wide(&cast(values, &Int32).ok()?),
        Date64 | Time64(_) | Timestamp(_, _) | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => wide(values),
        UInt64 => Some(from_first(
            values.as_primitive::<UInt64Type>().values().iter().map(|value| i128::from(*value)).collect(),
        )),
        Decimal128(_, _) => {
            let unscaled = values.as_primitive::<Decimal128Type>().values();
            let first = unscaled.first().copied().unwrap_or(0);
            // The scale is the same for all of them and goes away in every ratio.
            Some(unscaled.iter().map(|value| value.wrapping_sub(first).cast_unsigned() as f64).collect())
        }
        other if other.is_numeric() => {
            let numbers = coordinates(values)?;
            let first = numbers.first().copied().unwrap_or(0.0);
            // Halves, because two finite numbers may be infinitely far apart.
            Some(numbers.into_iter().map(|value| value / 2.0 - first / 2.0).collect())
        }
        _ => None,
    }
}

/// Numbers as doubles; none for other types.
pub fn coordinates(values: &ArrayRef) -> Option<Vec<f64>> {
    let numbers = values.data_type().is_numeric().then(|| cast(values, &DataType::Float64).ok())??;
    Some(numbers.as_primitive::<Float64Type>().values().to_vec())
}
