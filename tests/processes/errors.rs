//! Errors on a cluster are the same as on one machine, and no log holds a value.

use crate::bucket::{Bucket, KEY_ID, SECRET, server};
use crate::cluster::Cluster;
use crate::secured::{TOKEN, Variables, credentials};
use crate::sql::{POLICY, tables};

#[test]
fn an_error_keeps_its_exit_code_and_its_words() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "errors");
    let cluster = Cluster::start(&bucket, 2);
    let too_much = "version = 1\nprivacy = { k = 10, p = 6 }\n[columns]\ndefault = \"drop\"\nage.role = \"quasi\"\n\
                    diagnosis.role = \"sensitive\"\n";
    let missing = bucket.url("nobody");
    let cases = [
        // Detected by the operator on an executor.
        (format!("SELECT * FROM anonymize('people', '{too_much}')"), 3, vec!["diagnosis", "p"]),
        // An error on rows, which an engine would quote.
        ("SELECT CAST(diagnosis AS INT) FROM people".to_owned(), 65, vec!["TRY_CAST"]),
        ("SELECT 10 / (hours - hours) FROM people".to_owned(), 65, vec!["divided by zero"]),
        // Detected by the client.
        (format!("SELECT * FROM '{missing}'"), 66, vec!["nobody"]),
        ("SELECT nothing FROM people".to_owned(), 2, vec!["nothing"]),
        (format!("SELECT * FROM anonymize('people', '{POLICY}.toml')"), 78, vec!["people.toml.toml"]),
        // A table that only the client has.
        ("CREATE TABLE kept AS VALUES (1); SELECT * FROM kept".to_owned(), 2, vec!["cluster", "files"]),
    ];
    for (query, code, words) in cases {
        let statements = tables(|table| bucket.url(table)) + &query;
        let ended = cluster.client(&["sql", "-c", &statements]);
        assert_eq!(ended.code, Some(code), "{query}: {ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{query}: {ended:?}");
        }
        for value in ["asthma", "cancer", "hiv", SECRET] {
            assert!(!ended.stderr.contains(value), "{query}: {ended:?}");
        }
    }
    // The same cluster still works.
    assert_eq!(crate::sql::asked(&cluster, &bucket, "SELECT count(*) AS n FROM released"), [r#"{"n":60}"#]);
}

#[test]
fn no_log_holds_a_value_or_a_secret() {
    look_for_canaries("canaries", Variables::new());
}

#[test]
fn no_log_of_a_secured_cluster_holds_a_value_or_a_secret() {
    let folder = tempfile::TempDir::new().unwrap();
    match credentials(folder.path()) {
        Ok(security) => look_for_canaries("secured-canaries", security),
        Err(why) => throng_testkit::skip(&why),
    }
}

/// Runs queries and jobs that succeed and fail, and searches what all processes log at the highest level.
fn look_for_canaries(bucket: &str, security: Variables) {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, bucket);
    let most = ("THRONG_LOG", "trace".to_owned());
    let cluster = Cluster::start_with(&bucket, 2, &[security, vec![most]].concat());
    for query in [
        "SELECT * FROM people WHERE diagnosis = 'cancer' AND name <> 'person 17'",
        "SELECT count(*) FROM released WHERE diagnosis IN ('asthma', 'hiv')",
        "SELECT CAST(diagnosis AS INT) FROM people WHERE diagnosis = 'cancer'",
        "SELECT arrow_cast(name, 'Date32') FROM people",
    ] {
        let statements = tables(|table| bucket.url(table)) + query;
        let ended = cluster.client(&["-vv", "sql", "-c", &statements]);
        assert!(matches!(ended.code, Some(0 | 65)), "{query}: {ended:?}");
        assert_clean(&ended.stderr);
    }
    for (k, code) in [("5", 0), ("61", 3)] {
        let (input, output) = (bucket.url("people"), bucket.url(&format!("released-{k}")));
        let ended = cluster.client(&["-vv", "run", POLICY, "--input", &input, "--output", &output, "-k", k]);
        assert_eq!(ended.code, Some(code), "k = {k}: {ended:?}");
        assert_clean(&(ended.stdout + &ended.stderr));
    }
    let logs = cluster.logs();
    assert!(logs.contains("a job has failed") && logs.contains("a job is done"), "{logs}");
    assert_clean(&logs);
    let (ended, left) = cluster.stop();
    for ended in ended {
        assert_clean(&(ended.stdout + &ended.stderr));
    }
    assert_eq!(left, Vec::<String>::new(), "folders of executors are left");
}

fn assert_clean(text: &str) {
    for canary in ["cancer", "asthma", "hiv", "person 1", KEY_ID, SECRET, TOKEN, crate::process::SECRET] {
        assert!(!text.contains(canary), "`{canary}` is shown: {text}");
    }
}
