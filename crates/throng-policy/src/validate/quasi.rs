//! Validates quasi-identifiers.

use std::path::Path;
use std::sync::Arc;

use throng_core::columns::{ColumnRecoding, DEFAULT_WEIGHT, MAX_WEIGHT};

use crate::field_path::FieldPath;
use crate::hierarchy;
use crate::policy::Quasi;
use crate::problem::Report;
use crate::raw;

use super::cover::{cover, takes_hierarchy};
use super::limit::limit;

/// Validates the fields of a column with the role `quasi`.
pub fn quasi(column: &raw::RawColumn, path: &FieldPath, folder: Option<&Path>, report: &mut Report<'_>) -> Quasi {
    let weight = column.weight.unwrap_or(DEFAULT_WEIGHT);
    if weight <= 0.0 {
        report
            .value(&path.key("weight"), "must be greater than zero; to keep the column as it is, make it insensitive");
    }
    if weight > MAX_WEIGHT || weight.is_nan() {
        report.value(&path.key("weight"), format!("must be at most {MAX_WEIGHT}; weights are relative to each other"));
    }
    let hierarchy = column
        .hierarchy
        .as_ref()
        .and_then(|written| hierarchy::hierarchy(written, &path.key("hierarchy"), folder, report))
        .map(Arc::new);
    let cover = cover(column, hierarchy.as_deref(), path, report);
    let hierarchy = hierarchy.filter(|_| !takes_hierarchy(column));
    let limit =
        column.limit.as_ref().and_then(|written| limit(written, hierarchy.as_deref(), &path.key("limit"), report));
    Quasi {
        release: column.release.and_then(|written| release(written, column, path, report)),
        weight,
        nulls: column.nulls.unwrap_or_default(),
        hierarchy,
        limit,
        cover,
    }
}

fn release(
    written: raw::RawRelease,
    column: &raw::RawColumn,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<ColumnRecoding> {
    let (name, path) = (written.as_str(), path.key("release"));
    let release = written.of_quasi();
    match release {
        None => report.value(
            &path,
            format!("`{name}` is for the role `{}`, and this column is `quasi`", written.role().as_str()),
        ),
        Some(release) if release.is_ordered() && column.hierarchy.is_some() && !takes_hierarchy(column) => report
            .value(&path, format!("`{name}` has no use for a hierarchy; take the hierarchy out, or use `ancestor`")),
        Some(_) => {}
    }
    release
}
