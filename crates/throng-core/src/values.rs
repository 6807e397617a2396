//! Distinct values of a column as text and as numbers.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// The values as they are written into a release. Null becomes the empty text; an instant is written in UTC.
pub fn labels(values: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    let values = match values.data_type() {
        DataType::Timestamp(unit, Some(_)) => &cast(values, &DataType::Timestamp(*unit, Some("+00:00".into())))?,
        _ => values,
    };
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
    Ok((0..values.len()).map(|row| formatter.value(row).to_string()).collect())
}

/// The values on a line, for measuring how far apart they are; none when the type has no order of magnitude.
pub fn coordinates(values: &ArrayRef) -> Option<Vec<f64>> {
    use DataType::{Date32, Date64, Int32, Int64, Time32, Time64, Timestamp};
    let numbers = match values.data_type() {
        Date32 | Time32(_) => cast(values, &Int32).ok()?,
        Date64 | Time64(_) | Timestamp(_, _) => cast(values, &Int64).ok()?,
        other if other.is_numeric() => values.clone(),
        _ => return None,
    };
    let numbers = cast(&numbers, &DataType::Float64).ok()?;
    Some(numbers.as_primitive::<Float64Type>().values().to_vec())
}

/// Whether values of this type lie on a line, so that a class of them can be released as an interval.
pub fn is_ordered(data_type: &DataType) -> bool {
    use DataType::{Date32, Date64, Time32, Time64, Timestamp};
    match data_type {
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(_, _) => true,
        DataType::Dictionary(_, value) => is_ordered(value),
        other => other.is_numeric(),
    }
}
