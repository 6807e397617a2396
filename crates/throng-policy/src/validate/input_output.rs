//! Validates `[input]` and `[output]`.

use crate::field_path::FieldPath;
use crate::location::{self, Environment};
use crate::policy::{CsvOptions, Input, Output};
use crate::problem::Report;
use crate::raw;
use crate::settings::{Commit, Format, Mode, OutputFormat};
use crate::table_pin::{TablePin, parse_as_of};

use super::delimiter;

/// Validates `[input]`.
pub fn input(raw: &raw::RawInput, environment: Environment<'_>, report: &mut Report<'_>) -> Input {
    let table = FieldPath::of(&["input"]);
    let path = table.key("location");
    let locations = locations(&raw.location, &path, environment, report);
    if let Some(format) = raw.format.filter(|format| *format != Format::Csv) {
        for (name, is_written) in [("delimiter", raw.delimiter.is_some()), ("header", raw.header.is_some())] {
            if is_written {
                report.field(&table.key(name), format!("is for CSV, and the format is `{}`", format.as_str()));
            }
        }
    }
    let csv = CsvOptions {
        delimiter: delimiter(
            raw.delimiter.as_deref().unwrap_or(raw::DEFAULT_CSV_DELIMITER),
            &table.key("delimiter"),
            report,
        ),
        header: raw.header.unwrap_or(raw::DEFAULT_CSV_HEADER),
    };
    let pin = pin(raw, &locations, report);
    Input { locations, pin, format: raw.format, csv }
}

/// Validates one location, or several.
pub fn locations(
    written: &raw::Locations,
    path: &FieldPath,
    environment: Environment<'_>,
    report: &mut Report<'_>,
) -> Vec<String> {
    match written {
        raw::Locations::One(written) => vec![location(written, path, environment, report)],
        raw::Locations::Several(list) => {
            if list.is_empty() {
                report.value(path, "is empty; name at least one location");
            }
            list.iter()
                .enumerate()
                .map(|(position, written)| location(written, &path.index(position), environment, report))
                .collect()
        }
    }
}

/// Validates the fields of a Delta table.
fn pin(raw: &raw::RawInput, locations: &[String], report: &mut Report<'_>) -> TablePin {
    let table = FieldPath::of(&["input"]);
    let tables = locations.iter().filter(|location| location::delta_table(location).is_some()).count();
    let pins = [("version", raw.version.is_some()), ("as_of", raw.as_of.is_some())];
    if tables == 0 {
        for (name, _) in pins.into_iter().filter(|(_, is_written)| *is_written) {
            report.field(&table.key(name), "is for a Delta table; begin the location with `delta+`, or remove it");
        }
        return TablePin::Latest;
    }
    if locations.len() > 1 {
        report.value(&table.key("location"), "a Delta table is read alone; name no other location beside it");
    }
    if locations.iter().any(|location| location::delta_table(location).is_some_and(location::is_web)) {
        report.value(
            &table.key("location"),
            "the log of a Delta table must be listed, which web servers do not do; copy the table to a folder or a store",
        );
    }
    let of_files =
        [("format", raw.format.is_some()), ("delimiter", raw.delimiter.is_some()), ("header", raw.header.is_some())];
    for (name, _) in of_files.into_iter().filter(|(_, is_written)| *is_written) {
        report.field(&table.key(name), "is for files, and the input is a Delta table; remove it");
    }
    if raw.version.is_some() && raw.as_of.is_some() {
        report.field(&table.key("as_of"), "can't be set together with `version`; remove one of them");
    }
    match (raw.version, &raw.as_of) {
        (Some(version), _) => TablePin::Version(version),
        (None, Some(text)) => match parse_as_of(text) {
            Some(time) => TablePin::AsOf(time),
            None => {
                let path = table.key("as_of");
                report.value(&path, "must be a date (\"2026-11-01\") or a time (\"2026-11-01T06:00:00Z\")");
                TablePin::Latest
            }
        },
        (None, None) => TablePin::Latest,
    }
}

/// Validates `[output]`.
pub fn output(raw: &raw::RawOutput, environment: Environment<'_>, report: &mut Report<'_>) -> Output {
    let table = FieldPath::of(&["output"]);
    let path = table.key("location");
    let location = self::location(&raw.location, &path, environment, report);
    if location::is_web(&location) {
        report.value(
            &path,
            "http:// and https:// can only be read; choose a folder, or a location that begins with s3://, gs:// or az://",
        );
    }
    let rows_per_file = raw.rows_per_file.unwrap_or(raw::DEFAULT_ROWS_PER_FILE);
    if rows_per_file < raw::MIN_ROWS_PER_FILE {
        report.value(&table.key("rows_per_file"), format!("must be at least {}", raw::MIN_ROWS_PER_FILE));
    }
    if location::delta_table(&location).is_some() {
        report
            .value(&path, "begins with `delta+`, which is for inputs; write it without, and set `format = \"delta\"`");
    }
    let (mode, commit) = (raw.mode.unwrap_or_default(), raw.commit.unwrap_or_default());
    let format = raw.format.unwrap_or_default();
    if format == OutputFormat::Delta {
        if mode == Mode::Append {
            report.value(&table.key("mode"), "rows are not appended to a Delta table yet; use `format = \"parquet\"`");
        }
        if commit == Commit::LastWriterWins {
            report.value(
                &table.key("commit"),
                "a version of a Delta table is committed by a conditional put; use `conditional`, or `format = \"parquet\"`",
            );
        }
    }
    let (report_page, data_folder) = (raw.report.unwrap_or(raw::DEFAULT_REPORT), data_folder(raw, format, report));
    Output { location, format, mode, report: report_page, rows_per_file, data_folder, commit }
}

/// Validates `data_folder`.
fn data_folder(raw: &raw::RawOutput, format: OutputFormat, report: &mut Report<'_>) -> Option<String> {
    let path = FieldPath::of(&["output", "data_folder"]);
    let name = raw.data_folder.as_ref()?;
    if !is_folder_name(name) {
        report.value(&path, "is the name of one folder: use letters, digits, `-` and `_`, and no `_` first");
    }
    if format == OutputFormat::Delta {
        report.field(
            &path,
            "is for plain Parquet files, and readers of a Delta table find its files by the log; remove it",
        );
    }
    Some(name.clone())
}

/// Whether a name can be used for a folder of a release: readers must not treat it as hidden or as a partition.
pub fn is_folder_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && !name.starts_with('_') && name.chars().all(is_plain)
}

/// Expands the environment variables of a location and checks it. Locations set by a flag are not expanded.
pub fn location(written: &str, path: &FieldPath, environment: Environment<'_>, report: &mut Report<'_>) -> String {
    let expanded = match report.flag(path) {
        Some(_) => Ok(written.to_owned()),
        None => location::expand(written, environment),
    };
    let checked = expanded.and_then(|expanded| location::check(&expanded).map(|()| expanded));
    checked.unwrap_or_else(|error| {
        report.value(path, error.to_string());
        String::new()
    })
}
