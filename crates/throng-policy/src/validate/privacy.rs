//! Validates `[privacy]`.

use crate::field_path::FieldPath;
use crate::location::Environment;
use crate::policy::{Columns, PrivacySettings, Role, Sensitive};
use crate::preset::Preset;
use crate::problem::Report;
use crate::raw;
use crate::settings::Pseudonyms;
use crate::suggest::alternatives;

use super::guards::guards;
use super::population::population;

/// Validates `[privacy]` and the `p` of each column, including against the roles of the columns.
pub fn privacy(
    raw: &raw::RawPrivacy,
    columns: &Columns,
    environment: Environment<'_>,
    report: &mut Report<'_>,
) -> PrivacySettings {
    let table = FieldPath::of(&["privacy"]);
    let (k, p) = (k(raw, &table, report), raw.p.unwrap_or(raw::MIN_P));
    if k < raw::MIN_K {
        report.value(
            &table.key("k"),
            format!("must be at least {}: k = {k} protects no one, since a class of one row is a person", raw::MIN_K),
        );
    }
    let p_path = table.key("p");
    check_p(p, k, &p_path, report);
    let sensitive: Vec<(&str, &Sensitive)> = columns.by_name.iter().filter_map(sensitive_column).collect();
    if p > raw::MIN_P && sensitive.is_empty() {
        report.value(&p_path, format!("p = {p} needs a column with the role `sensitive`; name one, or set p to 1"));
    }
    check_sensitive(columns, k, p, Some(&p_path), report);
    if let Some(alpha) = raw.alpha {
        check_alpha(alpha, &sensitive, &table.key("alpha"), report);
    }
    if raw.suppression_limit.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
        report.value(&table.key("suppression_limit"), "must be from 0 to 1: it is a share of the rows of the input");
    }
    let max_gain = raw.attacks.as_ref().map(|attacks| attacks.max_gain);
    if max_gain.is_some_and(|gain| gain < raw::MIN_GAIN) {
        let path = table.key("attacks").key("max_gain");
        report.value(&path, "must be at least 1: an attack that learns nothing has a gain of 1");
    }
    let (sampling_fraction, population) = population(raw, columns, environment, report);
    PrivacySettings {
        preset: raw.preset,
        k,
        p,
        alpha: raw.alpha,
        suppression_limit: raw.suppression_limit,
        max_gain,
        sampling_fraction,
        population,
        guards: guards(raw, &table, report),
        unit: unit(raw, columns, &table.key("unit"), report),
        unit_nulls: raw.unit_nulls.unwrap_or_default(),
        borrow: raw.borrow.unwrap_or_default(),
        pseudonyms: pseudonyms(raw, columns, &table, report),
    }
}

/// Validates the `p` of each sensitive column. That of the policy is `p`; problems of it are reported at `p_path`, or at the
/// column.
pub fn check_sensitive(columns: &Columns, k: u64, p: u64, p_path: Option<&FieldPath>, report: &mut Report<'_>) {
    for (name, column) in columns.by_name.iter().filter_map(sensitive_column) {
        let own_path = FieldPath::of(&["columns", name, "p"]);
        if let Some(own) = column.p {
            check_p(own, k, &own_path, report);
        }
        check_p_of_categories(name, column, p, [&own_path, p_path.unwrap_or(&own_path)], report);
    }
}

/// Validates the columns of the unit of privacy: the policy must name each of them, with any role except
/// quasi-identifier.
fn unit(raw: &raw::RawPrivacy, columns: &Columns, path: &FieldPath, report: &mut Report<'_>) -> Vec<String> {
    let names = match &raw.unit {
        None => {
            if raw.unit_nulls.is_some() {
                report.field(&FieldPath::of(&["privacy", "unit_nulls"]), "has no use without `unit`; take it out");
            }
            return Vec::new();
        }
        Some(raw::Names::One(name)) => vec![name.clone()],
        Some(raw::Names::Several(names)) => names.clone(),
    };
    if names.is_empty() {
        report.value(path, "is empty; name the column that identifies a person, or take it out");
    }
    for name in &names {
        match columns.by_name.iter().find(|(known, _)| known == name) {
            // It is looked up in the input when the policy is bound.
            None if columns.drop_unlisted => {}
            None => report.value(
                path,
                format!(
                    "`{name}` is not a column of this policy; give it a role, such as `identifier`, which drops it"
                ),
            ),
            Some((_, Role::Quasi(_))) => report.value(
                path,
                format!("`{name}` is a quasi-identifier, which is generalized; a unit needs a column of its own"),
            ),
            Some(_) => {}
        }
    }
    names
}

