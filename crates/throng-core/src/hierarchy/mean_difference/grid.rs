//! The finest intervals of an MDR tree: their width, their origin and the format of their borders.
//!
//! Borders are integers in units of the precision of the column, so that intervals nest exactly and labels are exact:
//!
//! | column | unit |
//! |---|---|
//! | whole numbers | 1 |
//! | dates, times, timestamps | the longest of day, hour, minute, second, milli- and microsecond in which all values are whole, or else the unit of the type |
//! | decimals | 1 in the last place |
//! | floating point | the second significant digit of MD |
//!
//! Whole numbers, dates and times get closed intervals (`[20-24]`, `[2020-01-01/2020-01-31]`), others half-open ones
//! (`[2.5-5)`).

use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, TimeUnit};

use super::super::BuildError;
use super::super::build::{EXACT, precision, step};
use crate::numeric_view::{coordinates, from_integers, integers, labels};

/// Number of percentile ranges in [Liu 2018].
const PARTS: u32 = 20;

const DAY: i128 = 86_400;

/// Intervals of equal width over the inner values of a column.
#[derive(Debug)]
pub(super) struct IntervalGrid {
    /// First border, in units.
    origin: i128,
    /// Width of the finest intervals, in units; at least 1.
    width: i128,
    /// Index of the finest interval of each inner value.
    steps: Vec<u32>,
    unit: GridUnit,
    /// Smallest and largest value of the column.
    ends: TailEnds,
}

/// Unit of borders, and its text format.
#[derive(Debug)]
enum GridUnit {
    /// An integer.
    One,
    /// `length` ticks of a date or time type.
    Time { data_type: DataType, length: i128, is_day: bool },
    /// Ten to the power of minus this.
    Place(i32),
}

/// Ends of a column. Integers are in grid units.
#[derive(Debug)]
enum TailEnds {
    /// Exact integers.
    Whole(i128, i128),
    Real(f64, f64),
}

impl IntervalGrid {
    /// Creates the grid over the inner values of a column, at least two of its ascending values; `None` if the type has
    /// no coordinates.
    pub(super) fn over(values: &ArrayRef, inside: &Range<usize>) -> Option<Result<Self, BuildError>> {
        match integers(values) {
            Some(integers) => Some(Ok(Self::over_integers(values.data_type(), &integers, inside))),
            None => Some(Self::over_reals(values.data_type(), &coordinates(values)?, inside)),
        }
    }

    fn over_integers(data_type: &DataType, integers: &[i128], inside: &Range<usize>) -> Self {
        let unit = match data_type {
            DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
                GridUnit::Place(i32::from(*scale))
            }
            _ => time_unit(data_type, integers).unwrap_or(GridUnit::One),
        };
        let length = unit.length();
        let inner: Vec<i128> = integers[inside.clone()].iter().map(|value| value / length).collect();
        let (first, last) = (inner[0], inner[inner.len() - 1]);
        // The unsigned difference is exact even where a signed one would overflow.
        let above = |from: i128, value: i128| value.wrapping_sub(from).cast_unsigned();
        let parts = u128::from(PARTS);
        let width = ((above(first, last) + parts / 2) / parts).max(1);
        let origin = first.div_euclid(width.cast_signed()) * width.cast_signed();
        // MD is at least two thirds of a 20th of the range, so steps fit into u32.
        let steps = inner.iter().map(|value| (above(origin, *value) / width) as u32).collect();
        let ends = TailEnds::Whole(integers[0] / length, integers[integers.len() - 1] / length);
        Self { origin, width: width.cast_signed(), steps, unit, ends }
    }

    fn over_reals(data_type: &DataType, numbers: &[f64], inside: &Range<usize>) -> Result<Self, BuildError> {
        let inner = &numbers[inside.clone()];
        let parts = f64::from(PARTS);
        let (width, units, place) =
            two_digits(inner[inner.len() - 1] / parts - inner[0] / parts).ok_or(BuildError::TooFine)?;
        let precision = precision(data_type);
        let from_zero: Vec<f64> = inner.iter().map(|value| step(*value, 0.0, width, precision)).collect();
        if from_zero.iter().any(|step| step.abs() >= EXACT) {
            return Err(BuildError::TooFine);
        }
        // Integers below 2^53 from here on.
        let origin = from_zero[0] as i128 * units;
        let steps = from_zero.iter().map(|step| (step - from_zero[0]) as u32).collect();
        let ends = TailEnds::Real(numbers[0], numbers[numbers.len() - 1]);
        Ok(Self { origin, width: units, steps, unit: GridUnit::Place(place), ends })
    }

    /// Returns the index of the finest interval of each inner value.
    pub(super) fn steps(&self) -> &[u32] {
        &self.steps
    }

    /// Returns the label of an interval of these steps, and the share of the range of the column that it covers.
    pub(super) fn interval(&self, steps: Range<u32>) -> Result<(String, f64), BuildError> {
        // The product may overflow where the border does not; the wrapping sum is exact.
        let border = |step: u32| self.origin.wrapping_add(i128::from(step).wrapping_mul(self.width));
        let lower = border(steps.start);
        let upper = border(steps.end) - i128::from(self.unit.is_closed());
        let label = match &self.unit {
            GridUnit::Place(_) => format!("[{}-{})", self.unit.write(lower)?, self.unit.write(upper)?),
            _ if lower == upper => self.unit.write(lower)?,
            unit => format!("[{}{}{}]", unit.write(lower)?, unit.separator(), unit.write(upper)?),
        };
        Ok((label, self.extent(lower, upper)))
    }

    /// Returns the share of the range of the column between two borders, which are clipped to its ends.
    fn extent(&self, lower: i128, upper: i128) -> f64 {
        match (&self.ends, &self.unit) {
            (TailEnds::Whole(first, last), _) => {
                let width = |from: i128, to: i128| to.wrapping_sub(from).cast_unsigned() as f64;
                width(lower.clamp(*first, *last), upper.clamp(*first, *last)) / width(*first, *last)
            }
            (TailEnds::Real(first, last), GridUnit::Place(place)) => {
                let number = |border: i128| decimal(border, *place).parse().unwrap_or(*last).clamp(*first, *last);
                // Halves, because the difference of two finite numbers may overflow.
                (number(upper) / 2.0 - number(lower) / 2.0) / (last / 2.0 - first / 2.0)
            }
            // Reals always use decimal places.
            (TailEnds::Real(..), GridUnit::One | GridUnit::Time { .. }) => 1.0,
        }
    }
}

