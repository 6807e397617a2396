//! Date hierarchies: calendar parts from fine to coarse.

use throng_core::hierarchy::{DatePart, HierarchySpec};

use crate::field_path::FieldPath;
use crate::problem::Report;

/// Builds a hierarchy with these levels, or reports why that is impossible.
pub fn hierarchy(parts: &[DatePart], path: &FieldPath, report: &mut Report<'_>) -> Option<HierarchySpec> {
    if parts.is_empty() {
        report.value(path, "is empty; name at least one part of the calendar, such as \"year\"");
        return None;
    }
    let mut is_ascending = true;
    for (position, pair) in parts.windows(2).enumerate() {
        if pair[0] >= pair[1] {
            is_ascending = false;
            report.value(
                &path.index(position + 1),
                "must be coarser than the part before it; the order is day, month, quarter, year, decade",
            );
        }
    }
    is_ascending.then_some(HierarchySpec::DateParts(parts.to_vec()))
}
