//! Validates the cover of a quasi-identifier, as far as possible without its type.

use throng_core::columns::ColumnRecoding;
use throng_core::cover::CoverGrid;
use throng_core::hierarchy::{DatePart, HierarchySpec};

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw::{DEFAULT_ORIGIN, RawColumn, RawCover, RawCoverGrid, RawCoverName};

/// Returns whether the column has a hierarchy only for its cover.
pub fn takes_hierarchy(column: &RawColumn) -> bool {
    matches!(column.cover, Some(RawCover::Named(RawCoverName::Hierarchy)))
}

/// Validates a cover, including against the hierarchy from which it may take its grid.
pub fn cover(
    column: &RawColumn,
    hierarchy: Option<&HierarchySpec>,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<CoverGrid> {
    let calendar = |part: DatePart| Some(CoverGrid::Calendar(part));
    let at = path.key("cover");
    match column.cover.as_ref()? {
        RawCover::Width(width) => grid(*width, DEFAULT_ORIGIN, &at, report),
        RawCover::Grid(RawCoverGrid { grid: width, origin }) => {
            grid(*width, origin.unwrap_or(DEFAULT_ORIGIN), &at.key("grid"), report)
        }
        RawCover::Named(RawCoverName::Day) => calendar(DatePart::Day),
        RawCover::Named(RawCoverName::Month) => calendar(DatePart::Month),
        RawCover::Named(RawCoverName::Quarter) => calendar(DatePart::Quarter),
        RawCover::Named(RawCoverName::Year) => calendar(DatePart::Year),
        RawCover::Named(RawCoverName::Decade) => calendar(DatePart::Decade),
        RawCover::Named(RawCoverName::Hierarchy) => of_hierarchy(column, hierarchy, path, report),
    }
}

fn grid(width: f64, origin: f64, path: &FieldPath, report: &mut Report<'_>) -> Option<CoverGrid> {
    if width <= 0.0 {
        report.value(path, "must be greater than zero; to release ends that are values of the table, leave it out");
        return None;
    }
    Some(CoverGrid::Width { width, origin })
}

/// Returns the finest level of a hierarchy as a grid.
fn of_hierarchy(
    column: &RawColumn,
    hierarchy: Option<&HierarchySpec>,
    path: &FieldPath,
    report: &mut Report<'_>,
) -> Option<CoverGrid> {
    let is_interval = |release: ColumnRecoding| matches!(release, ColumnRecoding::Interval | ColumnRecoding::Bounds);
    if !column.release.and_then(|release| release.of_quasi()).is_some_and(is_interval) {
        report.value(
            &path.key("cover"),
            "takes its grid from the hierarchy of a column that is released as intervals; add `release = \"interval\"` or \
             `\"bounds\"`, or leave `cover` out, since labels of a hierarchy have fixed borders",
        );
        return None;
    }
    match hierarchy {
        Some(HierarchySpec::Intervals { origin, widths }) => {
            widths.first().map(|width| CoverGrid::Width { width: *width, origin: *origin })
        }
        Some(HierarchySpec::DateParts(parts)) => parts.first().copied().map(CoverGrid::Calendar),
        // A rejected hierarchy has already been reported.
        None if column.hierarchy.is_some() => None,
        _ => {
            report.value(
                &path.key("cover"),
                "takes its grid from a hierarchy of intervals or parts of the calendar; give the column a `hierarchy` with \
                 `intervals`, `width` or `date`, or `cover` a width",
            );
            None
        }
    }
}
