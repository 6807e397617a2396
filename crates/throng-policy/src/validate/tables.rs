//! Validates `[tables]`.

use std::path::Path;

use crate::field_path::FieldPath;
use crate::location::Environment;
use crate::policy::{Columns, PrivacySettings, Role, TablePart};
use crate::problem::Report;
use crate::raw;
use crate::settings::OutputFormat;

use super::columns::columns;
use super::input_output::{input, is_folder_name};
use super::privacy::check_sensitive;

/// Validates the tables besides that of `[input]`, whose columns are `first`. Also returns the name of the first table, if
/// there are others.
pub fn tables(
    raw: &raw::RawPolicy,
    first: &Columns,
    privacy: &PrivacySettings,
    folder: Option<&Path>,
    environment: Environment<'_>,
    report: &mut Report<'_>,
) -> (Option<String>, Vec<TablePart>) {
    let (path, name_path) = (FieldPath::of(&["tables"]), FieldPath::of(&["table"]));
    let Some(written) = raw.tables.as_ref().filter(|tables| !tables.0.is_empty()) else {
        if raw.table.is_some() {
            report.field(&name_path, "has no use without [tables]; take it out");
        }
        return (None, Vec::new());
    };
    match &raw.table {
        None => report.field(&name_path, "required beside [tables]: the name of the table of [input]"),
        Some(name) => check_name(name, &name_path, report),
    }
    if pseudonyms(first).next().is_none() {
        let text = "tables are released together to be joined by pseudonyms; set `release = \"pseudonym\"` for the column that is \
                    the `unit` of [privacy], in each of them";
        report.field(&path, text);
    }
    if raw.output.format == Some(OutputFormat::Delta) {
        let path = FieldPath::of(&["output", "format"]);
        report.value(&path, "several tables are released as one folder of Parquet files; use `parquet`");
    }
    if raw.output.data_folder.is_some() {
        let path = FieldPath::of(&["output", "data_folder"]);
        report.field(&path, "is for one table, and each of several has a folder of its own already; remove it");
    }
    if privacy.guards.max_rows_change.is_some() {
        let path = FieldPath::of(&["privacy", "max_rows_change"]);
        report.value(&path, "is for releases of one table; take it out");
    }
    let mut tables = Vec::new();
    for (name, table) in &written.0 {
        check_name(name, &path.key(name), report);
        if raw.table.as_ref() == Some(name) {
            report.field(&path.key(name), "is the name of the table of [input] too; name one of them otherwise");
        }
        report.begin(path.key(name));
        let columns = columns(&table.columns, folder, report);
        check_sensitive(&columns, privacy.k, privacy.p, None, report);
        let unit = table.unit.as_ref().or(privacy.unit.first()).cloned().unwrap_or_default();
        check_unit(&unit, &columns, report);
        let input = input(&table.input, environment, report);
        report.end();
        tables.push(TablePart { name: name.clone(), input, columns, unit });
    }
    (raw.table.clone(), tables)
}

fn pseudonyms(columns: &Columns) -> impl Iterator<Item = &String> {
    columns.by_name.iter().filter(|(_, role)| matches!(role, Role::Pseudonym)).map(|(name, _)| name)
}

/// Checks that the unit, and no other column, is released as a pseudonym.
fn check_unit(unit: &String, columns: &Columns, report: &mut Report<'_>) {
    for name in pseudonyms(columns).filter(|name| *name != unit) {
        let text = format!("only the unit can be a pseudonym, and that is `{unit}`; name another `unit` of this table");
        report.value(&FieldPath::of(&["columns", name, "release"]), text);
    }
    if !pseudonyms(columns).any(|name| name == unit) {
        let text = format!(
            "column `{unit}` joins this table with the others, so it needs the role `identifier` and `release = \"pseudonym\"`; \
             if it has another name here, set `unit`"
        );
        report.field(&FieldPath::of(&["columns"]), text);
    }
}

/// Checks that a name can be used for a folder of a release.
fn check_name(name: &str, path: &FieldPath, report: &mut Report<'_>) {
    if !is_folder_name(name) {
        let text = "the name of a table is a folder of the release: use letters, digits, `-` and `_`, and no `_` first";
        report.field(path, text);
    }
}
