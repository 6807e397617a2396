//! Inputs on web servers and S3: read by ranges, in one version, and without disclosing credentials.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::read;
use crate::sandbox::{Ended, Sandbox, assert_contains, contents};
use crate::tables::{write_csv, write_parquet};
use crate::web::{Request, Response, Server};

/// Part of every credential of a test.
const CANARY: &str = "canary";

/// Returns the bytes of a table as a Parquet file.
fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    write_parquet(&folder.path().join("a.parquet"), batch);
    fs::read(folder.path().join("a.parquet")).unwrap()
}

/// Creates a sandbox with a policy and without an input.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.policy(3, 1, COLUMNS);
    sandbox
}

/// Starts a server with two halves of the fixture table.
fn two_halves() -> Server {
    let (one, two) = (parquet(&people(300).slice(0, 150)), parquet(&people(300).slice(150, 150)));
    Server::start(move |request| match request.path.as_str() {
        "/data/one.parquet" | "/bucket/data/one.parquet" => Response::file(request, &one, "v1"),
        "/data/two%20b.parquet" => Response::file(request, &two, "v1"),
        _ if request.method == "PROPFIND" => Response::status("405 Method Not Allowed"),
        _ => Response::status("404 Not Found"),
    })
}

#[test]
fn files_of_a_web_server_are_read_in_parts() {
    let (sandbox, server) = (sandbox(), two_halves());
    let (one, two) = (format!("{}/data/one.parquet", server.url), format!("{}/data/two%20b.parquet", server.url));
    assert_eq!(sandbox.run(&["--input", &one])["rows"], 150);
    assert_eq!(sandbox.run(&["--input", &one, "--input", &two, "--overwrite"])["rows"], 300);
    assert_eq!(read(&sandbox.release()).num_rows(), 300);
    let requests = server.requests();
    let gets: Vec<&Request> = requests.iter().filter(|request| request.method == "GET").collect();
    assert!(gets.iter().all(|get| get.header("range").is_some()), "{gets:?}");
    assert!(gets.iter().all(|get| get.header("if-match") == Some("\"v1\"")), "every part is of one version: {gets:?}");
}

#[test]
fn csv_of_a_web_server_is_read_too() {
    let sandbox = sandbox();
    write_csv(&sandbox.path("people.csv"), &people(100));
    let bytes = fs::read(sandbox.path("people.csv")).unwrap();
    let server = Server::start(move |request| Response::file(request, &bytes, "v1"));
    assert_eq!(sandbox.run(&["--input", &format!("{}/people.csv", server.url)])["rows"], 100);
}

#[test]
fn a_web_server_is_not_searched_and_not_written_to() {
    let (sandbox, server) = (sandbox(), two_halves());
    let refused = |code, more: &[&str]| sandbox.run_refused(code, more);
    assert_contains(&refused(78, &["--input", &format!("{}/data/*.parquet", server.url)]), &["glob", "name each file"]);
    assert_contains(&refused(78, &["--input", &format!("{}/data/", server.url)]), &["/data", "name each file"]);
    assert_contains(&refused(66, &["--input", &format!("{}/data/none.parquet", server.url)]), &["none.parquet"]);
    let signed = format!("{}/data/one.parquet?X-Amz-Signature={CANARY}", server.url);
    let message = refused(78, &["--input", &signed]);
    assert!(message.contains("--input: has a query") && !message.contains(CANARY), "{message}");
    let one = format!("{}/data/one.parquet", server.url);
    assert_contains(
        &refused(78, &["--input", &one, "--output", &format!("{}/out", server.url)]),
        &["--output", "can only be read"],
    );
    assert!(server.requests().iter().all(|request| ["GET", "HEAD", "PROPFIND"].contains(&request.method.as_str())));
}

#[test]
fn a_server_that_sends_no_parts_is_reported() {
    let (sandbox, bytes) = (sandbox(), parquet(&people(100)));
    let server = Server::start(move |request| {
        let mut whole = request.clone();
        whole.headers.retain(|(name, _)| name != "range");
        Response::file(&whole, &bytes, "v1")
    });
    let message = sandbox.run_refused(65, &["--input", &format!("{}/people.parquet", server.url)]);
    assert_contains(&message, &["people.parquet", "does not send parts of files"]);
}

/// Starts a server whose file changes after `after` ranges were sent. With `looks`, it honours conditional requests.
fn changing(after: usize, looks: bool) -> Server {
    let (old, new) = (parquet(&people(3_000)), parquet(&people(3_001)));
    let sent = Arc::new(AtomicUsize::new(0));
    Server::start(move |request| {
        let mut request = request.clone();
        let count =
            if request.method == "GET" { sent.fetch_add(1, Ordering::SeqCst) } else { sent.load(Ordering::SeqCst) };
        if !looks {
            request.headers.retain(|(name, _)| name != "if-match");
        }
        match count < after {
            true => Response::file(&request, &old, "old"),
            false => Response::file(&request, &new, "new"),
        }
    })
}

