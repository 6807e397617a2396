//! The names of columns: those of the input against those of the policy, and those of the release against each other.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::Schema;

use crate::field_path::FieldPath;
use crate::policy::Columns;
use crate::problem::Report;
use crate::suggest::did_you_mean;

use super::BoundColumn;

/// Reports names that occur twice in the input, that only the input has, and that only the policy has.
pub fn check(columns: &Columns, schema: &Schema, report: &mut Report<'_>) {
    let table = FieldPath::of(&["columns"]);
    let listed: HashSet<&str> = columns.by_name.iter().map(|(name, _)| name.as_str()).collect();
    let mut present: HashMap<&str, usize> = HashMap::new();
    let mut unlisted: Vec<&str> = Vec::new();
    for field in schema.fields() {
        let count = present.entry(field.name()).or_default();
        *count += 1;
        if *count == 2 {
            report
                .field(&table.key(field.name()), "the input has more than one column of this name; rename all but one");
        }
        if *count == 1 && !listed.contains(field.name().as_str()) {
            unlisted.push(field.name());
        }
    }
    if !unlisted.is_empty() && !columns.drop_unlisted {
        let names: Vec<String> = unlisted.iter().map(|name| format!("`{name}`")).collect();
        report.field(
            &table,
            format!(
                "the input has columns that the policy does not name: {}; give each a role under [columns], or set \
                 `default = \"drop\"`",
                names.join(", ")
            ),
        );
    }
    for (name, _) in &columns.by_name {
        if !present.contains_key(name.as_str()) {
            let mut message = "the input has no such column".to_owned();
            if let Some(guess) = did_you_mean(name, unlisted.iter().copied()) {
                message = format!("{message}; {guess}");
            }
            report.field(&table.key(name), message);
        }
    }
}

/// Reports names that two columns would have in the release. The input has each name once, so that one of the two is a
/// bound such as `age_min`.
pub fn check_released(released: &[(&BoundColumn, Vec<String>)], report: &mut Report<'_>) {
    let mut owners: HashMap<&str, &BoundColumn> = HashMap::new();
    for (column, names) in released {
        for name in names {
            let Some(other) = owners.insert(name, column).filter(|other| other.name != column.name) else { continue };
            let (bounds, kept) = if column.name == *name { (other, *column) } else { (*column, other) };
            report.value(
                &FieldPath::of(&["columns", &bounds.name, "release"]),
                format!(
                    "its bound `{name}` would have the name that column `{}` has in the release; choose another \
                     release, or rename that column",
                    kept.name
                ),
            );
        }
    }
}
