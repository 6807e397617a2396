//! Checks a cover against the release and the type of its column.

use arrow::datatypes::DataType;
use throng_core::columns::{ColumnRecoding, QuasiSpec};
use throng_core::cover::CoverGrid;

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw;

use super::BoundColumn;
use super::type_kind::TypeKind;

/// Reports a cover that does not apply to the column: covers are for intervals of numbers and dates.
pub fn check(spec: &QuasiSpec, column: &BoundColumn, kind: TypeKind, path: &FieldPath, report: &mut Report<'_>) {
    let Some(grid) = &spec.cover else { return };
    let data_type = match &column.data_type {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    if !matches!(spec.release, ColumnRecoding::Interval | ColumnRecoding::Bounds) {
        let release = raw::RawRelease::from(spec.release).as_str();
        report.value(
            path,
            format!(
                "rounds the ends of intervals, and this column is released as `{release}`; use `interval` or `bounds`, or \
                 leave `cover` out"
            ),
        );
    } else if !kind.has_differences() {
        report.value(path, format!("is for numbers and dates, and the column has type {data_type}; leave it out"));
    } else if matches!(grid, CoverGrid::Calendar(_)) && kind != TypeKind::Date {
        report.value(path, format!("parts of the calendar are for dates, and the column has type {data_type}"));
    } else if !grid.fits(data_type) {
        report.value(
            path,
            format!(
                "the borders of this grid are no values of a column of type {data_type}; make the width and the origin \
                 multiples of its smallest step, and the width greater than that"
            ),
        );
    } else if spec.limit.is_some() && data_type.is_floating() {
        report.value(
            path,
            format!(
                "does not go with a `limit` for a column of type {data_type}, whose intervals end where the next band \
                 begins; leave one of the two out, or store whole numbers or decimals"
            ),
        );
    }
}

#[cfg(test)]
#[path = "../bind_cover_tests.rs"]
mod tests;