/// Validates the columns that are released as pseudonyms: only the one column that is the unit of privacy can be, since k and p
/// would not count what another column links.
fn pseudonyms(raw: &raw::RawPrivacy, columns: &Columns, table: &FieldPath, report: &mut Report<'_>) -> Pseudonyms {
    let named = || columns.by_name.iter().filter(|(_, role)| matches!(role, Role::Pseudonym));
    for (name, _) in named() {
        let is_unit = match &raw.unit {
            Some(raw::Names::One(unit)) => unit == name,
            Some(raw::Names::Several(units)) => units.as_slice() == std::slice::from_ref(name),
            None => false,
        };
        if !is_unit {
            let text = "a pseudonym links all rows that have it, so k must count the unit that it represents";
            let advice = format!("set `unit = \"{name}\"` under [privacy], and that column alone");
            report.value(&FieldPath::of(&["columns", name, "release"]), format!("{text}: {advice}"));
        }
    }
    if raw.pseudonyms.is_some() && named().next().is_none() {
        let advice = "no column has `release = \"pseudonym\"`; take it out";
        report.field(&table.key("pseudonyms"), format!("has no use here: {advice}"));
    }
    raw.pseudonyms.unwrap_or_default()
}

/// Returns the effective k: that of the preset, which the policy may raise. A preset requires an explicit p.
fn k(raw: &raw::RawPrivacy, table: &FieldPath, report: &mut Report<'_>) -> u64 {
    let Some(preset) = raw.preset else {
        if raw.k.is_none() {
            let names = Preset::ALL.map(Preset::as_str);
            report.field(
                &table.key("k"),
                format!("required field is missing; give a number, or a `preset`: {}", alternatives(&names)),
            );
        }
        // A placeholder that passes all other checks.
        return raw.k.unwrap_or(u64::MAX);
    };
    let (name, least) = (preset.as_str(), preset.k());
    if raw.p.is_none() {
        report.field(
            &table.key("p"),
            format!(
                "required beside a preset: `{name}` sets k = {least} and leaves open how many different values of each \
                 sensitive column a class must have; 1 asks for none of it"
            ),
        );
    }
    match raw.k {
        Some(k) if k < least => {
            report.value(
                &table.key("k"),
                format!("k = {k} is less than the {least} of the preset `{name}`; raise k, or take the preset out"),
            );
            least
        }
        written => written.unwrap_or(least),
    }
}

fn sensitive_column((name, role): &(String, Role)) -> Option<(&str, &Sensitive)> {
    match role {
        Role::Sensitive(sensitive) => Some((name, sensitive)),
        _ => None,
    }
}

/// Validates the `p` at `path`.
fn check_p(p: u64, k: u64, path: &FieldPath, report: &mut Report<'_>) {
    if p < raw::MIN_P {
        report.value(path, format!("must be at least {}: every class has a value", raw::MIN_P));
    }
    if p > k && k >= raw::MIN_K {
        // Attribute the problem to the value that was set on the command line, if only one was.
        let k_path = FieldPath::of(&["privacy", "k"]);
        let path = if report.flag(&k_path).is_some() && report.flag(path).is_none() { &k_path } else { path };
        report.value(
            path,
            format!("p = {p} is more than k = {k}, and a class of {k} rows has at most {k} values; raise k or lower p"),
        );
    }
}

/// Checks that a column has at least p categories if p counts categories. `paths` are those of the column's own p and
/// of the policy's.
fn check_p_of_categories(name: &str, column: &Sensitive, p: u64, paths: [&FieldPath; 2], report: &mut Report<'_>) {
    let count = column.categories.as_ref().map_or(0, |categories| categories.list.len());
    let in_effect = column.p.unwrap_or(p);
    // Too few categories have been reported already.
    if count < raw::MIN_CATEGORIES || in_effect <= count as u64 {
        return;
    }
    let (path, advice) = match column.p {
        Some(_) => (paths[0], "lower p"),
        None => (paths[1], "lower p, or give that column a `p` of its own"),
    };
    report.value(
        path,
        format!("p = {in_effect} is more than the {count} categories of column `{name}`, of which it needs as many; {advice}"),
    );
}

fn check_alpha(alpha: f64, sensitive: &[(&str, &Sensitive)], path: &FieldPath, report: &mut Report<'_>) {
    if alpha < 0.0 {
        report.value(path, "must not be negative");
    }
    if !sensitive.iter().any(|(_, column)| column.categories.is_some()) {
        report.value(
            path,
            "needs a sensitive column with `categories`, whose weights it adds up; give them to one, or leave alpha out",
        );
    }
}
