//! Distinct values of a column as text and as numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, UInt64Array};
use arrow::buffer::ScalarBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, TimeUnit, UInt64Type};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Formats values as in a release. Null becomes the empty text; an instant is written in UTC. A value that can't be
/// formatted, such as a date beyond the calendar, is an error.
pub fn labels(values: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    let values = match values.data_type() {
        DataType::Timestamp(unit, Some(_)) => &cast(values, &DataType::Timestamp(*unit, Some("+00:00".into())))?,
        _ => values,
    };
    let options = FormatOptions::default().with_display_error(false);
    let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
    (0..values.len()).map(|row| formatter.value(row).try_to_string()).collect()
}

/// Returns ascending values as distances from the first; `None` if the type is not numeric or temporal.
///
/// Differences are computed before rounding, because a double can't distinguish nanoseconds since 1970.
pub fn distances(values: &ArrayRef) -> Option<Vec<f64>> {
    let numbers = NumericView::of(values)?;
    Some((0..values.len() as u32).map(|index| numbers.distance(index)).collect())
}

/// Returns numbers as doubles; `None` for other types.
pub fn coordinates(values: &ArrayRef) -> Option<Vec<f64>> {
    let numbers = values.data_type().is_numeric().then(|| cast(values, &DataType::Float64).ok())??;
    Some(numbers.as_primitive::<Float64Type>().values().to_vec())
}

/// Returns numbers as doubles, and dates and times as days since 1970; `None` for other types.
pub fn linear_numbers(values: &ArrayRef) -> Option<Vec<f64>> {
    match values.data_type() {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            let millis = cast(values, &DataType::Timestamp(TimeUnit::Millisecond, None)).ok()?;
            let millis = cast(&millis, &DataType::Int64).ok()?;
            Some(
                millis
                    .as_primitive::<Int64Type>()
                    .values()
                    .iter()
                    .map(|millis| *millis as f64 / 86_400_000.0)
                    .collect(),
            )
        }
        _ => coordinates(values),
    }
}

/// Ascending values as numbers, for computing means.
#[derive(Clone, Debug)]
pub enum NumericView {
    /// Integers of up to 64 bits.
    Narrow(NarrowNumbers),
    /// Wider integers.
    Wide(Vec<i128>),
    /// All other numbers.
    Real(Vec<f64>),
}

/// Ascending integers of up to 64 bits, signed or unsigned.
#[derive(Clone, Debug)]
pub struct NarrowNumbers {
    /// The smallest value.
    least: i128,
    bits: ScalarBuffer<i64>,
}

/// The mean of some values, before conversion to their type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mean {
    /// Of integers, rounded.
    Whole(i128),
    /// Of all other numbers.
    Real(f64),
}

impl NarrowNumbers {
    fn of(values: &ArrayRef) -> Option<Self> {
        if let DataType::UInt64 = values.data_type() {
            let numbers = values.as_primitive::<UInt64Type>().values();
            let least = numbers.first().map_or(0, |first| i128::from(*first));
            return Some(Self { least, bits: ScalarBuffer::from(numbers.inner().clone()) });
        }
        let bits = with_sign(values)?.values().clone();
        Some(Self { least: bits.first().map_or(0, |first| i128::from(*first)), bits })
    }

    /// Returns the distance of a number from the first one. That is the smallest, so the wrapping difference is exact even
    /// if a signed one would overflow.
    #[inline]
    pub fn distance(&self, index: u32) -> u64 {
        self.bits[index as usize].wrapping_sub(self.bits[0]).cast_unsigned()
    }

    /// Returns the mean of numbers, given as pairs of distance from the first one and row count; `None` without rows.
    /// Halves are rounded up.
    pub fn mean(&self, distances: impl Iterator<Item = (u64, u64)>) -> Option<Mean> {
        let (mut sum, mut total) = (0_u128, 0_u64);
        for (distance, rows) in distances {
            sum += u128::from(distance) * u128::from(rows);
            total += rows;
        }
        let total = u128::from(total);
        let rounded = sum.checked_div(total)? + u128::from(2 * (sum % total) >= total);
        i128::try_from(rounded).ok().map(|rounded| Mean::Whole(self.least + rounded))
    }
}

