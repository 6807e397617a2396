use std::time::Duration;

use super::*;
use crate::Commit;
use crate::test_policies::{HEAD, complaints, read};

/// Returns a policy with these lines in `[store]`, from line 5 on.
fn with(lines: &str) -> String {
    format!("{HEAD}{lines}\n[columns]\na.role = 'quasi'\n")
}

#[test]
fn a_policy_without_a_store_has_the_defaults() {
    let policy = read(&with("")).unwrap();
    assert_eq!(policy.store, Store::default());
    assert_eq!(policy.output.commit, Commit::Conditional);
}

#[test]
fn every_field_of_a_store_is_read() {
    let text = "[store]\nendpoint = 'http://${DATA}.example.org:9000'\nregion = 'eu-central-1'\nallow_http = true\n\
                timeout = '2s'\nconnect_timeout = '500ms'\nretries = 0\nretry_timeout = '3m'\n";
    let policy = read(&with(text).replace("${DATA}", "${NOTHING}minio")).unwrap();
    let expected = Store {
        endpoint: Some("http://minio.example.org:9000".to_owned()),
        region: Some("eu-central-1".to_owned()),
        allow_http: true,
        timeout: Duration::from_secs(2),
        connect_timeout: Duration::from_millis(500),
        retries: 0,
        retry_timeout: Duration::from_secs(180),
    };
    assert_eq!(policy.store, expected);
    let text = with("output.commit = 'last-writer-wins'");
    assert_eq!(read(&text).unwrap().output.commit, Commit::LastWriterWins);
}

#[test]
fn all_that_is_wrong_with_a_store_is_reported_at_once() {
    let text = "[store]\nendpoint = 'minio:9000'\nregion = ''\ntimeout = '30'\nconnect_timeout = '0s'\n\
                retry_timeout = 'soon'\n";
    let time = "is not a time; expected one such as `500ms`, `30s`, `5min` or `1h`";
    assert_eq!(
        complaints(&with(text)),
        [
            "policy.toml:6:12: store.endpoint: is not the URL of a server; expected one that begins with https://"
                .to_owned(),
            "policy.toml:7:10: store.region: is empty; name a region, or leave it out".to_owned(),
            format!("policy.toml:8:11: store.timeout: {time}"),
            format!("policy.toml:9:19: store.connect_timeout: {time}"),
            format!("policy.toml:10:17: store.retry_timeout: {time}"),
        ]
    );
}

#[test]
fn a_store_has_no_place_for_a_secret() {
    for field in ["access_key_id", "secret_access_key", "token", "password", "account_key"] {
        let problems = complaints(&with(&format!("[store]\n{field} = 'hunter2'\n")));
        assert!(problems[0].starts_with(&format!("policy.toml:6:1: store.{field}: unknown field")), "{problems:?}");
        assert!(!problems[0].contains("hunter2"), "{problems:?}");
    }
    for endpoint in ["https://key:hunter2@host", "https://host/?token=hunter2", "${URL}"] {
        let problems = complaints(&with(&format!("[store]\nendpoint = '{endpoint}'\n")));
        assert!(problems[0].contains("secret") && !problems[0].contains("hunter2"), "{problems:?}");
    }
}

#[test]
fn an_endpoint_without_encryption_is_taken_only_when_allowed() {
    let problems = complaints(&with("[store]\nendpoint = 'http://minio:9000'\n"));
    assert_eq!(
        problems,
        ["policy.toml:6:12: store.endpoint: is not encrypted; use https://, or set `allow_http = true` beside it"]
    );
}

#[test]
fn an_output_on_the_web_is_refused() {
    let text = with("").replace("\"out\"", "\"https://host/out\"");
    let problems = complaints(&text);
    assert!(
        problems[0].starts_with("policy.toml:3:19: output.location: http:// and https:// can only be read"),
        "{problems:?}"
    );
}

#[test]
fn a_store_is_no_part_of_the_promise_and_does_not_travel() {
    let plain = read(&with("")).unwrap();
    let policy = read(&with("[store]\nendpoint = 'https://${DATA}'\nretries = 1\n")).unwrap();
    assert_eq!(policy.canonical_json(), plain.canonical_json());
    assert!(!policy.to_portable().contains("store"), "{}", policy.to_portable());
    crate::Policy::from_portable(&policy.to_portable()).unwrap();
}
