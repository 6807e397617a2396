//! Validates the categories of sensitive values.

use std::collections::HashMap;

use throng_core::columns::{Categories, Category};

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw;

/// Validates `categories`: names must be unique, and each value has exactly one category.
pub fn categories(written: &[raw::RawCategory], path: &FieldPath, report: &mut Report<'_>) -> Categories {
    if written.len() < raw::MIN_CATEGORIES {
        report.value(
            path,
            format!(
                "has {} of at least {} categories; with fewer there is nothing to tell apart",
                written.len(),
                raw::MIN_CATEGORIES
            ),
        );
    }
    check_names(written, path, report);
    check_values(written, path, report);
    let list = written
        .iter()
        .enumerate()
        .map(|(position, category)| Category { name: name(position, category), values: category.values().to_vec() });
    Categories { list: list.collect() }
}

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

fn check_values(written: &[raw::RawCategory], path: &FieldPath, report: &mut Report<'_>) {
    let mut places: HashMap<&str, FieldPath> = HashMap::new();
    for (position, category) in written.iter().enumerate() {
        let path = match category {
            raw::RawCategory::Values(_) => path.index(position),
            raw::RawCategory::Named(_) => path.index(position).key("values"),
        };
        if category.values().is_empty() {
            report.value(&path, "is empty; give it at least one value");
        }
        for (position, value) in category.values().iter().enumerate() {
            let path = path.index(position);
            match places.get(value.as_str()) {
                Some(first) => {
                    report.value(&path, format!("is already in a category, at {first}; a value has one category"));
                }
                None => {
                    places.insert(value, path);
                }
            }
        }
    }
}
