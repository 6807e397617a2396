//! Validates `[series]`, and the settings that a series needs.

use throng_core::anonymize::PartitionChoice;
use throng_core::model::FrequencyRequirement;

use crate::field_path::FieldPath;
use crate::location::{Environment, is_web};
use crate::policy::{Columns, Role};
use crate::problem::Report;
use crate::raw::{self, Names, RawMaxDelay, RawSeries};
use crate::series::{
    ArrivalSetting, DEFAULT_MAX_DELAY, DEFAULT_MAX_WAITING, DEFAULT_REMEMBER, DEFAULT_RESERVE, SeriesSettings,
    StreamDelay,
};
use crate::settings::Mode;
use crate::time_span;

use super::frequencies::field_of;
use super::input_output::location;

/// Validates `[series]` of a series of releases; `None` if the policy defines none.
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
        report_outside_of_series(written, report);
        return None;
    }
    if written.arrival.is_some() {
        report.field(&table.key("arrival"), "is for streams and for `mode = \"append\"`; remove it");
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
    let ledger = match &written.ledger {
        Some(ledger) => location(ledger, &ledger_path, environment, report),
        None => {
            report.field(&ledger_path, "required field is missing");
            String::new()
        }
    };
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
    let max_delay = match &written.max_delay {
        None => DEFAULT_MAX_DELAY,
        Some(RawMaxDelay::Releases(releases)) => *releases,
        Some(RawMaxDelay::Stream(_)) => {
            report.value(&table.key("max_delay"), "rows and time are for streams; a series counts releases, such as 7");
            DEFAULT_MAX_DELAY
        }
    };
    unsupported(raw, columns, report);
    Some(SeriesSettings {
        ledger,
        unit,
        remember,
        max_delay,
        max_waiting,
        reserve: written.reserve.unwrap_or(DEFAULT_RESERVE),
        leavers: written.leavers.unwrap_or_default(),
    })
}

/// Reports fields that only apply to a series of releases.
fn report_outside_of_series(written: &RawSeries, report: &mut Report<'_>) {
    let table = FieldPath::of(&["series"]);
    let of_series = [
        ("ledger", written.ledger.is_some()),
        ("remember", written.remember.is_some()),
        ("max_delay", matches!(written.max_delay, Some(RawMaxDelay::Releases(_)))),
        ("max_waiting", written.max_waiting.is_some()),
        ("reserve", written.reserve.is_some()),
        ("leavers", written.leavers.is_some()),
    ];
    for (field, _) in of_series.into_iter().filter(|(_, is_written)| *is_written) {
        report.field(
            &table.key(field),
            "is for a series of releases; set `mode = \"series\"` under [output], or remove it",
        );
    }
}

/// Reports an arrival that is unknown where that is not supported, and models that then hold for each emission of a stream, but
/// not for all of them together.
pub fn unknown_arrival(raw: &raw::RawPolicy, columns: &Columns, report: &mut Report<'_>) {
    let Some(ArrivalSetting::Unknown) = raw.series.as_ref().and_then(|series| series.arrival) else { return };
    let path = FieldPath::of(&["series", "arrival"]);
    if raw.output.mode == Some(Mode::Append) {
        let text = "`unknown` is for streams: the files of an append show which rows arrived together; use `known`, or release \
                    the whole input again with `mode = \"overwrite\"`";
        report.value(&path, text);
    }
    if raw.privacy.borrow == Some(raw::Borrow::Never) {
        let text = "`unknown` lets rows with equal quasi-identifiers join different classes, and `borrow = \"never\"` keeps \
                    them in one; use `known`, or remove `borrow`";
        report.value(&path, text);
    }
    for (name, requirement) in compared_with_the_release(columns) {
        let text = "compares a class with all rows of the release, which change with every emission of a stream; remove it, or set \
                    `arrival = \"known\"` under [series]";
        report.field(&FieldPath::of(&["columns", name]).key(field_of(requirement)), text);
    }
}

