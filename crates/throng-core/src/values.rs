//! Distinct values of a column as text and as numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, UInt64Array};
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
    if let Some(integers) = integers(values) {
        let first = integers.first().copied().unwrap_or(0);
        // The first is the smallest, so that the difference of two's complements is right even where it overflows. The
        // scale of decimals is the same for all of them and goes away in every ratio.
        return Some(integers.iter().map(|value| value.wrapping_sub(first).cast_unsigned() as f64).collect());
    }
    let numbers = coordinates(values)?;
    let first = numbers.first().copied().unwrap_or(0.0);
    // Halves, because two finite numbers may be infinitely far apart.
    Some(numbers.into_iter().map(|value| value / 2.0 - first / 2.0).collect())
}

/// Numbers as doubles; none for other types.
pub fn coordinates(values: &ArrayRef) -> Option<Vec<f64>> {
    let numbers = values.data_type().is_numeric().then(|| cast(values, &DataType::Float64).ok())??;
    Some(numbers.as_primitive::<Float64Type>().values().to_vec())
}

/// The mean of each list of values (as indices, with the rows that have each), rounded to the type of the values; null
/// for an empty list. None for types without a mean.
pub fn means(values: &ArrayRef, lists: &[Vec<(u32, u64)>]) -> Option<ArrayRef> {
    let data_type = values.data_type();
    if data_type.is_floating() {
        let numbers = coordinates(values)?;
        let means: Float64Array = lists.iter().map(|list| mean_of_reals(&numbers, list)).collect();
        return cast(&means, data_type).ok();
    }
    let numbers = integers(values)?;
    from_integers(lists.iter().map(|list| mean_of_integers(&numbers, list)).collect(), data_type)
}

/// The other way round than [`integers`]. What the type can't hold becomes null.
pub fn from_integers(integers: Vec<Option<i128>>, data_type: &DataType) -> Option<ArrayRef> {
    match data_type {
        DataType::Decimal128(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal32(precision, scale) => {
            let decimals = Decimal128Array::from(integers).with_precision_and_scale(*precision, *scale).ok()?;
            cast(&decimals, data_type).ok()
        }
        DataType::UInt64 => Some(Arc::new(
            integers.iter().map(|value| value.and_then(|value| u64::try_from(value).ok())).collect::<UInt64Array>(),
        )),
        _ => {
            let wide: Int64Array =
                integers.iter().map(|value| value.and_then(|value| i64::try_from(value).ok())).collect();
            let wide: ArrayRef = Arc::new(wide);
            let narrow = matches!(data_type, DataType::Date32 | DataType::Time32(_));
            let wide = if narrow { cast(&wide, &DataType::Int32).ok()? } else { wide };
            cast(&wide, data_type).ok()
        }
    }
}

fn mean_of_reals(numbers: &[f64], list: &[(u32, u64)]) -> Option<f64> {
    let total: u64 = list.iter().map(|(_, rows)| rows).sum();
    let number = |index: u32| numbers[index as usize];
    let (first, last) = (number(list.first()?.0), number(list.last()?.0));
    let sum: f64 = list.iter().map(|(index, rows)| (number(*index) - first) * *rows as f64).sum();
    let mean = if sum.is_finite() {
        first + sum / total as f64
    } else {
        list.iter().map(|(index, rows)| number(*index) * (*rows as f64 / total as f64)).sum()
    };
    // A zero has no sign that a reader would see.
    Some(mean.clamp(first, last) + 0.0)
}

/// Halves are rounded up.
fn mean_of_integers(numbers: &[i128], list: &[(u32, u64)]) -> Option<i128> {
    let total: i128 = list.iter().map(|(_, rows)| i128::from(*rows)).sum();
    let first = numbers[list.first()?.0 as usize];
    let offset = |index: u32| numbers[index as usize].checked_sub(first);
    let exact = list
        .iter()
        .try_fold(0_i128, |sum, (index, rows)| sum.checked_add(offset(*index)?.checked_mul(i128::from(*rows))?));
    let rounded = match exact.and_then(|sum| sum.checked_mul(2)?.checked_add(total)) {
        Some(twice) => twice / (2 * total),
        None => {
            let share = |(index, rows): &(u32, u64)| {
                (numbers[*index as usize] as f64 - first as f64) * (*rows as f64 / total as f64)
            };
            list.iter().map(share).sum::<f64>() as i128
        }
    };
    Some(first + rounded)
}

/// Values that are counted one by one, as whole numbers: of the unit for dates and times, unscaled for decimals.
pub fn integers(values: &ArrayRef) -> Option<Vec<i128>> {
    use DataType::*;
    let wide = |array: &ArrayRef| -> Option<Vec<i128>> {
        let array = cast(array, &Int64).ok()?;
        Some(array.as_primitive::<Int64Type>().values().iter().map(|value| i128::from(*value)).collect())
    };
    match values.data_type() {
        Date32 | Time32(_) => wide(&cast(values, &Int32).ok()?),
        Date64 | Time64(_) | Timestamp(_, _) | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => wide(values),
        UInt64 => Some(values.as_primitive::<UInt64Type>().values().iter().map(|value| i128::from(*value)).collect()),
        Decimal32(precision, scale) | Decimal64(precision, scale) | Decimal128(precision, scale) => {
            let decimals = cast(values, &Decimal128(*precision, *scale)).ok()?;
            Some(decimals.as_primitive::<Decimal128Type>().values().to_vec())
        }
        _ => None,
    }
}
