use super::*;
use crate::test_policies::environment;

fn expanded(written: &str) -> Result<String, LocationError> {
    expand(written, &environment)
}

#[test]
fn variables_and_dollars_are_put_in() {
    assert_eq!(expanded("plain/*.parquet").unwrap(), "plain/*.parquet");
    assert_eq!(expanded("${DATA}/a/${DATA}").unwrap(), "/data/a//data");
    assert_eq!(expanded("a$$b$${DATA}").unwrap(), "a$b${DATA}");
    assert_eq!(expanded("${NOTHING}").unwrap(), "");
}

#[test]
fn what_is_put_in_is_not_expanded_again() {
    assert_eq!(expand("${A}", &|_| Some("${B}$$".to_owned())).unwrap(), "${B}$$");
}

#[test]
fn a_dollar_that_means_nothing_is_refused() {
    assert_eq!(expanded("${MISSING}/x"), Err(LocationError::Unset("MISSING".to_owned())));
    assert_eq!(expanded("${DATA"), Err(LocationError::Unclosed));
    assert_eq!(expanded("${}"), Err(LocationError::Unclosed));
    assert_eq!(expanded("$DATA/x"), Err(LocationError::LoneDollar));
    assert_eq!(expanded("x$"), Err(LocationError::LoneDollar));
}

#[test]
fn credentials_are_refused_wherever_a_url_can_hold_them() {
    for location in [
        "s3://key:secret@bucket/path",
        "s3://key@bucket/path",
        "s3://key:sec/ret@bucket/path",
        "https://user:@host/",
        "abfss://user:secret@account.dfs.core.windows.net/",
    ] {
        assert_eq!(check(location), Err(LocationError::Credentials), "{location}");
    }
    for location in ["https://host/a.parquet?X-Amz-Signature=abc", "HTTP://host/a?b"] {
        assert_eq!(check(location), Err(LocationError::Query), "{location}");
    }
    for location in ["s3://b/a.parquet?X-Amz-Signature=abc", "az://b/a?sv=1&sig=x", "gs://b/a?X-Goog-Signature=a"] {
        assert_eq!(check(location), Err(LocationError::Signed), "{location}");
    }
    assert_eq!(check(""), Err(LocationError::Empty));
}

#[test]
fn containers_ports_and_plain_paths_are_fine() {
    for location in [
        "data/me@home.csv",
        "a:b@c/d.parquet",
        "s3://bucket/me@home.csv",
        "s3://bucket/part-?.parquet",
        "s3://bucket/year=202?/month=?/part-*.parquet",
        "http://localhost:9000/bucket/",
        "http://[::1]:9000/bucket/",
        "file:///data/x.parquet",
        "abfss://container@account.dfs.core.windows.net/folder",
    ] {
        assert_eq!(check(location), Ok(()), "{location}");
    }
}
