use super::*;
use crate::test_policies::{HEAD, read};
use crate::{OutputFormat, Policy, PolicyError, Problem};

const COLUMNS: &str = "[columns.age]\nrole = 'quasi'\n";

/// A policy with these lines instead of the usual input and output.
fn with(input: &str, output: &str) -> Result<Policy, PolicyError> {
    read(&format!("version = 1\n[input]\n{input}\n[output]\nlocation = 'out'\n{output}\n[privacy]\nk = 5\n{COLUMNS}"))
}

fn paths(refused: Result<Policy, PolicyError>) -> Vec<String> {
    refused.unwrap_err().problems().iter().map(|Problem { path, .. }| path.clone()).collect()
}

#[test]
fn a_date_is_its_first_moment_and_a_time_is_taken_with_its_offset() {
    let at = |text: &str| parse_as_of(text).map(|time| time.timestamp());
    assert_eq!(at("1970-01-02"), Some(86_400));
    assert_eq!(at("1970-01-02T00:00:00Z"), Some(86_400));
    assert_eq!(at("1970-01-02T02:00:00+02:00"), Some(86_400));
    for text in ["", "yesterday", "1970-13-01", "1970-01-02T00:00:00", "2026", "1970-01-02 trailing"] {
        assert_eq!(at(text), None, "{text}");
    }
}

#[test]
fn a_delta_table_is_pinned_by_a_version_or_a_time() {
    assert_eq!(with("location = 'delta+lake'", "").unwrap().input.pin, TablePin::Latest);
    assert_eq!(with("location = 'delta+lake'\nversion = 0", "").unwrap().input.pin, TablePin::Version(0));
    let policy = with("location = 'delta+s3://lake/people/'\nas_of = '1970-01-02'", "").unwrap();
    assert_eq!(policy.input.pin, TablePin::AsOf(DateTime::from_timestamp(86_400, 0).unwrap()));
    assert_eq!(policy.output.format, OutputFormat::Parquet);
    assert_eq!(with("location = 'in'", "format = 'delta'").unwrap().output.format, OutputFormat::Delta);
}

#[test]
fn settings_that_do_not_go_together_are_named() {
    for (input, output, refused) in [
        ("location = 'in'\nversion = 3", "", vec!["input.version"]),
        ("location = 'in'\nas_of = '2026-11-01'", "", vec!["input.as_of"]),
        ("location = 'delta+lake'\nversion = 3\nas_of = '2026-11-01'", "", vec!["input.as_of"]),
        ("location = 'delta+lake'\nas_of = 'today'", "", vec!["input.as_of"]),
        ("location = ['delta+lake', 'in']", "", vec!["input.location"]),
        ("location = 'delta+https://host/lake'", "", vec!["input.location"]),
        ("location = 'delta+s3://user:secret@lake/people'", "", vec!["input.location"]),
        ("location = 'delta+lake'\nformat = 'csv'\nheader = false", "", vec!["input.format", "input.header"]),
        ("location = 'in'", "format = 'delta'\ncommit = 'last-writer-wins'", vec!["output.commit"]),
        ("location = 'in'", "format = 'csv'", vec!["output.format"]),
    ] {
        assert_eq!(paths(with(input, output)), refused, "{input} {output}");
    }
    let text = HEAD.replace("\"out\"", "\"delta+out\"");
    assert_eq!(paths(read(&format!("{text}{COLUMNS}"))), ["output.location"]);
}
