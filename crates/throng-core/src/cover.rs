//! Covers: released intervals end at the borders of a fixed grid instead of values of the table.
//!
//! The tightest interval around some rows identifies two of them: its ends are values that occur, and often only one
//! row has them. A cover rounds both ends outwards to a grid that is stated in the policy, so the ends depend on the
//! grid alone. A class whose rows all have one value is released as that value, since at least k rows share it.
//!
//! ```text
//!  grid 5      20      25      30      35
//!              |-------|-------|-------|
//!  rows            23 . . . . 28                tight   [23-28]
//!              [--------------]                 covered [20-29]
//! ```
//!
//! Borders become positions of the domain that no row has, so losses, limits and labels need no special case.

use arrow::array::{Array, ArrayRef, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, NaiveDate};

use crate::columns::Limit;
use crate::hierarchy::{DatePart, EXACT, precision, step, tidy};
use crate::numeric_view::{coordinates, from_integers, integers};

const EPOCH: Option<NaiveDate> = NaiveDate::from_ymd_opt(1970, 1, 1);

/// The grid to which the ends of released intervals are rounded outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoverGrid {
    /// Cells of equal width, in days for dates and timestamps.
    Width {
        /// Width of a cell; finite and greater than zero.
        width: f64,
        /// A border; in days since 1970 for dates and timestamps.
        origin: f64,
    },
    /// Calendar parts of dates and timestamps, in UTC.
    Calendar(DatePart),
}

impl CoverGrid {
    /// Returns whether the borders of the grid are values of this type: cells are at least one unit of the type wide,
    /// and begin and end at one.
    pub fn fits(&self, data_type: &DataType) -> bool {
        match (self, units(data_type)) {
            (Self::Width { width, origin }, Some(units)) => {
                whole(*width, units).is_some_and(|width| width > 0) && whole(*origin, units).is_some()
            }
            (Self::Width { .. }, None) => data_type.is_floating(),
            (Self::Calendar(part), _) => match data_type {
                DataType::Date32 | DataType::Date64 => *part > DatePart::Day,
                DataType::Timestamp(..) => true,
                _ => false,
            },
        }
    }
}

/// Ascending values with the borders of their cells among them.
#[derive(Debug)]
pub(crate) struct CoveredValues {
    /// Values and borders, ascending and distinct.
    pub(crate) values: ArrayRef,
    /// Index of each given value in `values`.
    pub(crate) of_value: Vec<u32>,
    /// For each of `values`, the indices of the borders of its cell. Those of a border that is not a value are unused.
    pub(crate) cells: Vec<(u32, u32)>,
}

/// Adds to ascending values the borders of their cells, which are cut at the borders of a limit. Returns `None` if the
/// type of the values has no such borders.
pub(crate) fn cover(values: &ArrayRef, grid: CoverGrid, limit: Option<&Limit>) -> Option<CoveredValues> {
    if !grid.fits(values.data_type()) {
        return None;
    }
    if let Some(numbers) = integers(values) {
        let cells = whole_cells(&numbers, grid, limit, values.data_type())?;
        let with_borders = |all: Vec<i128>| from_integers(all.into_iter().map(Some).collect(), values.data_type());
        return arrange(&numbers, &cells, i128::cmp, with_borders);
    }
    // A cell of reals shows its end, which would belong to the next band of a limit.
    if limit.is_some() || !values.data_type().is_floating() {
        return None;
    }
    let numbers = coordinates(values)?;
    let cells = real_cells(&numbers, grid, values.data_type())?;
    let with_borders = |all: Vec<f64>| cast(&Float64Array::from(all), values.data_type()).ok();
    arrange(&numbers, &cells, f64::total_cmp, with_borders)
}

/// Sorts values and borders, and returns the index of each.
fn arrange<T: Copy>(
    numbers: &[T],
    cells: &[(T, T)],
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
    with_borders: impl FnOnce(Vec<T>) -> Option<ArrayRef>,
) -> Option<CoveredValues> {
    let mut all: Vec<T> =
        numbers.iter().copied().chain(cells.iter().flat_map(|(lower, upper)| [*lower, *upper])).collect();
    all.sort_unstable_by(&compare);
    all.dedup_by(|a, b| compare(a, b).is_eq());
    let place = |number: &T| all.partition_point(|other| compare(other, number).is_lt()) as u32;
    let of_value: Vec<u32> = numbers.iter().map(place).collect();
    let mut covered: Vec<(u32, u32)> = (0..all.len() as u32).map(|at| (at, at)).collect();
    for (at, (lower, upper)) in of_value.iter().zip(cells) {
        covered[*at as usize] = (place(lower), place(upper));
    }
    let values = with_borders(all).filter(|values| values.null_count() == 0)?;
    Some(CoveredValues { values, of_value, cells: covered })
}

