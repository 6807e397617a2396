//! Validates the guards of `[privacy]`.

use crate::field_path::FieldPath;
use crate::guards::Guards;
use crate::problem::Report;
use crate::raw;

/// Validates the conditions of a delivery and of its release.
pub fn guards(raw: &raw::RawPrivacy, table: &FieldPath, report: &mut Report<'_>) -> Guards {
    if raw.min_rows == Some(0) {
        report.value(&table.key("min_rows"), "must be at least 1: an input without rows is never released");
    }
    if raw.max_rows_change.is_some_and(|change| change < 0.0) {
        report.value(&table.key("max_rows_change"), "must not be negative: it is a share of the rows that stand");
    }
    let shares = [
        ("loss_limit", raw.loss_limit, "must be from 0 to 1: the loss is 0 without generalization and 1 at most"),
        ("insensitive_uniqueness", raw.insensitive_uniqueness, "must be from 0 to 1: it is a share of the rows"),
    ];
    for (field, share, message) in shares {
        if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            report.value(&table.key(field), message);
        }
    }
    Guards {
        min_rows: raw.min_rows,
        max_rows_change: raw.max_rows_change,
        loss_limit: raw.loss_limit,
        insensitive_uniqueness: raw.insensitive_uniqueness,
    }
}
