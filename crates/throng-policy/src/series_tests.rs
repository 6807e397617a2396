use crate::test_policies::read;
use std::time::Duration;

use crate::{ArrivalSetting, LeaverSetting, Mode, StreamDelay};

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
    assert_eq!((series.remember, series.max_delay, series.reserve, series.max_waiting), (30, 14, 0, 0.007));
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

#[test]
fn a_stream_has_limits_of_rows_and_time() {
    let plain = |more: &str| policy(&format!("privacy.k = 3\n{more}")).replace("mode = 'series'", "mode = 'error'");
    let both = read(&plain("series.max_delay = { rows = 10000, time = '10min' }\n")).unwrap();
    let time = Some(Duration::from_secs(600));
    assert_eq!(both.stream, Some(StreamDelay { rows: Some(10_000), time, arrival: ArrivalSetting::Known }));
    assert_eq!(both.series, None);
    assert!(both.canonical_json().contains(r#""stream":{"rows":10000,"millis":600000}"#), "{}", both.canonical_json());
    assert!(read(&plain("series.max_delay = { rows = 3 }\n")).is_ok());
    let without = read(&plain("")).unwrap();
    assert!(without.stream.is_none() && !without.canonical_json().contains("stream"));
    for (more, message) in [
        ("series.max_delay = { }\n", "series.max_delay: names no limit"),
        ("series.max_delay = { rows = 0 }\n", "series.max_delay.rows: must be at least 1"),
        ("series.max_delay = { rows = 2 }\n", "series.max_delay.rows: is less than `k`"),
        ("series.max_delay = { time = '0s' }\n", "series.max_delay.time: must be a time"),
        ("series.max_delay = { row = 5 }\n", "series.max_delay.row: unknown field"),
        ("series.max_delay = 7\n", "series.max_delay: is for a series of releases"),
    ] {
        let error = refused(&plain(more));
        assert!(error.contains(message), "{more}: {error}");
    }
    let appended =
        plain("").replace("mode = 'error'", "mode = 'append'").replace("'sensitive' }", "'sensitive', t = 0.2 }");
    assert!(refused(&appended).contains("change with every append"), "{}", refused(&appended));
    let unknown = "series = { max_delay = { rows = 9 }, arrival = 'unknown' }\n";
    let stream = read(&plain(unknown)).unwrap();
    assert_eq!(stream.stream.map(|stream| stream.arrival), Some(ArrivalSetting::Unknown));
    assert!(
        stream.canonical_json().contains(r#""stream":{"arrival":"unknown","rows":9,"millis":null}"#)
            || stream.canonical_json().contains(r#""stream":{"rows":9,"millis":null,"arrival":"unknown"}"#),
        "{}",
        stream.canonical_json()
    );
    let appended = plain(unknown).replace("mode = 'error'", "mode = 'append'");
    assert!(refused(&appended).contains("series.arrival: `unknown` is for streams"), "{}", refused(&appended));
    let shares = plain(unknown).replace("'sensitive' }", "'sensitive', t = 0.2 }");
    assert!(refused(&shares).contains("change with every emission"), "{}", refused(&shares));
    let whole_cells = plain(unknown).replace("privacy.k = 3", "privacy = { k = 3, borrow = 'never' }");
    assert!(refused(&whole_cells).contains("remove `borrow`"), "{}", refused(&whole_cells));
    let of_series = "privacy = { k = 3, unit = 'id' }\nseries = { ledger = 'x', max_delay = { rows = 5 } }\n";
    assert!(refused(&policy(of_series)).contains("rows and time are for streams"));
}
