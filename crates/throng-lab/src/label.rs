//! Reads the labels of a release as an outsider does: from their text, and from the published hierarchies.
//!
//! It understands values, names of a hierarchy, `*`, sets `{A, B}`, masked codes `902**`, intervals `[25-39]`, `[20-25)`,
//! `[2024-01-01/2024-03-31]` and `25..39`, open intervals such as `>=65` and `<20`, and parts of the calendar such as `2024-Q1`.
//! A label that is none of these is taken to stand for any value, which favours the release in attacks.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::datatypes::{DataType, TimeUnit};

use crate::extent::Extent;
use crate::lexicon::{NameDomain, numbers_of};

/// Texts between the ends of an interval.
const SEPARATORS: [&str; 6] = ["/", ", ", "..", ";", "-", "–"];

/// Reads a label of a column of numbers, dates or times; `None` if it can't be understood.
pub(crate) fn ordered_extent(text: &str, data_type: &DataType) -> Option<Extent> {
    let text = text.trim();
    if text == "*" {
        return Some(Extent::Everything);
    }
    if let Some(number) = number(text, data_type) {
        return Some(Extent::Between { low: number, high: number });
    }
    open_interval(text, data_type).or_else(|| interval(text, data_type)).or_else(|| calendar_part(text, data_type))
}

/// Reads a label of a column of names; `None` if it can't be understood.
pub(crate) fn name_extent(text: &str, domain: &NameDomain) -> Option<Extent> {
    let leaves = |mut leaves: Vec<u32>, null| {
        leaves.sort_unstable();
        leaves.dedup();
        Some(Extent::Leaves { leaves: leaves.into(), null })
    };
    if let Some(leaf) = domain.leaf(text) {
        return leaves(vec![leaf], false);
    }
    if text == "*" {
        return Some(Extent::Everything);
    }
    if let Some(below) = domain.below(text) {
        return leaves(below.to_vec(), false);
    }
    if let Some(inside) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        let (found, null) = members(inside, domain)?;
        return leaves(found, null);
    }
    let matching = masked(text, domain)?;
    (!matching.is_empty()).then_some(())?;
    leaves(matching, false)
}

/// Splits the members of a set. Names may contain commas, so the longest known name is matched first.
pub(crate) fn members(inside: &str, domain: &NameDomain) -> Option<(Vec<u32>, bool)> {
    let pieces: Vec<&str> = inside.split(", ").collect();
    let (mut found, mut null, mut at) = (Vec::new(), false, 0);
    while at < pieces.len() {
        let longest =
            (at + 1..=pieces.len()).rev().find_map(|end| Some((end, domain.leaf(&pieces[at..end].join(", "))?)));
        at = match longest {
            Some((end, leaf)) => {
                found.push(leaf);
                end
            }
            None if pieces[at] == "null" => {
                null = true;
                at + 1
            }
            None => return None,
        };
    }
    Some((found, null))
}

/// Returns the names that a masked code stands for. Each `*` stands for one character, or for none at either end.
fn masked(text: &str, domain: &NameDomain) -> Option<Vec<u32>> {
    let (prefix, suffix) = (text.trim_end_matches('*'), text.trim_start_matches('*'));
    let is_masked = |name: &str| match (prefix.len() < text.len(), suffix.len() < text.len()) {
        (true, false) => name.starts_with(prefix) && name.chars().count() <= text.chars().count(),
        (false, true) => name.ends_with(suffix) && name.chars().count() <= text.chars().count(),
        _ => false,
    };
    (prefix.len() < text.len() || suffix.len() < text.len())
        .then(|| domain.names().iter().zip(0..).filter(|(name, _)| is_masked(name)).map(|(_, leaf)| leaf).collect())
}

/// Parses a value of the column.
fn number(text: &str, data_type: &DataType) -> Option<f64> {
    if is_calendar(data_type) {
        let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let typed = arrow::compute::cast(&column, data_type).ok()?;
        let numbers = numbers_of(&typed).ok()?;
        return numbers.is_valid(0).then(|| numbers.value(0));
    }
    text.parse().ok().filter(|number: &f64| !number.is_nan())
}

fn is_calendar(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) | DataType::Time32(_) | DataType::Time64(_)
    )
}

/// Whether there are no values between two neighbours of this type.
pub(crate) fn has_steps(data_type: &DataType) -> bool {
    data_type.is_integer() || is_calendar(data_type)
}

/// Returns the greatest value below an excluded upper end.
fn before(end: f64, data_type: &DataType) -> f64 {
    if has_steps(data_type) { end.ceil() - 1.0 } else { end.next_down() }
}

fn open_interval(text: &str, data_type: &DataType) -> Option<Extent> {
    let value = |text: &str| number(text.trim(), data_type);
    let above = |low| Extent::Between { low, high: f64::INFINITY };
    let below = |high| Extent::Between { low: f64::NEG_INFINITY, high };
    if let Some(rest) = text.strip_prefix(">=").or_else(|| text.strip_prefix('≥')) {
        return value(rest).map(above);
    }
    if let Some(rest) = text.strip_prefix("<=").or_else(|| text.strip_prefix('≤')) {
        return value(rest).map(below);
    }
    if let Some(rest) = text.strip_prefix('>') {
        let after = |end: f64| if has_steps(data_type) { end.floor() + 1.0 } else { end.next_up() };
        return value(rest).map(|end| above(after(end)));
    }
    if let Some(rest) = text.strip_prefix('<') {
        return value(rest).map(|end| below(before(end, data_type)));
    }
    text.strip_suffix('+').and_then(value).map(above)
}

