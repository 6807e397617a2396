//! Validates `[series]`, and the settings that a series needs.

use throng_core::anonymize::PartitionChoice;

use crate::field_path::FieldPath;
use crate::location::{Environment, is_web};
use crate::policy::{Columns, Role};
use crate::problem::Report;
use crate::raw::{self, Names};
use crate::series::{DEFAULT_MAX_DELAY, DEFAULT_MAX_WAITING, DEFAULT_REMEMBER, DEFAULT_RESERVE, SeriesSettings};
use crate::settings::Mode;

use super::input_output::location;

/// Validates `[series]`; `None` if the policy has none.
pub fn series(
    raw: &raw::RawPolicy,
    columns: &Columns,
    environment: Environment<'_>,
    report: &mut Report<'_>,
) -> Option<SeriesSettings> {
    let table = FieldPath::of(&["series"]);
    let unit_path = FieldPath::of(&["privacy", "unit"]);
    let mode_path = FieldPath::of(&["output", "mode"]);
    let is_series = raw.output.mode == Some(Mode::Series);
    let Some(written) = &raw.series else {
        if is_series {
            report.value(&mode_path, "needs a table [series] with a `ledger`");
        }
        return None;
    };
    if !is_series {
        report.field(&table, "is for a series of releases; set `mode = \"series\"` under [output], or remove it");
    }
    let unit = match &raw.privacy.unit {
        Some(Names::One(column)) => vec![column.clone()],
        Some(Names::Several(columns)) => columns.clone(),
        None => Vec::new(),
    };
    if unit.is_empty() {
        report.field(
            &unit_path,
            "required by [series]: name the column or columns that identify a person in every release",
        );
    }
    let ledger_path = table.key("ledger");
    let ledger = location(&written.ledger, &ledger_path, environment, report);
    if is_web(&ledger) {
        report.value(&ledger_path, "http:// and https:// can only be read; choose a private folder or store");
    }
    let remember = written.remember.unwrap_or(DEFAULT_REMEMBER);
    if remember == 0 {
        report.value(&table.key("remember"), "must be at least 1");
    }
    let max_waiting = written.max_waiting.unwrap_or(DEFAULT_MAX_WAITING);
    if !(0.0..=1.0).contains(&max_waiting) {
        report.value(&table.key("max_waiting"), "must be from 0 to 1: it is a share of the rows of the input");
    }
    unsupported(raw, columns, report);
    Some(SeriesSettings {
        ledger,
        unit,
        remember,
        max_delay: written.max_delay.unwrap_or(DEFAULT_MAX_DELAY),
        max_waiting,
        reserve: written.reserve.unwrap_or(DEFAULT_RESERVE),
        leavers: written.leavers.unwrap_or_default(),
    })
}

/// Reports models and methods that a series does not support.
fn unsupported(raw: &raw::RawPolicy, columns: &Columns, report: &mut Report<'_>) {
    if raw.privacy.alpha.is_some() {
        report.value(&FieldPath::of(&["privacy", "alpha"]), "is not supported in a series of releases");
    }
    for (name, role) in &columns.by_name {
        if let Role::Sensitive(sensitive) = role {
            let unsupported = [
                ("protected", sensitive.protection.is_some()),
                ("categories", sensitive.categories.is_some()),
                ("bands", sensitive.bands.is_some()),
            ];
            if !sensitive.frequencies.is_empty() {
                let path = FieldPath::of(&["columns", name]);
                report.field(&path, "requirements on frequencies are not supported in a series of releases");
            }
            for (field, _) in unsupported.iter().filter(|(_, is_written)| *is_written) {
                report.value(&FieldPath::of(&["columns", name, field]), "is not supported in a series of releases");
            }
        }
    }
    let partition = raw.algorithm.as_ref().and_then(|algorithm| algorithm.partition);
    if matches!(partition, Some(PartitionChoice::Incognito | PartitionChoice::BasicMondrian | PartitionChoice::Mdr)) {
        report.value(
            &FieldPath::of(&["algorithm", "partition"]),
            "is not supported in a series of releases: it shows more than the range of the values of a class; use `mondrian`",
        );
    }
}
