//! Validates the roles of columns.

use std::path::Path;

use crate::field_path::FieldPath;
use crate::policy::{Columns, Role};
use crate::problem::Report;
use crate::raw;
use crate::suggest::joined;

use super::frequencies::fields;
use super::quasi::quasi;
use super::sensitive::sensitive;

/// Validates `[columns]`.
pub fn columns(raw: &raw::RawColumns, folder: Option<&Path>, report: &mut Report<'_>) -> Columns {
    let table = FieldPath::of(&["columns"]);
    let (drop_unlisted, named_default) = match &raw.default {
        None => (false, None),
        Some(raw::DefaultEntry::Unlisted(raw::Unlisted::Drop)) => (true, None),
        Some(raw::DefaultEntry::Column(column)) => (false, Some(("default", column.as_ref()))),
    };
    let named = raw.named.0.iter().map(|(name, column)| (name.as_str(), column)).chain(named_default);
    let types = named.clone().filter_map(|(name, column)| Some((name.to_owned(), column.declared_type?))).collect();
    let by_name: Vec<(String, Role)> =
        named.map(|(name, column)| (name.to_owned(), role(column, &table.key(name), folder, report))).collect();
    if !by_name.iter().any(|(_, role)| matches!(role, Role::Quasi(_))) {
        report.field(
            &table,
            "no column has the role `quasi`, so there is nothing to generalize; give it to the columns by which a \
             person could be found",
        );
    }
    Columns { drop_unlisted, by_name, types }
}

fn role(column: &raw::RawColumn, path: &FieldPath, folder: Option<&Path>, report: &mut Report<'_>) -> Role {
    refuse_fields_of_other_roles(column, path, report);
    match column.role {
        raw::RawRole::Identifier => identifier(column, path, report),
        raw::RawRole::Insensitive => Role::Insensitive,
        raw::RawRole::Sensitive => Role::Sensitive(sensitive(column, path, folder, report)),
        raw::RawRole::Quasi => Role::Quasi(quasi(column, path, folder, report)),
    }
}

fn identifier(column: &raw::RawColumn, path: &FieldPath, report: &mut Report<'_>) -> Role {
    match column.release {
        None => Role::Identifier,
        Some(raw::RawRelease::Pseudonym) => Role::Pseudonym,
        Some(other) => {
            let text = "of an identifier nothing is released but a `pseudonym`; take it out, or make it that";
            report.value(&path.key("release"), format!("`{}` is for other roles: {text}", other.as_str()));
            Role::Identifier
        }
    }
}

fn refuse_fields_of_other_roles(column: &raw::RawColumn, path: &FieldPath, report: &mut Report<'_>) {
    const QUASI: &[raw::RawRole] = &[raw::RawRole::Quasi];
    const SENSITIVE: &[raw::RawRole] = &[raw::RawRole::Sensitive];
    const EITHER: &[raw::RawRole] = &[raw::RawRole::Quasi, raw::RawRole::Sensitive];
    const RELEASED: &[raw::RawRole] = &[raw::RawRole::Quasi, raw::RawRole::Sensitive, raw::RawRole::Identifier];
    let of_roles = [
        ("release", column.release.is_some(), RELEASED),
        ("weight", column.weight.is_some(), EITHER),
        ("hierarchy", column.hierarchy.is_some(), EITHER),
        ("nulls", column.nulls.is_some(), QUASI),
        ("limit", column.limit.is_some(), QUASI),
        ("cover", column.cover.is_some(), QUASI),
        ("p", column.p.is_some(), SENSITIVE),
        ("protected", column.protected.is_some(), SENSITIVE),
        ("categories", column.categories.is_some(), SENSITIVE),
        ("missing", column.missing.is_some(), SENSITIVE),
        ("look_alikes", column.look_alikes.is_some(), SENSITIVE),
        ("bands", column.bands.is_some(), SENSITIVE),
    ];
    let of_frequencies = fields(column).map(|(name, is_written)| (name, is_written, SENSITIVE));
    for (name, is_written, roles) in of_roles.into_iter().chain(of_frequencies) {
        if is_written && !roles.contains(&column.role) {
            let names: Vec<String> = roles.iter().map(|role| format!("`{}`", role.as_str())).collect();
            let noun = if names.len() == 1 { "role" } else { "roles" };
            let message =
                format!("is for the {noun} {}, and this column is `{}`", joined(&names, "and"), column.role.as_str());
            report.field(&path.key(name), message);
        }
    }
}
