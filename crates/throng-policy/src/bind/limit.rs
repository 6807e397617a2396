//! Checks a limit against the release and the type of its column.

use throng_core::columns::{Limit, QuasiSpec};
use throng_core::hierarchy::HierarchySpec;

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw;

use super::BoundColumn;
use super::type_kind::TypeKind;

/// Reports a limit that does not apply to the column: bands are for numbers released in order, levels and values for
/// hierarchies.
pub fn check(spec: &QuasiSpec, column: &BoundColumn, kind: TypeKind, path: &FieldPath, report: &mut Report<'_>) {
    let Some(limit) = &spec.limit else { return };
    let release = raw::RawRelease::from(spec.release).as_str();
    match (limit, spec.release.is_ordered()) {
        (Limit::Bands(_), true) if kind.is_number() => {}
        (Limit::Bands(_), true) => report.value(
            path,
            format!("bands are for numbers, and the column has type {}; {}", column.data_type, hierarchy_advice(kind)),
        ),
        (Limit::Bands(_), false) => report.value(
            path,
            format!(
                "bands are for numbers that are released as `interval`, `bounds`, `mean` or `median`, and this column \
                 is released as `{release}`; give a level, or values of its hierarchy"
            ),
        ),
        (Limit::Level(_) | Limit::Values(_), true) => {
            let form = if matches!(limit, Limit::Level(_)) { "a level needs" } else { "values need" };
            let advice = if kind.is_number() {
                "list the numbers at which bands begin, or give it a `hierarchy`"
            } else {
                hierarchy_advice(kind)
            };
            report.value(
                path,
                format!("{form} a hierarchy, and this column is released as `{release}` without one; {advice}"),
            );
        }
        (Limit::Level(level), false) if *level > 0 && matches!(*spec.hierarchy, HierarchySpec::Flat) => report.value(
            path,
            "limits nothing, since without a hierarchy level 1 is the root; use 0, or give the column a `hierarchy`",
        ),
        (Limit::Level(_) | Limit::Values(_), false) => {}
    }
}

/// Returns the advice for an ordered column that is not a number.
fn hierarchy_advice(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Date => "give it a `hierarchy` of calendar parts, and a level as the limit",
        _ => "give it a `hierarchy`, and a level as the limit",
    }
}

#[cfg(test)]
#[path = "../bind_limit_tests.rs"]
mod tests;
