//! Validates `[store]`.

use std::time::Duration;

use crate::field_path::FieldPath;
use crate::location::{Environment, is_web};
use crate::problem::Report;
use crate::raw;
use crate::store::Store;
use crate::time_span;

use super::input_output::location;

/// Environment variable equivalent to `allow_http`.
const ALLOW_HTTP: &str = "AWS_ALLOW_HTTP";

/// Validates `[store]`, and resolves its defaults.
pub fn store(raw: Option<&raw::RawStore>, environment: Environment<'_>, report: &mut Report<'_>) -> Store {
    let default = Store::default();
    let Some(raw) = raw else { return default };
    let table = FieldPath::of(&["store"]);
    let allow_http = raw.allow_http.unwrap_or(default.allow_http);
    let is_allowed = allow_http || environment(ALLOW_HTTP).is_some();
    let endpoint = raw.endpoint.as_deref().map(|text| endpoint(text, is_allowed, &table, environment, report));
    if raw.region.as_ref().is_some_and(String::is_empty) {
        report.value(&table.key("region"), "is empty; name a region, or leave it out");
    }
    let mut time = |name: &str, written: &Option<String>, default: Duration| match written {
        Some(text) => time_span::parse(text).unwrap_or_else(|| {
            report.value(&table.key(name), "is not a time; expected one such as `500ms`, `30s`, `5min` or `1h`");
            default
        }),
        None => default,
    };
    Store {
        endpoint,
        region: raw.region.clone(),
        allow_http,
        timeout: time("timeout", &raw.timeout, default.timeout),
        connect_timeout: time("connect_timeout", &raw.connect_timeout, default.connect_timeout),
        retries: raw.retries.unwrap_or(default.retries),
        retry_timeout: time("retry_timeout", &raw.retry_timeout, default.retry_timeout),
    }
}

fn endpoint(
    written: &str,
    is_http_allowed: bool,
    table: &FieldPath,
    environment: Environment<'_>,
    report: &mut Report<'_>,
) -> String {
    let path = table.key("endpoint");
    let endpoint = location(written, &path, environment, report);
    if !endpoint.is_empty() && !is_web(&endpoint) {
        report.value(&path, "is not the URL of a server; expected one that begins with https://");
    }
    if endpoint.to_ascii_lowercase().starts_with("http://") && !is_http_allowed {
        report.value(&path, "is not encrypted; use https://, or set `allow_http = true` beside it");
    }
    endpoint
}