/// Returns the models that compare a class with all rows of the release, with their columns.
fn compared_with_the_release(columns: &Columns) -> impl Iterator<Item = (&str, &FrequencyRequirement)> {
    let found = columns.by_name.iter().flat_map(|(name, role)| {
        let frequencies: &[FrequencyRequirement] = match role {
            Role::Sensitive(sensitive) => &sensitive.frequencies,
            _ => &[],
        };
        frequencies.iter().map(move |requirement| (name.as_str(), requirement))
    });
    found.filter(|(_, requirement)| requirement.compares_with_release())
}

/// Validates how long a row of a stream may wait; `None` if the policy sets no limit.
pub fn stream(raw: &raw::RawPolicy, report: &mut Report<'_>) -> Option<StreamDelay> {
    let Some(RawMaxDelay::Stream(written)) = raw.series.as_ref().and_then(|series| series.max_delay.as_ref()) else {
        return None;
    };
    let path = FieldPath::of(&["series", "max_delay"]);
    if written.rows.is_none() && written.time.is_none() {
        report.value(&path, "names no limit; set `rows`, `time` or both, or remove it");
    }
    match (written.rows, raw.privacy.k) {
        (Some(0), _) => report.value(&path.key("rows"), "must be at least 1"),
        (Some(rows), Some(k)) if rows < k => {
            let text = "is less than `k`, so no class could ever be released; allow at least k rows to wait, and better many times as many";
            report.value(&path.key("rows"), text);
        }
        _ => {}
    }
    let time = written.time.as_deref().map(|text| (text, time_span::parse(text)));
    if let Some((_, None)) = time {
        report.value(&path.key("time"), "must be a time such as `500ms`, `30s`, `10min` or `1h`");
    }
    let arrival = raw.series.as_ref().and_then(|series| series.arrival).unwrap_or_default();
    Some(StreamDelay { rows: written.rows, time: time.and_then(|(_, time)| time), arrival })
}

/// Reports models that would hold for each append on its own, but not for all of them together.
pub fn append(raw: &raw::RawPolicy, columns: &Columns, report: &mut Report<'_>) {
    if raw.output.mode != Some(Mode::Append) {
        return;
    }
    for (name, requirement) in compared_with_the_release(columns) {
        let text = "compares a class with all rows of the release, which change with every append; remove it, or set another `mode` \
                    under [output]";
        report.field(&FieldPath::of(&["columns", name]).key(field_of(requirement)), text);
    }
}

/// Reports pseudonyms in releases that grow or change.
pub fn pseudonyms(raw: &raw::RawPolicy, columns: &Columns, report: &mut Report<'_>) {
    let mode = raw.output.mode.filter(|mode| matches!(mode, Mode::Series | Mode::Append));
    let pseudonym = columns.by_name.iter().find(|(_, role)| matches!(role, Role::Pseudonym));
    if let (Some(mode), Some((name, _))) = (mode, pseudonym) {
        report.value(
            &FieldPath::of(&["columns", name, "release"]),
            format!(
                "pseudonyms link rows within one release, and `mode = \"{}\"` shows rows in several; use another mode, or leave the \
                 column out",
                mode.as_str()
            ),
        );
    }
}

/// Reports models and methods that a series does not support.
fn unsupported(raw: &raw::RawPolicy, columns: &Columns, report: &mut Report<'_>) {
    if raw.privacy.alpha.is_some() {
        report.value(&FieldPath::of(&["privacy", "alpha"]), "is not supported in a series of releases");
    }
    if raw.privacy.borrow == Some(raw::Borrow::Never) {
        report.value(&FieldPath::of(&["privacy", "borrow"]), "`never` is not supported in a series of releases");
    }
    if raw.privacy.population.as_ref().is_some_and(|population| population.fraction.is_none()) {
        let text = "people are not counted in a series of releases, which shows rows that are no longer in the input; set \
                    `fraction`, or remove it";
        report.field(&FieldPath::of(&["privacy", "population"]), text);
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
