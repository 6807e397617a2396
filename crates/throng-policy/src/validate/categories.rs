//! Validates the categories of sensitive values.

use std::collections::HashMap;

use chrono::{Datelike, NaiveDate};
use throng_core::columns::{Categories, Category, ValueBand};

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw;

/// Validates `categories`: names must be unique, and no value has two categories.
pub fn categories(written: &[raw::RawCategory], path: &FieldPath, report: &mut Report<'_>) -> Categories {
    if written.len() < raw::MIN_CATEGORIES {
        report.value(
            path,
            format!(
                "has {} of at least {} categories; with fewer there is nothing to distinguish",
                written.len(),
                raw::MIN_CATEGORIES
            ),
        );
    }
    check_names(written, path, report);
    let key_of = |category: &raw::RawCategory| matches!(category, raw::RawCategory::Named(_)).then_some("values");
    check_texts(written, path, raw::RawCategory::values, key_of, report);
    check_texts(written, path, raw::RawCategory::prefixes, |_| Some("prefixes"), report);
    let bands = bands(written, path, report);
    let list = written.iter().zip(bands).enumerate().map(|(position, (category, bands))| Category {
        name: name(position, category),
        values: category.values().to_vec(),
        prefixes: category.prefixes().to_vec(),
        bands,
    });
    Categories { list: list.collect() }
}

/// Returns the bands of each category. Bands must not be empty and must not overlap.
fn bands(written: &[raw::RawCategory], path: &FieldPath, report: &mut Report<'_>) -> Vec<Vec<ValueBand>> {
    let mut known: Vec<(ValueBand, FieldPath)> = Vec::new();
    let mut of_category = Vec::new();
    for (position, category) in written.iter().enumerate() {
        let path = path.index(position).key("bands");
        if matches!(category, raw::RawCategory::Named(named) if named.bands.as_ref().is_some_and(Vec::is_empty)) {
            report.value(&path, "is empty; give it at least one band");
        }
        let first = known.len();
        for (position, band) in category.bands().iter().enumerate() {
            let path = path.index(position);
            let from = band.from.as_ref().map(|border| number(border, &path.key("from"), report));
            let below = band.below.as_ref().map(|border| number(border, &path.key("below"), report));
            if from.is_none() && below.is_none() {
                report.value(&path, "has neither `from` nor `below`; give it at least one border");
                continue;
            }
            let (Some(from), Some(below)) =
                (from.unwrap_or(Some(f64::NEG_INFINITY)), below.unwrap_or(Some(f64::INFINITY)))
            else {
                continue;
            };
            if from >= below {
                report.value(&path, "is empty: `from` must be less than `below`");
            } else if let Some((_, other)) = known.iter().find(|(band, _)| from < band.below && band.from < below) {
                report.value(&path, format!("overlaps with {other}; a value has one category"));
            } else {
                known.push((ValueBand { from, below }, path));
            }
        }
        of_category.push(known[first..].iter().map(|(band, _)| *band).collect());
    }
    of_category
}

/// Returns a border as a number, or returns `None` and reports the reason.
fn number(border: &raw::RawBorder, path: &FieldPath, report: &mut Report<'_>) -> Option<f64> {
    let days = |text: &String| text.parse::<NaiveDate>().ok().map(|day| f64::from(day.num_days_from_ce() - EPOCH));
    let number = match border {
        raw::RawBorder::Number(number) => Some(*number).filter(|number| number.is_finite()),
        raw::RawBorder::Date(text) => days(text),
    };
    if number.is_none() {
        report.value(path, "must be a finite number, or a date such as \"2024-02-29\"");
    }
    number
}

/// 1970-01-01 as the number of days from the first day of year 1.
const EPOCH: i32 = 719_163;

/// Returns the name of a category: its own, or its 1-based position.
fn name(position: usize, category: &raw::RawCategory) -> String {
    match category {
        raw::RawCategory::Values(_) => (position + 1).to_string(),
        raw::RawCategory::Named(named) => named.name.clone(),
    }
}

fn check_names(written: &[raw::RawCategory], path: &FieldPath, report: &mut Report<'_>) {
    // Register positional names first: only an explicit name can be changed.
    let is_named = |category: &raw::RawCategory| matches!(category, raw::RawCategory::Named(_));
    let mut order: Vec<(usize, &raw::RawCategory)> = written.iter().enumerate().collect();
    order.sort_by_key(|(_, category)| is_named(category));
    let mut taken: HashMap<String, usize> = HashMap::new();
    for (position, category) in order {
        let (name, path_of_name) = (name(position, category), path.index(position).key("name"));
        if name.is_empty() {
            report.value(&path_of_name, "is empty; give the category a name");
        } else if let Some(first) = taken.get(&name) {
            report.value(&path_of_name, format!("is also the name of {}; choose another", path.index(*first)));
        } else {
            taken.insert(name, position);
        }
    }
}

/// Checks that no text is in two categories, and that no list is empty. A category needs texts unless it has other forms.
fn check_texts<'a>(
    written: &'a [raw::RawCategory],
    path: &FieldPath,
    texts: impl Fn(&'a raw::RawCategory) -> &'a [String],
    key: impl Fn(&'a raw::RawCategory) -> Option<&'static str>,
    report: &mut Report<'_>,
) {
    let mut places: HashMap<&str, FieldPath> = HashMap::new();
    for (position, category) in written.iter().enumerate() {
        let key = key(category);
        let path = key.map_or_else(|| path.index(position), |key| path.index(position).key(key));
        let is_prefix = key == Some("prefixes");
        if is_empty(category, is_prefix) {
            report.value(&path, "is empty; give it at least one value");
        }
        for (position, text) in texts(category).iter().enumerate() {
            let path = path.index(position);
            match places.get(text.as_str()) {
                Some(first) => {
                    report.value(&path, format!("is already in a category, at {first}; a value has one category"));
                }
                None if is_prefix && text.is_empty() => {
                    report.value(&path, "is empty, and every text begins with it; give it at least one character");
                }
                None => {
                    places.insert(text, path);
                }
            }
        }
    }
}

/// Whether a category has an empty list of prefixes or of values, or nothing at all.
fn is_empty(category: &raw::RawCategory, is_prefix: bool) -> bool {
    match category {
        raw::RawCategory::Values(values) => !is_prefix && values.is_empty(),
        raw::RawCategory::Named(named) if is_prefix => named.prefixes.as_ref().is_some_and(Vec::is_empty),
        raw::RawCategory::Named(named) => match &named.values {
            Some(values) => values.is_empty(),
            None => category.prefixes().is_empty() && category.bands().is_empty(),
        },
    }
}
