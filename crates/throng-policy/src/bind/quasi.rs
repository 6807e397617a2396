//! How a quasi-identifier is generalized, given its type.

use std::sync::Arc;

use throng_core::columns::{QuasiSpec, Release};
use throng_core::hierarchy::HierarchySpec;

use crate::field_path::FieldPath;
use crate::policy::Quasi;
use crate::problem::Report;

use super::BoundColumn;
use super::kind::Kind;

/// Makes the choices that the type decides, and refuses those that do not go with it.
pub fn bind(column: &BoundColumn, kind: Kind, quasi: &Quasi, path: &FieldPath, report: &mut Report<'_>) -> QuasiSpec {
    let release = quasi.release.unwrap_or(match &quasi.hierarchy {
        None if kind.is_ordered() => Release::Interval,
        _ => Release::Ancestor,
    });
    let hierarchy = quasi.hierarchy.clone().unwrap_or_else(|| Arc::new(HierarchySpec::Flat));
    if matches!(release, Release::Interval | Release::Bounds) && !kind.is_ordered() {
        let name = if release == Release::Interval { "interval" } else { "bounds" };
        report.value(
            &path.key("release"),
            format!(
                "`{name}` is for numbers, dates and times, and the column has type {}; use `ancestor` or `set`",
                column.data_type
            ),
        );
    }
    if let Some((form, wanted)) = unfit(&hierarchy, kind) {
        report.value(
            &path.key("hierarchy"),
            format!("{form} are for {wanted}, and the column has type {}", column.data_type),
        );
    }
    QuasiSpec { name: column.name.clone(), release, weight: quasi.weight, nulls: quasi.nulls, hierarchy }
}

/// The form of the hierarchy and what it is for, when it does not go with the kind.
fn unfit(hierarchy: &HierarchySpec, kind: Kind) -> Option<(&'static str, &'static str)> {
    match hierarchy {
        HierarchySpec::Intervals { .. } if !kind.is_number() => Some(("intervals", "numbers")),
        HierarchySpec::DateParts(_) if kind != Kind::Date => Some(("calendar parts", "dates and timestamps")),
        HierarchySpec::Mask(_) if !matches!(kind, Kind::Text | Kind::Integer) => {
            Some(("masks", "text and whole numbers"))
        }
        _ => None,
    }
}