#[test]
fn a_file_that_changes_while_it_is_read_is_named_and_nothing_is_published() {
    // Number of ranges that a whole run requests.
    let counting = changing(usize::MAX, true);
    sandbox().run(&["--input", &format!("{}/people.parquet", counting.url)]);
    let parts = counting.requests().iter().filter(|request| request.method == "GET").count();
    assert!(parts >= 2, "{parts}");
    for looks in [true, false] {
        // After each range; after the last one, only the version is requested.
        for after in 1..=parts {
            let (sandbox, server) = (sandbox(), changing(after, looks));
            let ended = sandbox.throng(&["run", "policy.toml", "-i", &format!("{}/people.parquet", server.url)]);
            assert_contains(&ended.refused(75), &["people.parquet", "has changed"]);
            assert!(sandbox.out().is_empty(), "{after} {looks}");
        }
    }
}

/// Runs a command with credentials for S3 at a server.
fn with_credentials(sandbox: &Sandbox, server: &Server, arguments: &[&str]) -> Ended {
    let mut command = sandbox.command(arguments);
    for name in ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"] {
        command.env(format!("AWS_{name}"), format!("{CANARY}-{}", name.to_lowercase()));
    }
    command.env("AWS_ENDPOINT_URL", &server.url).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    Ended::from(command.output().unwrap())
}

fn assert_silent(ended: &Ended) {
    let said = ended.said().to_lowercase();
    let line = said.lines().find(|line| line.contains(CANARY) || line.contains("signature="));
    assert!(line.is_none(), "a credential is shown: {}", line.unwrap_or_default());
}

#[test]
fn credentials_are_sent_to_the_store_and_shown_to_no_one() {
    let (sandbox, server) = (sandbox(), two_halves());
    for format in ["text", "json"] {
        let arguments =
            ["run", "policy.toml", "-i", "s3://bucket/data/one.parquet", "--overwrite", "-vv", "--log-format", format];
        let ended = with_credentials(&sandbox, &server, &arguments);
        assert_silent(&ended);
        assert_eq!(ended.done()["rows"], 150);
    }
    let sent = server.requests();
    assert!(sent.iter().all(|request| request.header("authorization").is_some_and(|value| value.contains(CANARY))));
    let written = contents(&sandbox.release());
    assert!(written.values().all(|bytes| !String::from_utf8_lossy(bytes).contains(CANARY)));
}

#[test]
fn a_server_that_repeats_credentials_is_not_quoted() {
    let sandbox = sandbox();
    let server = Server::start(|request| {
        Response {
        status: "403 Forbidden",
        headers: vec![("Content-Type", "application/xml".to_owned())],
        body: format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>{CANARY}\
             </AWSAccessKeyId><StringToSign>{:?}</StringToSign></Error>",
            request.headers
        )
        .into_bytes(),
    }
    });
    for location in ["s3://bucket/one.parquet", "s3://bucket/data/", "s3://bucket/data/*.parquet"] {
        let ended = with_credentials(&sandbox, &server, &["run", "policy.toml", "-i", location, "-vv"]);
        assert_silent(&ended);
        assert_contains(&ended.refused(78), &["403 Forbidden", "check the credentials"]);
    }
    sandbox.write("input/people.parquet", parquet(&people(100)));
    let ended = with_credentials(&sandbox, &server, &["run", "policy.toml", "-o", "s3://bucket/out", "-vv"]);
    assert_silent(&ended);
    assert_contains(&ended.refused(78), &["s3://bucket/out", "403 Forbidden", "check the credentials"]);
}

#[test]
fn the_policy_says_where_the_store_is_and_the_environment_knows_better() {
    let (sandbox, server) = (sandbox(), two_halves());
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let with_store = |endpoint: &str| {
        let store = format!("[store]\nendpoint = \"{endpoint}\"\nallow_http = true\nretries = 0\ntimeout = \"5s\"\n");
        sandbox.write("policy.toml", policy.replace("[privacy]", &format!("{store}[privacy]")));
    };
    let run = |endpoint: Option<&str>| {
        let mut command = sandbox.command(&["run", "policy.toml", "-i", "s3://bucket/data/one.parquet", "--overwrite"]);
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ALLOW_HTTP"] {
            command.env_remove(name);
        }
        command.envs(endpoint.map(|endpoint| ("AWS_ENDPOINT_URL", endpoint)));
        Ended::from(command.output().unwrap())
    };
    with_store(&server.url);
    assert_eq!(run(None).done()["rows"], 150);
    // No process listens there.
    with_store("http://127.0.0.1:9");
    assert_contains(&run(None).refused(75), &["s3://bucket/data/one.parquet"]);
    assert_eq!(run(Some(&server.url)).done()["rows"], 150);
}