impl GridUnit {
    /// Returns the number of ticks of the type per unit.
    fn length(&self) -> i128 {
        match self {
            Self::Time { length, .. } => *length,
            Self::One | Self::Place(_) => 1,
        }
    }

    /// Returns whether an interval includes its upper border.
    fn is_closed(&self) -> bool {
        !matches!(self, Self::Place(_))
    }

    fn separator(&self) -> &'static str {
        match self {
            Self::Time { data_type: DataType::Time32(_) | DataType::Time64(_), .. } => "-",
            Self::Time { .. } => "/",
            Self::One | Self::Place(_) => "-",
        }
    }

    fn write(&self, units: i128) -> Result<String, BuildError> {
        match self {
            Self::One => Ok(units.to_string()),
            Self::Place(place) => Ok(decimal(units, *place)),
            Self::Time { data_type, length, is_day } => {
                let border = units.checked_mul(*length).ok_or(BuildError::NoText)?;
                let border = match per_second(data_type) {
                    // An interval of a time of day ends with the day at the latest.
                    Some(ticks) if is_clock(data_type) => border.min(DAY * ticks - length),
                    _ => border,
                };
                let border = from_integers(vec![Some(border)], data_type).filter(|border| border.null_count() == 0);
                let text = labels(&border.ok_or(BuildError::NoText)?).map_err(|_| BuildError::NoText)?.concat();
                let date = text.split('T').next().filter(|_| *is_day);
                Ok(date.map(str::to_owned).unwrap_or(text))
            }
        }
    }
}

/// Returns the longest unit of time that divides all values; `None` for other types.
fn time_unit(data_type: &DataType, integers: &[i128]) -> Option<GridUnit> {
    if *data_type == DataType::Date32 {
        return Some(GridUnit::Time { data_type: data_type.clone(), length: 1, is_day: true });
    }
    let ticks = per_second(data_type)?;
    let lengths = [DAY * ticks, 3600 * ticks, 60 * ticks, ticks, ticks / 1000, ticks / 1_000_000];
    let divides = |length: &i128| *length > 0 && integers.iter().all(|value| value % length == 0);
    let length = lengths.into_iter().find(divides).unwrap_or(1);
    Some(GridUnit::Time { data_type: data_type.clone(), length, is_day: length == DAY * ticks && !is_clock(data_type) })
}

/// Returns the number of ticks of a type per second; `None` for types without a time of day.
fn per_second(data_type: &DataType) -> Option<i128> {
    let of = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    match data_type {
        DataType::Date64 => Some(1_000),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Timestamp(unit, _) => Some(of(unit)),
        _ => None,
    }
}

fn is_clock(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

/// Rounds a number to two significant digits. Returns it with these digits as an integer and the decimal place of the
/// second; `None` unless the number is normal and positive.
fn two_digits(number: f64) -> Option<(f64, i128, i32)> {
    let text = (number.is_normal() && number > 0.0).then(|| format!("{number:.1e}"))?;
    let (digits, exponent) = text.split_once('e')?;
    Some((text.parse().ok()?, digits.replace('.', "").parse().ok()?, 1 - exponent.parse::<i32>().ok()?))
}

/// Formats `units` times ten to the power of minus `place` without trailing zeros after the point.
pub(super) fn decimal(units: i128, place: i32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = units.unsigned_abs().to_string();
    let zeros = "0".repeat(place.unsigned_abs() as usize);
    if units == 0 {
        return digits;
    }
    if place <= 0 {
        return format!("{sign}{digits}{zeros}");
    }
    let padded = zeros + &digits;
    let (whole, fraction) = padded.split_at(padded.len() - place as usize);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}