impl NumericView {
    /// Returns the numbers of ascending values; `None` for types that are not numeric or temporal.
    pub fn of(values: &ArrayRef) -> Option<Self> {
        if let Some(narrow) = NarrowNumbers::of(values) {
            return Some(Self::Narrow(narrow));
        }
        integers(values).map(Self::Wide).or_else(|| coordinates(values).map(Self::Real))
    }

    /// Returns the distance of a value from the first one, on a scale common to all values.
    #[inline]
    pub fn distance(&self, index: u32) -> f64 {
        match self {
            Self::Narrow(numbers) => numbers.distance(index) as f64,
            // Exact even if it wraps. The scale of decimals is common to all values and cancels out in ratios.
            Self::Wide(numbers) => numbers[index as usize].wrapping_sub(numbers[0]).cast_unsigned() as f64,
            // Halves, because the difference of two finite numbers may overflow.
            Self::Real(numbers) => numbers[index as usize] / 2.0 - numbers[0] / 2.0,
        }
    }

    /// Returns the mean of ascending values, given as pairs of index and row count; `None` without values.
    pub fn mean(&self, list: &[(u32, u64)]) -> Option<Mean> {
        match self {
            Self::Narrow(numbers) => numbers.mean(list.iter().map(|(index, rows)| (numbers.distance(*index), *rows))),
            Self::Wide(numbers) => mean_of_wide(numbers, list).map(Mean::Whole),
            Self::Real(numbers) => mean_of_reals(numbers, list).map(Mean::Real),
        }
    }
}

/// Converts means to the type of their values, null where there is none. Returns `None` for types without a mean.
pub fn from_means(means: impl Iterator<Item = Option<Mean>>, data_type: &DataType) -> Option<ArrayRef> {
    if data_type.is_floating() {
        let real = |mean: Mean| match mean {
            Mean::Whole(mean) => mean as f64,
            Mean::Real(mean) => mean,
        };
        return cast(&means.map(|mean| mean.map(real)).collect::<Float64Array>(), data_type).ok();
    }
    let whole = |mean: Option<Mean>| match mean {
        None => Some(None),
        Some(Mean::Whole(mean)) => Some(Some(mean)),
        Some(Mean::Real(_)) => None,
    };
    from_integers(means.map(whole).collect::<Option<Vec<_>>>()?, data_type)
}

/// Inverse of [`integers`]. Numbers that the type can't hold become null.
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
    // Normalize negative zero, whose sign a reader would see.
    Some(mean.clamp(first, last) + 0.0)
}

/// Halves are rounded up.
fn mean_of_wide(numbers: &[i128], list: &[(u32, u64)]) -> Option<i128> {
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

/// Returns the values of discrete types as integers: in the unit of the type for dates and times, unscaled for
/// decimals.
pub fn integers(values: &ArrayRef) -> Option<Vec<i128>> {
    use DataType::*;
    if let Some(numbers) = with_sign(values) {
        return Some(numbers.values().iter().map(|value| i128::from(*value)).collect());
    }
    match values.data_type() {
        UInt64 => Some(values.as_primitive::<UInt64Type>().values().iter().map(|value| i128::from(*value)).collect()),
        Decimal32(precision, scale) | Decimal64(precision, scale) | Decimal128(precision, scale) => {
            let decimals = cast(values, &Decimal128(*precision, *scale)).ok()?;
            Some(decimals.as_primitive::<Decimal128Type>().values().to_vec())
        }
        _ => None,
    }
}

/// The same for signed types of up to 64 bits.
fn with_sign(values: &ArrayRef) -> Option<Int64Array> {
    use DataType::*;
    let wide = |array: &ArrayRef| Some(cast(array, &Int64).ok()?.as_primitive::<Int64Type>().clone());
    match values.data_type() {
        Date32 | Time32(_) => wide(&cast(values, &Int32).ok()?),
        Date64 | Time64(_) | Timestamp(_, _) | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => wide(values),
        _ => None,
    }
}
