//! What each column means.

use std::path::Path;
use std::sync::Arc;

use throng_core::columns::DEFAULT_WEIGHT;

use crate::field_path::FieldPath;
use crate::hierarchy;
use crate::policy::{Columns, Quasi, Role};
use crate::problem::Report;
use crate::raw;

/// Checks `[columns]`.
pub fn columns(raw: &raw::Columns, folder: &Path, report: &mut Report<'_>) -> Columns {
    let table = FieldPath::of(&["columns"]);
    let (drop_unlisted, named_default) = match &raw.default {
        None => (false, None),
        Some(raw::DefaultEntry::Unlisted(raw::Unlisted::Drop)) => (true, None),
        Some(raw::DefaultEntry::Column(column)) => (false, Some(("default", column))),
    };
    let named = raw.named.0.iter().map(|(name, column)| (name.as_str(), column));
    let by_name: Vec<(String, Role)> = named
        .chain(named_default)
        .map(|(name, column)| (name.to_owned(), role(column, &table.key(name), folder, report)))
        .collect();
    if !by_name.iter().any(|(_, role)| matches!(role, Role::Quasi(_))) {
        report.field(
            &table,
            "no column has the role `quasi`, so there is nothing to generalize; give it to the columns by which a \
             person could be found",
        );
    }
    Columns { drop_unlisted, by_name }
}

fn role(column: &raw::Column, path: &FieldPath, folder: &Path, report: &mut Report<'_>) -> Role {
    if column.role != raw::Role::Quasi {
        refuse_fields_of_quasi(column, path, report);
    }
    match column.role {
        raw::Role::Identifier => Role::Identifier,
        raw::Role::Insensitive => Role::Insensitive,
        raw::Role::Sensitive => Role::Sensitive,
        raw::Role::Quasi => Role::Quasi(quasi(column, path, folder, report)),
    }
}

fn refuse_fields_of_quasi(column: &raw::Column, path: &FieldPath, report: &mut Report<'_>) {
    for (name, is_written) in [
        ("release", column.release.is_some()),
        ("weight", column.weight.is_some()),
        ("hierarchy", column.hierarchy.is_some()),
        ("nulls", column.nulls.is_some()),
    ] {
        if is_written {
            let role = column.role.as_str();
            report.field(&path.key(name), format!("is for the role `quasi`, and this column is `{role}`"));
        }
    }
}

fn quasi(column: &raw::Column, path: &FieldPath, folder: &Path, report: &mut Report<'_>) -> Quasi {
    let weight = column.weight.unwrap_or(DEFAULT_WEIGHT);
    if weight <= 0.0 {
        report
            .value(&path.key("weight"), "must be greater than zero; to keep the column as it is, make it insensitive");
    }
    if let (Some(release @ (raw::Release::Interval | raw::Release::Bounds)), Some(_)) =
        (column.release, &column.hierarchy)
    {
        let name = if release == raw::Release::Interval { "interval" } else { "bounds" };
        report.value(
            &path.key("release"),
            format!("`{name}` has no use for a hierarchy; take the hierarchy out, or use `ancestor`"),
        );
    }
    let hierarchy = column
        .hierarchy
        .as_ref()
        .and_then(|written| hierarchy::hierarchy(written, &path.key("hierarchy"), folder, report))
        .map(Arc::new);
    Quasi {
        release: column.release.map(Into::into),
        weight,
        nulls: column.nulls.map(Into::into).unwrap_or_default(),
        hierarchy,
    }
}
