use crate::test_policies::read;
use crate::{LeaverSetting, Mode};

const COLUMNS: &str = "columns = { id.role = 'identifier', age.role = 'quasi', illness = { role = 'sensitive' } }\n";

fn policy(more: &str) -> String {
    format!("version = 1\ninput.location = 'in'\noutput = {{ location = 'out', mode = 'series' }}\n{COLUMNS}{more}")
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_series_has_defaults() {
    let read = read(&policy("privacy = { k = 3, unit = 'id' }\nseries.ledger = 'ledger'\n")).unwrap();
    assert_eq!(read.output.mode, Mode::Series);
    let series = read.series.unwrap();
    assert_eq!((series.ledger.as_str(), series.unit.as_slice()), ("ledger", &["id".to_owned()][..]));
    assert_eq!((series.remember, series.max_delay, series.reserve, series.max_waiting), (30, 7, 0, 0.007));
    assert_eq!(series.leavers, LeaverSetting::ShowOn);
}

#[test]
fn a_series_needs_a_unit_and_a_ledger() {
    let error = refused(&policy("privacy.k = 3\nseries.ledger = 'ledger'\n"));
    assert!(error.contains("privacy.unit: required by [series]"), "{error}");
    let error = refused(&policy("privacy = { k = 3, unit = 'id' }\n"));
    assert!(error.contains("needs a table [series]"), "{error}");
    let error = refused(&policy(
        "privacy = { k = 3, unit = ['id'] }\nseries = { ledger = 'x', remember = 0, max_waiting = 2.0 }\n",
    ));
    assert!(error.contains("series.remember: must be at least 1") && error.contains("series.max_waiting"), "{error}");
}

#[test]
fn what_a_series_does_not_support_is_refused() {
    let text = policy("privacy = { k = 3, unit = 'id' }\nseries.ledger = 'x'\nalgorithm.partition = 'incognito'\n");
    assert!(refused(&text).contains("algorithm.partition"), "{}", refused(&text));
    let text = text.replace("mode = 'series'", "mode = 'overwrite'");
    assert!(refused(&text).contains("is for a series of releases"), "{}", refused(&text));
    let shares =
        text.replace("mode = 'overwrite'", "mode = 'series'").replace("'sensitive' }", "'sensitive', t = 0.2 }");
    assert!(refused(&shares).contains("columns.illness: requirements on frequencies"), "{}", refused(&shares));
}
