//! Validates `[input]` and `[output]`.

use crate::field_path::FieldPath;
use crate::location::{self, Environment};
use crate::policy::{CsvOptions, Input, Output};
use crate::problem::Report;
use crate::raw;
use crate::settings::Format;

use super::delimiter;

/// Validates `[input]`.
pub fn input(raw: &raw::RawInput, environment: Environment<'_>, report: &mut Report<'_>) -> Input {
    let table = FieldPath::of(&["input"]);
    let path = table.key("location");
    let locations = match &raw.location {
        raw::Locations::One(written) => vec![location(written, &path, environment, report)],
        raw::Locations::Several(list) => {
            if list.is_empty() {
                report.value(&path, "is empty; name at least one location");
            }
            list.iter()
                .enumerate()
                .map(|(position, written)| location(written, &path.index(position), environment, report))
                .collect()
        }
    };
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
    Input { locations, format: raw.format, csv }
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
    let (mode, commit) = (raw.mode.unwrap_or_default(), raw.commit.unwrap_or_default());
    Output { location, mode, report: raw.report.unwrap_or(raw::DEFAULT_REPORT), rows_per_file, commit }
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
