//! Builds trees: each rule maps the distinct values of a column to their paths to the root.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use chrono::{DateTime, Datelike, NaiveDate};
use thiserror::Error;

use super::mean_difference::mean_difference_tree;
use super::{DatePart, HierarchySpec, MaskSide, ROOT, Tree};
use crate::numeric_view::{coordinates, labels};

/// Reason why a hierarchy does not fit the values of its column.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuildError {
    /// Values that the tree does not contain.
    #[error("{}", describe_missing(*.count))]
    Missing {
        /// Number of distinct values.
        count: usize,
    },
    /// The rule does not support the type of the column.
    #[error("its hierarchy is made for {expected}, and the column is {found}")]
    Type {
        /// Types that the rule supports.
        expected: &'static str,
        /// Type of the column.
        found: String,
    },
    /// A value that can't be formatted, such as a date beyond the calendar.
    #[error("some of its values can't be written as text, such as dates beyond the calendar; correct them")]
    NoText,
    /// Numbers too large to be distinguished at the width of an interval.
    #[error("its values are too large for intervals of this width; make the intervals wider, or give no hierarchy")]
    TooFine,
    /// A code too long to be masked character by character.
    #[error("its longest value has {longest} characters, and a mask takes at most {MASK_LIMIT}; shorten the codes")]
    TooLong {
        /// Number of characters of the longest value.
        longest: usize,
    },
}

/// Maximum length of a masked code; longer values are free text.
const MASK_LIMIT: usize = 64;

/// Integers up to 2^53 are exact in a double.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Builds the tree for distinct, sorted, non-null `values`. Returns it with the leaf position of each value.
pub fn build_tree(spec: &HierarchySpec, values: &ArrayRef) -> Result<(Tree, Vec<u32>), BuildError> {
    build_counted_tree(spec, values, &vec![1; values.len()])
}

/// Same as [`build_tree`] with the number of rows of each value, which only [`HierarchySpec::MeanDifference`] uses.
pub fn build_counted_tree(
    spec: &HierarchySpec,
    values: &ArrayRef,
    rows: &[u64],
) -> Result<(Tree, Vec<u32>), BuildError> {
    let names = labels(values).map_err(|_| BuildError::NoText)?;
    let tree = match spec {
        HierarchySpec::MeanDifference => return mean_difference_tree(values, rows),
        HierarchySpec::Tree(tree) => Tree::clone(tree),
        HierarchySpec::Flat => Tree::flat(&names),
        HierarchySpec::Intervals { origin, widths } => from_levels(&names, &interval_levels(values, *origin, widths)?),
        HierarchySpec::DateParts(parts) => from_levels(&names, &date_levels(values, parts)?),
        HierarchySpec::Mask(side) => from_levels(&names, &mask_levels(&names, *side, None)?),
        HierarchySpec::MaskOfLength { side, length } => {
            from_levels(&names, &mask_levels(&names, *side, Some(*length))?)
        }
    };
    let positions: Vec<Option<u32>> = names.iter().map(|name| tree.leaf(name)).collect();
    let count = positions.iter().filter(|position| position.is_none()).count();
    if count > 0 {
        return Err(BuildError::Missing { count });
    }
    Ok((tree, positions.into_iter().flatten().collect()))
}

/// Builds a tree in which `levels[l][i]` is the label of value `i` at level `l + 1`; adds the root.
fn from_levels(names: &[String], levels: &[Vec<String>]) -> Tree {
    let paths: Vec<Vec<&str>> = names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let inner = levels.iter().map(|level| level[i].as_str());
            std::iter::once(name.as_str()).chain(inner).chain(std::iter::once(ROOT)).collect()
        })
        .collect();
    if paths.is_empty() { Tree::flat::<&str>(&[]) } else { Tree::from_sound_paths(&paths, levels.len() + 2) }
}

fn interval_levels(values: &ArrayRef, origin: f64, widths: &[f64]) -> Result<Vec<Vec<String>>, BuildError> {
    let type_error = || BuildError::Type { expected: "numbers", found: values.data_type().to_string() };
    if !values.data_type().is_numeric() {
        return Err(type_error());
    }
    let coordinates = coordinates(values).ok_or_else(type_error)?;
    let whole = values.data_type().is_integer() && origin.fract() == 0.0;
    let Some(finest) = widths.first() else { return Ok(Vec::new()) };
    let precision = precision(values.data_type());
    let steps: Vec<f64> = coordinates.iter().map(|value| step(*value, origin, *finest, precision)).collect();
    if coordinates.iter().chain(&steps).any(|number| number.abs() >= EXACT) {
        return Err(BuildError::TooFine);
    }
    widths
        .iter()
        .map(|width| {
            // Express coarse intervals in fine ones, so that they nest despite rounding.
            let fine = (width / finest).round();
            let coarse: Vec<f64> = steps.iter().map(|step| (step / fine).floor()).collect();
            let labels: Vec<String> = coarse.iter().map(|step| interval_label(*step, origin, *width, whole)).collect();
            // Values ascend, so equal labels of different intervals would be adjacent.
            let is_shared = |i: usize| coarse[i] != coarse[i - 1] && labels[i] == labels[i - 1];
            if (1..labels.len()).any(is_shared) { Err(BuildError::TooFine) } else { Ok(labels) }
        })
        .collect()
}

