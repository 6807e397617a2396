//! Validates `[workload]`, and weights the quasi-identifiers by the questions that they are in.
//!
//! A count errs by the rows whose labels reach over the borders of its conditions, so narrower labels in the columns of a question
//! answer it better. What makes them narrower is their weight in the loss that classes are formed by.

use std::collections::BTreeSet;

use crate::field_path::FieldPath;
use crate::policy::{Columns, Role};
use crate::problem::Report;
use crate::raw::RawWorkload;
use crate::suggest::did_you_mean;

/// Factor of the weight of a quasi-identifier that no other exceeds in the number of its questions.
pub const MAX_FACTOR: f64 = 4.0;

/// Validates the questions, and multiplies the weights of their columns. Returns the columns of each question.
pub fn workload(raw: Option<&RawWorkload>, columns: &mut Columns, report: &mut Report<'_>) -> Vec<Vec<String>> {
    let Some(RawWorkload { queries }) = raw else { return Vec::new() };
    let path = FieldPath::of(&["workload", "queries"]);
    if queries.is_empty() {
        report.value(
            &path,
            "names no question; write the columns of each, such as [[\"age\", \"sex\"]], or leave [workload] out",
        );
    }
    for (position, query) in queries.iter().enumerate() {
        check(query, columns, &path.index(position), report);
    }
    let uses = |name: &str| queries.iter().filter(|query| query.iter().any(|column| column == name)).count();
    let is_quasi = |(name, role): &(String, Role)| matches!(role, Role::Quasi(_)).then(|| uses(name));
    let most = columns.by_name.iter().filter_map(is_quasi).max().unwrap_or(0);
    if most == 0 && !queries.is_empty() && queries.iter().all(|query| !query.is_empty()) {
        report.value(
            &path,
            "has no quasi-identifier; all other columns are released as they are, so leave [workload] out",
        );
    }
    for (name, role) in &mut columns.by_name {
        if let Role::Quasi(quasi) = role {
            quasi.weight *= factor(uses(name), most);
        }
    }
    queries.clone()
}

/// Returns the factor of the weight of a column that is in `uses` questions, where no column is in more than `most`.
fn factor(uses: usize, most: usize) -> f64 {
    1.0 + (MAX_FACTOR - 1.0) * uses as f64 / most.max(1) as f64
}

/// Reports columns of a question that a release does not have, and those that it names twice.
fn check(query: &[String], columns: &Columns, path: &FieldPath, report: &mut Report<'_>) {
    if query.is_empty() {
        report.value(path, "is a question about no column; name one, or take it out");
    }
    let mut seen = BTreeSet::new();
    for (position, name) in query.iter().enumerate() {
        let path = path.index(position);
        match columns.by_name.iter().find(|(known, _)| known == name) {
            None => {
                let names = columns.by_name.iter().map(|(known, _)| known.as_str());
                let guess = did_you_mean(name, names).map_or_else(String::new, |guess| format!("; {guess}"));
                report.value(&path, format!("the policy has no column `{name}`{guess}"));
            }
            Some((_, Role::Identifier | Role::Pseudonym)) => {
                report.value(
                    &path,
                    format!("`{name}` is an identifier, about which a release answers nothing; take it out"),
                );
            }
            Some(_) if !seen.insert(name) => {
                report.value(&path, format!("`{name}` is in this question already; take it out"))
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
#[path = "../workload_tests.rs"]
mod tests;
