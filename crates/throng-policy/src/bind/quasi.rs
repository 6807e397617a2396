//! Binds a quasi-identifier to the type of its column.

use std::sync::Arc;

use throng_core::anonymize::PartitionChoice;
use throng_core::columns::{ColumnRecoding, QuasiSpec};
use throng_core::hierarchy::HierarchySpec;

use crate::field_path::FieldPath;
use crate::policy::Quasi;
use crate::problem::Report;
use crate::raw;

use super::BoundColumn;
use super::type_kind::{TypeKind, has_mean};
use super::{cover, limit};

/// Resolves the defaults that depend on type and partition, and reports choices that conflict with them.
pub fn bind(
    column: &BoundColumn,
    kind: TypeKind,
    quasi: &Quasi,
    partition: PartitionChoice,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> QuasiSpec {
    let is_regular = partition == PartitionChoice::Mdr && kind.is_ordered() && quasi.hierarchy.is_none();
    let release = quasi.release.unwrap_or(match &quasi.hierarchy {
        None if kind.is_ordered() && !is_regular => ColumnRecoding::Interval,
        _ => ColumnRecoding::Ancestor,
    });
    let hierarchy = quasi.hierarchy.clone().unwrap_or_else(|| {
        let is_tree = is_regular && release == ColumnRecoding::Ancestor;
        Arc::new(if is_tree { HierarchySpec::MeanDifference } else { HierarchySpec::Flat })
    });
    check_release(release, column, kind, is_regular, &path.key("release"), report);
    if let Some((form, wanted)) = unfit(&hierarchy, kind) {
        report.value(
            &path.key("hierarchy"),
            format!("{form} are for {wanted}, and the column has type {}", column.data_type),
        );
    }
    let limit = quasi.limit.clone();
    let spec = QuasiSpec {
        name: column.name.clone(),
        release,
        weight: quasi.weight,
        nulls: quasi.nulls,
        hierarchy,
        limit,
        cover: quasi.cover,
    };
    limit::check(&spec, column, kind, &path.key("limit"), report);
    cover::check(&spec, column, kind, &path.key("cover"), report);
    spec
}

/// Reports a release that conflicts with the type, or with the regular intervals of `mdr`.
fn check_release(
    release: ColumnRecoding,
    column: &BoundColumn,
    kind: TypeKind,
    is_regular: bool,
    path: &FieldPath,
    report: &mut Report<'_>,
) {
    if !release.is_ordered() {
        return;
    }
    let name = raw::RawRelease::from(release).as_str();
    if !kind.is_ordered() {
        let others = if release.is_aggregate() { "`mode`, `ancestor` or `set`" } else { "`ancestor` or `set`" };
        report.value(
            path,
            format!(
                "`{name}` is for numbers, dates and times, and the column has type {}; use {others}",
                column.data_type
            ),
        );
    } else if is_regular {
        report.value(
            path,
            format!(
                "`{name}` does not go with the partition `mdr`, which gives this column a hierarchy of regular \
                 intervals; leave `release` out, or choose another partition"
            ),
        );
    } else if release == ColumnRecoding::Mean && !has_mean(&column.data_type) {
        report.value(
            path,
            format!("there is no `mean` for columns of type {}; use `median` or `interval`", column.data_type),
        );
    }
}

/// Returns the form of the hierarchy and the types it supports, if it does not support this kind.
pub(super) fn unfit(hierarchy: &HierarchySpec, kind: TypeKind) -> Option<(&'static str, &'static str)> {
    match hierarchy {
        HierarchySpec::Intervals { .. } if !kind.is_number() => Some(("intervals", "numbers")),
        HierarchySpec::DateParts(_) if kind != TypeKind::Date => Some(("calendar parts", "dates and timestamps")),
        HierarchySpec::Mask(_) | HierarchySpec::MaskOfLength { .. }
            if !matches!(kind, TypeKind::Text | TypeKind::Integer) =>
        {
            Some(("masks", "text and whole numbers"))
        }
        _ => None,
    }
}
