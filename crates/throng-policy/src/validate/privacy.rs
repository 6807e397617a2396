//! What the release promises.

use crate::field_path::FieldPath;
use crate::policy::{Columns, PrivacySettings, Role};
use crate::problem::Report;
use crate::raw;

/// Checks `[privacy]`, also against the roles of the columns.
pub fn privacy(raw: &raw::Privacy, columns: &Columns, report: &mut Report<'_>) -> PrivacySettings {
    let (k_path, p_path) = (FieldPath::of(&["privacy", "k"]), FieldPath::of(&["privacy", "p"]));
    let (k, p) = (raw.k, raw.p.unwrap_or(raw::MIN_P));
    if k < raw::MIN_K {
        report.value(
            &k_path,
            format!("must be at least {}: k = {k} protects nobody, since a class of one row is a person", raw::MIN_K),
        );
    }
    if p < raw::MIN_P {
        report.value(&p_path, format!("must be at least {}: every class has a value", raw::MIN_P));
    }
    if p > k && k >= raw::MIN_K {
        // Blames the side that was changed on the command line, when only one was.
        let path = if report.flag(&k_path).is_some() && report.flag(&p_path).is_none() { &k_path } else { &p_path };
        report.value(
            path,
            format!("p = {p} is more than k = {k}, and a class of {k} rows has at most {k} values; raise k or lower p"),
        );
    }
    let has_sensitive = columns.by_name.iter().any(|(_, role)| matches!(role, Role::Sensitive));
    if p > raw::MIN_P && !has_sensitive {
        report.value(&p_path, format!("p = {p} needs a column with the role `sensitive`; name one, or leave p out"));
    }
    PrivacySettings { k, p }
}