/// Returns the index of the interval of a value, counted from the origin. A value that differs from a border by no more
/// than the rounding of its type, as 0.3 does from three times 0.1, lies on the border.
pub(crate) fn step(value: f64, origin: f64, width: f64, precision: f64) -> f64 {
    let exact = (value - origin) / width;
    let slack = (precision * (value.abs() + origin.abs()) / width).min(0.01);
    if (exact - exact.round()).abs() <= slack { exact.round() } else { exact.floor() }
}

/// Returns the relative error of a number of this type.
pub(crate) fn precision(data_type: &DataType) -> f64 {
    match data_type {
        DataType::Float16 => f64::from(f32::EPSILON) * 8192.0,
        DataType::Float32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// Formats an interval: closed for integers (`[20-24]`), half-open for others (`[20-25)`).
fn interval_label(step: f64, origin: f64, width: f64, whole: bool) -> String {
    let (lower, upper) = (origin + step * width, origin + (step + 1.0) * width);
    if whole && width.fract() == 0.0 {
        format!("[{lower}-{}]", upper - 1.0)
    } else {
        format!("[{}-{})", tidy(lower), tidy(upper))
    }
}

/// Rounds a border to 13 significant digits: `0.3`, not `0.30000000000000004`.
pub(crate) fn tidy(border: f64) -> f64 {
    if border.fract() == 0.0 { border } else { format!("{border:.12e}").parse().unwrap_or(border) }
}

fn date_levels(values: &ArrayRef, parts: &[DatePart]) -> Result<Vec<Vec<String>>, BuildError> {
    let dates = dates(values)
        .ok_or_else(|| BuildError::Type { expected: "dates or timestamps", found: values.data_type().to_string() })?;
    Ok(parts.iter().map(|part| dates.iter().map(|date| date_label(*date, *part)).collect()).collect())
}

/// Returns the calendar day of each value, in UTC.
fn dates(values: &ArrayRef) -> Option<Vec<NaiveDate>> {
    let per_day = match values.data_type() {
        DataType::Date32 => 1,
        DataType::Date64 => 86_400_000,
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => 86_400,
            TimeUnit::Millisecond => 86_400_000,
            TimeUnit::Microsecond => 86_400_000_000,
            TimeUnit::Nanosecond => 86_400_000_000_000,
        },
        _ => return None,
    };
    let integers = match values.data_type() {
        DataType::Date32 => cast(&cast(values, &DataType::Int32).ok()?, &DataType::Int64).ok()?,
        _ => cast(values, &DataType::Int64).ok()?,
    };
    let integers = integers.as_primitive::<Int64Type>();
    integers
        .values()
        .iter()
        .map(|value| {
            let seconds = value.div_euclid(per_day).checked_mul(86_400)?;
            Some(DateTime::from_timestamp(seconds, 0)?.date_naive())
        })
        .collect()
}

fn date_label(date: NaiveDate, part: DatePart) -> String {
    match part {
        DatePart::Day => date.format("%Y-%m-%d").to_string(),
        DatePart::Month => date.format("%Y-%m").to_string(),
        DatePart::Quarter => format!("{}-Q{}", date.format("%Y"), date.month0() / 3 + 1),
        DatePart::Year => date.format("%Y").to_string(),
        DatePart::Decade => format!("{}s", date.year().div_euclid(10) * 10),
    }
}

/// Level `l` masks `l` characters of a code of this length, or of the longest one; shorter codes show at most as many characters.
fn mask_levels(names: &[String], side: MaskSide, length: Option<usize>) -> Result<Vec<Vec<String>>, BuildError> {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    if longest > MASK_LIMIT {
        return Err(BuildError::TooLong { longest });
    }
    let codes: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let length = length.unwrap_or(longest).min(MASK_LIMIT);
    Ok((1..length)
        .map(|hidden| {
            let visible = length - hidden;
            codes.iter().map(|code| mask(code, visible, hidden, side)).collect()
        })
        .collect())
}

fn mask(code: &[char], visible: usize, hidden: usize, side: MaskSide) -> String {
    let stars = "*".repeat(hidden);
    match side {
        MaskSide::Right => code.iter().take(visible).collect::<String>() + &stars,
        MaskSide::Left => stars + &code[code.len().saturating_sub(visible)..].iter().collect::<String>(),
    }
}

/// Describes values that a tree does not contain.
fn describe_missing(count: usize) -> String {
    match count {
        1 => "1 distinct value is not in its hierarchy; add a line for it, or correct the value".to_owned(),
        _ => {
            format!(
                "{count} distinct values are not in its hierarchy; add a line for each of them, or correct the values"
            )
        }
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
