//! Validates the limit of a quasi-identifier, as far as possible without its type.

use throng_core::columns::Limit;
use throng_core::hierarchy::HierarchySpec;

use crate::field_path::FieldPath;
use crate::hierarchy::{height, labels};
use crate::problem::Report;
use crate::raw;

/// Validates a limit, including against the hierarchy of the column.
pub fn limit(
    written: &raw::RawLimit,
    hierarchy: Option<&HierarchySpec>,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<Limit> {
    match written {
        raw::RawLimit::Level(level) => check_level(*level, hierarchy, path, report).map(Limit::Level),
        raw::RawLimit::Values(values) => {
            if values.is_empty() {
                report.value(
                    path,
                    "is empty; list the most general values that may be released, or the numbers at which bands begin",
                );
            }
            if let Some(HierarchySpec::Tree(tree)) = hierarchy {
                let known = labels(tree);
                for (position, _) in values.iter().enumerate().filter(|(_, value)| !known.contains(value.as_str())) {
                    report.value(
                        &path.index(position),
                        "is not a value of the column's hierarchy; correct one of the two",
                    );
                }
            }
            Some(Limit::Values(values.as_slice().into()))
        }
        raw::RawLimit::Bands(borders) => {
            for (position, pair) in borders.windows(2).enumerate() {
                if pair[0] >= pair[1] {
                    report.value(&path.index(position + 1), "must be greater than the number before it");
                }
            }
            Some(Limit::Bands(borders.as_slice().into()))
        }
    }
}

/// Returns the level if it is below the root.
fn check_level(
    level: u64,
    hierarchy: Option<&HierarchySpec>,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<u32> {
    if let Some(root) = hierarchy.and_then(height).filter(|root| level >= *root) {
        report.value(
            path,
            format!(
                "limits nothing, since level {root} of the hierarchy is its root; the highest useful level is {}",
                root.saturating_sub(1)
            ),
        );
        return None;
    }
    let level = u32::try_from(level);
    if level.is_err() {
        report.value(path, "is more levels than any hierarchy has");
    }
    level.ok()
}

#[cfg(test)]
#[path = "../limit_tests.rs"]
mod tests;