/// Returns the first and the last number of the cell of each number, in units of the type.
fn whole_cells(
    numbers: &[i128],
    grid: CoverGrid,
    limit: Option<&Limit>,
    data_type: &DataType,
) -> Option<Vec<(i128, i128)>> {
    let units = units(data_type)?;
    let (least, most) = extent(data_type)?;
    let bands: Vec<i128> = match limit {
        Some(Limit::Bands(borders)) => borders.iter().map(|border| first_at_or_above(*border, units)).collect(),
        _ => Vec::new(),
    };
    let of_grid = |number: i128| match grid {
        CoverGrid::Width { width, origin } => {
            let (width, origin) = (whole(width, units).filter(|width| *width > 0)?, whole(origin, units)?);
            let lower = number.checked_sub(number.checked_sub(origin)?.rem_euclid(width))?;
            Some((lower, lower.checked_add(width - 1)?))
        }
        CoverGrid::Calendar(part) => {
            let per_day = units as i128;
            let (first, last) = part_of(number.div_euclid(per_day), part)?;
            Some((first * per_day, last * per_day + per_day - 1))
        }
    };
    let in_band = |number: i128| {
        let (lower, upper) = of_grid(number)?;
        let next = bands.partition_point(|border| *border <= number);
        let from = next.checked_sub(1).map_or(least, |band| bands[band]);
        let to = bands.get(next).map_or(most, |border| border - 1);
        Some((lower.max(from).max(least), upper.min(to).min(most)))
    };
    numbers.iter().map(|number| in_band(*number)).collect()
}

/// Returns the lower and the upper border of the cell of each real number, as representable in the type.
fn real_cells(numbers: &[f64], grid: CoverGrid, data_type: &DataType) -> Option<Vec<(f64, f64)>> {
    let CoverGrid::Width { width, origin } = grid else { return None };
    let precision = precision(data_type);
    let border = |at: f64| held(tidy(origin + at * width), data_type);
    let cell = |number: f64| {
        let at = step(number, origin, width, precision);
        // There is no grid where borders are closer together than numbers of this magnitude can represent.
        if number.abs() >= EXACT || at.abs() >= EXACT || border(at) == border(at + 1.0) {
            return None;
        }
        // A number within rounding of a border may lie on either side of it.
        let lower = [at, at - 1.0].map(border).into_iter().find(|lower| *lower <= number)?;
        let upper = [at, at + 1.0].map(border).into_iter().find(|upper| *upper >= number && *upper > lower)?;
        // A lower border of zero takes the sign of the number, so that it does not sort after it.
        Some((if lower == number { number } else { lower }, upper))
    };
    numbers.iter().map(|number| cell(*number)).collect()
}

/// Rounds the number to a type of fewer bits.
fn held(number: f64, data_type: &DataType) -> f64 {
    match data_type {
        DataType::Float16 => half::f16::from_f64(number).to_f64(),
        DataType::Float32 => f64::from(number as f32),
        _ => number,
    }
}

/// Returns the number of units of a type in 1, or in a day for dates and timestamps; `None` for types without a
/// smallest difference.
fn units(data_type: &DataType) -> Option<f64> {
    match data_type {
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => Some(86.4e6),
        DataType::Timestamp(TimeUnit::Second, _) => Some(86.4e3),
        DataType::Timestamp(TimeUnit::Microsecond, _) => Some(86.4e9),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Some(86.4e12),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => {
            Some(10_f64.powi(i32::from(*scale)))
        }
        DataType::Date32 => Some(1.0),
        other => other.is_integer().then_some(1.0),
    }
}

/// Returns the minimum and maximum of a type, in its units.
fn extent(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 | DataType::Date32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 | DataType::Date64 | DataType::Timestamp(..) => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Decimal32(digits, _) | DataType::Decimal64(digits, _) | DataType::Decimal128(digits, _) => {
            let most = 10_i128.checked_pow((*digits).into())? - 1;
            (-most, most)
        }
        _ => return None,
    })
}

/// Returns a number in units of its type, if that is a whole number.
fn whole(number: f64, units: f64) -> Option<i128> {
    let exact = number * units;
    let is_whole = (exact - exact.round()).abs() <= 1e-9 * exact.abs().max(1.0);
    (is_whole && exact.abs() < EXACT).then(|| exact.round() as i128)
}

/// Returns the first whole number of units that is not below a border.
fn first_at_or_above(border: f64, units: f64) -> i128 {
    whole(border, units).unwrap_or_else(|| (border * units).ceil() as i128)
}

/// Returns the first and the last day of the calendar part that contains a day, all counted from 1970.
fn part_of(day: i128, part: DatePart) -> Option<(i128, i128)> {
    let seconds = i64::try_from(day.checked_mul(86_400)?).ok()?;
    let date = DateTime::from_timestamp(seconds, 0)?.date_naive();
    let first_of = |year: i32, month: u32| NaiveDate::from_ymd_opt(year, month, 1);
    // Months of a calendar without years, from 0.
    let (month, months) = match part {
        DatePart::Day => return Some((day, day)),
        DatePart::Month => (date.month0(), 1),
        DatePart::Quarter => (date.month0() / 3 * 3, 3),
        DatePart::Year | DatePart::Decade => (0, 12),
    };
    let (year, years) = match part {
        DatePart::Decade => (date.year().div_euclid(10) * 10, 9),
        _ => (date.year(), 0),
    };
    let end = month + months;
    let (first, next) = (first_of(year, month + 1)?, first_of(year + years + (end / 12) as i32, end % 12 + 1)?);
    let epoch = EPOCH?;
    let since = |date: NaiveDate| i128::from(date.signed_duration_since(epoch).num_days());
    Some((since(first), since(next) - 1))
}

#[cfg(test)]
#[path = "cover_tests.rs"]
mod tests;
