//! Checks column names: input against policy, and released names against each other.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::Schema;

use crate::field_path::FieldPath;
use crate::policy::Columns;
use crate::problem::Report;
use crate::suggest::did_you_mean;

use super::BoundColumn;

/// Prefix of the names of derived columns, which accompany the rows of a job and are not released.
const RESERVED: &str = "__throng_";

/// Reports names that are reserved, that occur twice in the input, that only the input has, and that only the policy has. A
/// `derived` column needs no name in the policy.
pub fn check(columns: &Columns, schema: &Schema, derived: Option<&str>, report: &mut Report<'_>) {
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
        if *count == 1 && !listed.contains(field.name().as_str()) && derived != Some(field.name()) {
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
    for (name, _) in columns.by_name.iter().filter(|(name, _)| name.starts_with(RESERVED)) {
        report.field(&table.key(name), format!("names that begin with `{RESERVED}` are reserved; rename the column"));
    }
    for (name, _) in &columns.by_name {
        if !present.contains_key(name.as_str()) {
            let mut message = "the input has no such column".to_owned();
            if !report.is_full()
                && let Some(guess) = did_you_mean(name, unlisted.iter().copied())
            {
                message = format!("{message}; {guess}");
            }
            report.field(&table.key(name), message);
        }
    }
}

/// A column and its released names.
pub struct ReleasedColumn<'a> {
    /// Input column.
    pub column: &'a BoundColumn,
    /// Released names.
    pub names: Vec<String>,
    /// Kind of the released names that differ from the column's own name.
    added: &'static str,
}

impl<'a> ReleasedColumn<'a> {
    /// Creates a column with these released names; names other than its own are of kind `added`.
    pub fn new(column: &'a BoundColumn, names: Vec<String>, added: &'static str) -> Self {
        Self { column, names, added }
    }
}

/// Reports names that two columns would share in the release. Input names are unique, so one of the two is a derived
/// name, such as `age_min` or `ill_category`; derived names differ by suffix, so the other is not.
pub fn check_released(released: &[ReleasedColumn<'_>], report: &mut Report<'_>) {
    let mut owners: HashMap<&str, &ReleasedColumn<'_>> = HashMap::new();
    for one in released {
        for name in &one.names {
            let Some(other) = owners.insert(name, one).filter(|other| other.column.name != one.column.name) else {
                continue;
            };
            let (adding, kept) = if one.column.name == *name { (other, one) } else { (one, other) };
            report.value(
                &FieldPath::of(&["columns", &adding.column.name, "release"]),
                format!(
                    "its {} `{name}` would have the name that column `{}` has in the release; choose another release, \
                     or rename that column",
                    adding.added, kept.column.name
                ),
            );
        }
    }
}
