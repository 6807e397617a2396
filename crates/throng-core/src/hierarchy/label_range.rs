//! The ranges that labels of rule-based hierarchies stand for, without the values of a column.
//!
//! Labels of a tree are known from the policy. Those of intervals and of parts of the calendar stand for ranges of numbers and
//! of days, and those of a mask for what its codes begin or end with.

use chrono::{Datelike, Months, NaiveDate};

use super::{DatePart, HierarchySpec, MaskSide};
use crate::columns::ValueBand;

/// Relative tolerance of a border that is a multiple of a width: `0.3 / 0.1` is not exactly 3.
const ROUNDING: f64 = 1e-9;

/// Returns the numbers that a label of intervals stands for, or the days since 1970 of one of parts of the calendar; `None` if
/// the hierarchy has no such label.
///
/// Whole numbers are written as `[20-29]` and others as `[20-30)`; either is understood.
///
/// ```
/// use throng_core::hierarchy::{HierarchySpec, label_range};
/// let tens = HierarchySpec::Intervals { origin: 0.0, widths: vec![10.0] };
/// assert_eq!(label_range(&tens, "[20-29]"), label_range(&tens, "[20-30)"));
/// assert_eq!(label_range(&tens, "[25-34]"), None);
/// ```
pub fn label_range(spec: &HierarchySpec, label: &str) -> Option<ValueBand> {
    match spec {
        HierarchySpec::Intervals { origin, widths } => interval(label).filter(|band| {
            let is_whole = |number: f64| (number - number.round()).abs() <= ROUNDING * number.abs().max(1.0);
            let is_level = |width: &f64| {
                is_whole((band.from - origin) / width) && (band.below - band.from - width).abs() <= ROUNDING * width
            };
            widths.iter().any(is_level)
        }),
        HierarchySpec::DateParts(parts) => parts.iter().find_map(|part| days(label, *part)),
        _ => None,
    }
}

/// Returns the visible characters of a label of a mask, with which its codes begin or end: `41` for `41***` and, on the other side,
/// for `***41`. `None` if the label hides nothing, or everything.
pub fn mask_affix(side: MaskSide, label: &str) -> Option<&str> {
    let affix = match side {
        MaskSide::Right => label.trim_end_matches('*'),
        MaskSide::Left => label.trim_start_matches('*'),
    };
    (affix.len() < label.len() && !affix.is_empty()).then_some(affix)
}

/// Reads `[20-29]` and `[20-30)`.
fn interval(label: &str) -> Option<ValueBand> {
    let inner = label.strip_prefix('[')?;
    let (inner, beyond) = match inner.strip_suffix(']') {
        Some(inner) => (inner, 1.0),
        None => (inner.strip_suffix(')')?, 0.0),
    };
    // The first character may be the sign of the lower border.
    let dash = inner.char_indices().skip(1).find(|(_, mark)| *mark == '-')?.0;
    let (from, below) = (inner[..dash].parse::<f64>().ok()?, inner[dash + 1..].parse::<f64>().ok()? + beyond);
    (from.is_finite() && below.is_finite() && from < below).then_some(ValueBand { from, below })
}

/// Reads a part of the calendar as days since 1970.
fn days(label: &str, part: DatePart) -> Option<ValueBand> {
    let (year, month) = match part {
        DatePart::Day => {
            let day = label.parse::<NaiveDate>().ok().filter(|day| day.format("%Y-%m-%d").to_string() == label)?;
            let from = f64::from(day_number(day));
            return Some(ValueBand { from, below: from + 1.0 });
        }
        DatePart::Month => {
            let (year, month) = label.rsplit_once('-').filter(|(_, month)| month.len() == 2)?;
            (whole(year)?, u32::try_from(whole(month)?).ok()?)
        }
        DatePart::Quarter => {
            let (year, quarter) = label.rsplit_once("-Q")?;
            (whole(year)?, 3 * u32::try_from(whole(quarter)?).ok().filter(|quarter| (1..=4).contains(quarter))? - 2)
        }
        DatePart::Year => (whole(label)?, 1),
        DatePart::Decade => (whole(label.strip_suffix('s')?).filter(|year| year % 10 == 0)?, 1),
    };
    let months = match part {
        DatePart::Day | DatePart::Month => 1,
        DatePart::Quarter => 3,
        DatePart::Year => 12,
        DatePart::Decade => 120,
    };
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    let next = first.checked_add_months(Months::new(months))?;
    Some(ValueBand { from: f64::from(day_number(first)), below: f64::from(day_number(next)) })
}

/// Returns the days since 1970.
fn day_number(day: NaiveDate) -> i32 {
    day.num_days_from_ce() - NaiveDate::default().num_days_from_ce()
}

/// Reads a whole number without a plus sign.
fn whole(text: &str) -> Option<i32> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

#[cfg(test)]
#[path = "label_range_tests.rs"]
mod tests;
