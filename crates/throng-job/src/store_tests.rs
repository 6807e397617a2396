use super::*;

/// Returns how a store for a URL in an environment describes itself.
fn opened(url: &str, settings: &Store, variables: &[(&str, &str)]) -> Result<String, JobError> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let store = open_in(&Url::parse(url).unwrap(), settings, variables)?;
    // `Debug` of a store shows its configuration, unlike that of a store path.
    Ok(format!("{store} {store:?}"))
}

#[test]
fn every_scheme_opens_with_its_usual_variables() {
    let plain = Store::default();
    let s3 = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "eu-west-1")];
    for url in ["s3://bucket/a/", "s3a://bucket/a/"] {
        let shown = opened(url, &plain, &s3).unwrap();
        assert!(shown.starts_with("AmazonS3(bucket)") && shown.contains("eu-west-1"), "{shown}");
    }
    let google = [("GOOGLE_SKIP_SIGNATURE", "true"), ("GOOGLE_BASE_URL", "https://storage.example.org")];
    let shown = opened("gs://bucket/a/", &plain, &google).unwrap();
    assert!(shown.starts_with("GoogleCloudStorage(bucket)") && shown.contains("storage.example.org"), "{shown}");
    let azure = [("AZURE_STORAGE_ACCOUNT_NAME", "people"), ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")];
    for url in ["az://box/a/", "abfss://box@people.dfs.core.windows.net/a/"] {
        let shown = opened(url, &plain, &azure).unwrap();
        assert!(shown.contains("account: people, container: box"), "{shown}");
    }
    for url in ["http://host:8000/a.parquet", "https://host/a.parquet"] {
        assert!(opened(url, &plain, &[]).unwrap().starts_with("HttpStore"));
    }
}

#[test]
fn the_environment_wins_over_the_policy_and_the_policy_over_nothing() {
    let policy = Store {
        endpoint: Some("https://policy.example.org".to_owned()),
        region: Some("policy-1".to_owned()),
        ..Store::default()
    };
    let shown = opened("s3://bucket/", &policy, &[]).unwrap();
    assert!(shown.contains("https://policy.example.org") && shown.contains("policy-1"), "{shown}");
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"] {
        let set = [(name, "https://staging.example.org"), ("AWS_REGION", "staging-1")];
        let shown = opened("s3://bucket/", &policy, &set).unwrap();
        assert!(shown.contains("https://staging.example.org") && shown.contains("staging-1"), "{shown}");
        assert!(!shown.contains("policy"), "{shown}");
    }
}

#[test]
fn variables_of_other_clouds_do_not_count() {
    let shown = opened(
        "s3://bucket/",
        &Store::default(),
        &[("AZURE_ENDPOINT", "https://azure.example.org"), ("REGION", "x-1")],
    );
    let shown = shown.unwrap();
    assert!(!shown.contains("azure.example.org") && !shown.contains("x-1"), "{shown}");
}

#[test]
fn times_and_retries_reach_the_client() {
    let settings = Store {
        timeout: Duration::from_millis(1_234),
        connect_timeout: Duration::from_millis(567),
        retries: 8,
        retry_timeout: Duration::from_secs(91),
        ..Store::default()
    };
    for url in ["s3://bucket/", "gs://bucket/", "az://box/", "http://host/"] {
        let set = [("GOOGLE_SKIP_SIGNATURE", "true"), ("AZURE_STORAGE_ACCOUNT_NAME", "people")];
        let shown = opened(url, &settings, &set).unwrap();
        assert!(shown.contains("max_retries: 8") && shown.contains("retry_timeout: 91s"), "{shown}");
        let has = |time: &str, written: &str| shown.contains(time) || shown.contains(written);
        assert!(has("1.234s", "1234ms") && has("567ms", "\"567ms\""), "{shown}");
    }
}

#[test]
fn an_endpoint_without_encryption_must_be_allowed() {
    let endpoint = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000");
    let error = opened("s3://bucket/", &Store::default(), &[endpoint]).unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    assert!(error.to_string().contains("AWS_ALLOW_HTTP=true"), "{error}");
    opened("s3://bucket/", &Store::default(), &[endpoint, ("AWS_ALLOW_HTTP", "true")]).unwrap();
    opened("s3://bucket/", &Store { allow_http: true, ..Store::default() }, &[endpoint]).unwrap();
    // The environment also takes precedence where it forbids.
    opened("s3://bucket/", &Store { allow_http: true, ..Store::default() }, &[endpoint, ("AWS_ALLOW_HTTP", "false")])
        .unwrap_err();
}

#[test]
fn what_is_not_configured_is_shown_without_a_value() {
    let error = opened("az://box/a", &Store::default(), &[("AZURE_STORAGE_ACCOUNT_KEY", "hunter2")]).unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    assert!(error.to_string().contains("AZURE_STORAGE_ACCOUNT_NAME") && !error.to_string().contains("hunter2"));
    let error = opened("ftp://host/x", &Store::default(), &[]).unwrap_err();
    assert!(error.to_string().contains("s3, gs, az, http, https or file"), "{error}");
}