fn interval(text: &str, data_type: &DataType) -> Option<Extent> {
    let is_open = text.ends_with(')') || text.ends_with('[');
    let inside = text.strip_prefix(['[', '(', ']']).unwrap_or(text);
    let inside = inside.strip_suffix([']', ')', '[']).unwrap_or(inside);
    let ends = SEPARATORS.iter().flat_map(|separator| inside.match_indices(separator)).find_map(|(at, separator)| {
        let low = number(inside[..at].trim(), data_type)?;
        let high = number(inside[at + separator.len()..].trim(), data_type)?;
        (low <= high).then_some((low, high))
    });
    let (low, high) = ends?;
    let high = if is_open && high > low { before(high, data_type) } else { high };
    Some(Extent::Between { low, high })
}

/// Reads `2024-02`, `2024-Q1`, `2024` and `2020s` as a range of days.
fn calendar_part(text: &str, data_type: &DataType) -> Option<Extent> {
    let per_day = match data_type {
        DataType::Date32 => 1.0,
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => 86_400e3,
        DataType::Timestamp(TimeUnit::Second, _) => 86_400.0,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 86_400e6,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 86_400e9,
        _ => return None,
    };
    let (from, to) = match text.split_once('-') {
        Some((year, rest)) => {
            let year: i64 = year.parse().ok()?;
            let (month, months) = match rest.strip_prefix('Q') {
                Some(quarter) => ((quarter.parse::<i64>().ok()? - 1) * 3, 3),
                None => (rest.parse::<i64>().ok()? - 1, 1),
            };
            (0..12).contains(&month).then_some(())?;
            (year * 12 + month, year * 12 + month + months)
        }
        None => match text.strip_suffix('s') {
            Some(decade) => (decade.parse::<i64>().ok()? * 12, (decade.parse::<i64>().ok()? + 10) * 12),
            None => (text.parse::<i64>().ok()? * 12, (text.parse::<i64>().ok()? + 1) * 12),
        },
    };
    Some(Extent::Between { low: first_day(from) * per_day, high: first_day(to) * per_day - 1.0 })
}

/// Returns the days from 1970-01-01 to the first day of a month, which is counted from year 0.
fn first_day(months: i64) -> f64 {
    // Years begin in March, so that the leap day is the last of its year.
    let from_march = months - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5;
    (days - 719_468) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(text: &str, data_type: &DataType) -> Option<(f64, f64)> {
        match ordered_extent(text, data_type)? {
            Extent::Between { low, high } => Some((low, high)),
            _ => None,
        }
    }

    #[test]
    fn intervals_of_numbers_are_read() {
        let read = |text| between(text, &DataType::Int64);
        assert_eq!(read("25"), Some((25.0, 25.0)));
        assert_eq!(read("[25-39]"), Some((25.0, 39.0)));
        assert_eq!(read("[-9--2]"), Some((-9.0, -2.0)));
        assert_eq!(read("[20-25)"), Some((20.0, 24.0)));
        assert_eq!(read("[20, 25["), Some((20.0, 24.0)));
        assert_eq!(read("20..25"), Some((20.0, 25.0)));
        assert_eq!(read(">=65"), Some((65.0, f64::INFINITY)));
        assert_eq!(read("<20"), Some((f64::NEG_INFINITY, 19.0)));
        assert_eq!(read("old"), None);
        assert_eq!(between("[1e-3-0.5)", &DataType::Float64), Some((1e-3, 0.5_f64.next_down())));
        assert_eq!(ordered_extent("*", &DataType::Int64), Some(Extent::Everything));
    }

    #[test]
    fn intervals_and_parts_of_the_calendar_are_read() {
        let read = |text| between(text, &DataType::Date32);
        assert_eq!(read("1970-01-02"), Some((1.0, 1.0)));
        assert_eq!(read("[1970-01-02/1970-02-01]"), Some((1.0, 31.0)));
        assert_eq!(read("1970-02"), Some((31.0, 58.0)));
        assert_eq!(read("2024-Q1"), Some((19_723.0, 19_813.0)));
        assert_eq!(read("1971"), Some((365.0, 729.0)));
        assert_eq!(read("1970s"), Some((0.0, 3651.0)));
    }

    #[test]
    fn labels_of_names_are_read() {
        let paths = [["90210", "902**", "*"], ["90211", "902**", "*"], ["80000", "800**", "*"]];
        let paths = paths.map(|path| path.map(str::to_owned).to_vec());
        let mut domain = NameDomain::new(&paths);
        domain.code("Smith, John");
        let read = |text| match name_extent(text, &domain) {
            Some(Extent::Leaves { leaves, null }) => Some((leaves.to_vec(), null)),
            _ => None,
        };
        assert_eq!(read("90210"), Some((vec![0], false)));
        assert_eq!(read("902**"), Some((vec![0, 1], false)));
        assert_eq!(read("9021*"), Some((vec![0, 1], false)));
        assert_eq!(read("*0210"), Some((vec![0], false)));
        assert_eq!(read("{90210, Smith, John, null}"), Some((vec![0, 3], true)));
        assert_eq!(read("{90210, Nowhere}"), None);
        assert_eq!(name_extent("*", &domain), Some(Extent::Everything));
    }
}
