//! `throng sql`: sources of statements, result formats, and errors.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Ended, Sandbox, assert_contains};

/// Statements that need no file.
const TABLE: &str = "CREATE TABLE t AS VALUES (1, 'a;b', 2.5), (2, NULL, NULL)";
const SELECT: &str = "SELECT column1 AS n, column2 AS text, column3 AS x FROM t ORDER BY n";

fn sandbox() -> Sandbox {
    Sandbox::with(&people(500), 3, 2, COLUMNS)
}

/// Returns the output of statements that must all succeed.
fn printed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let ended = sandbox.throng(&[&["sql"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr, "", "{ended:?}");
    ended.stdout
}

/// Returns the message of statements that must fail; it is not followed by a JSON outcome.
fn refused(sandbox: &Sandbox, code: i32, arguments: &[&str]) -> String {
    let ended = sandbox.throng(&[&["sql", "--format", "csv"], arguments].concat());
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(!ended.said().contains("internal error") && !ended.stdout.contains("exit_code"), "{ended:?}");
    let message = ended.stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{ended:?}"));
    assert_eq!(message.lines().count(), 1, "{message}");
    message.to_owned()
}

#[test]
fn every_format_is_what_it_should_be() {
    let sandbox = Sandbox::new();
    let script = format!("{TABLE}; {SELECT}; SELECT 7 AS seven WHERE false;");
    let cases = [
        (
            "table",
            "+---+------+------+\n| n | text | x    |\n+---+------+------+\n| 1 | a;b  | 2.5  |\n\
             | 2 | NULL | NULL |\n+---+------+------+\n+-------+\n| seven |\n+-------+\n+-------+\n",
        ),
        ("csv", "n,text,x\n1,a;b,2.5\n2,,\nseven\n"),
        ("tsv", "n\ttext\tx\n1\ta;b\t2.5\n2\t\t\nseven\n"),
        ("json", "[{\"n\":1,\"text\":\"a;b\",\"x\":2.5},{\"n\":2,\"text\":null,\"x\":null}]\n[]\n"),
        ("ndjson", "{\"n\":1,\"text\":\"a;b\",\"x\":2.5}\n{\"n\":2,\"text\":null,\"x\":null}\n"),
    ];
    for (format, expected) in cases {
        assert_eq!(printed(&sandbox, &["--format", format, "-c", &script]), expected, "{format}");
    }
}

#[test]
fn lists_have_a_text_in_csv_and_a_form_in_json() {
    let sandbox = Sandbox::new();
    let sql = "SELECT make_array(1, 2) AS list";
    assert_eq!(printed(&sandbox, &["--format", "csv", "-c", sql]), "list\n\"[1, 2]\"\n");
    assert_eq!(printed(&sandbox, &["--format", "json", "-c", sql]), "[{\"list\":[1,2]}]\n");
}

#[test]
fn a_table_shows_no_more_rows_than_asked_for() {
    let sandbox = Sandbox::new();
    let ended = sandbox.throng(&["sql", "--max-rows", "2", "-c", "SELECT * FROM generate_series(1, 9) AS s(n)"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "+---+\n| n |\n+---+\n| 1 |\n| 2 |\n+---+\n");
    assert_contains(&ended.stderr, &["first 2 rows"]);
}

#[test]
fn commands_and_files_run_in_the_order_in_which_they_are_written() {
    let sandbox = Sandbox::new();
    sandbox.write("define.sql", format!("-- a table; for all\n{TABLE};\n"));
    sandbox.write("count.sql", "SELECT count(*) AS rows\n  FROM t /* ; */ WHERE column2 = 'a;b'");
    let arguments = ["--format", "csv", "-f", "define.sql", "-c", "SELECT 1 AS a; SELECT 2 AS b", "-f", "count.sql"];
    assert_eq!(printed(&sandbox, &[&arguments[..], &["-c", "SELECT 3 AS c"]].concat()), "a\n1\nb\n2\nrows\n1\nc\n3\n");
}

fn with_stdin(sandbox: &Sandbox, arguments: &[&str], text: &str) -> Ended {
    let mut command = sandbox.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn what_is_piped_in_is_run() {
    let sandbox = Sandbox::new();
    let ended = with_stdin(&sandbox, &["sql", "--format", "csv"], "SELECT 1\n AS a;\nSELECT 2 AS b");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "a\n1\nb\n2\n"), "{ended:?}");
    let ended = with_stdin(&sandbox, &["sql", "--format", "csv", "-c", "SELECT 1 AS a", "-f", "-"], "SELECT 2 AS b");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "a\n1\nb\n2\n"), "{ended:?}");
    assert_eq!(printed(&sandbox, &[]), "");
}

#[test]
fn files_folders_and_globs_are_tables() {
    let sandbox = sandbox();
    for table in ["'input/people.parquet'", "'input/'", "'./input/*.parquet'", "\"input/people.parquet\""] {
        let sql = format!("SELECT count(*) AS n, min(name) AS first FROM {table} WHERE row < 1000100");
        assert_eq!(printed(&sandbox, &["--format", "csv", "-c", &sql]), "n,first\n100,person 00000\n", "{table}");
    }
    sandbox.write("codes.csv", "zip,n\n00123,1\n");
    assert_eq!(printed(&sandbox, &["--format", "csv", "-c", "SELECT * FROM 'codes.csv'"]), "zip,n\n00123,1\n");
}

#[test]
fn an_external_table_has_a_name_and_columns() {
    let sandbox = sandbox();
    let create = "CREATE EXTERNAL TABLE people STORED AS PARQUET LOCATION 'input/'";
    let sql = format!("{create}; SELECT count(*) AS n FROM people; SHOW TABLES; DESCRIBE people");
    let text = printed(&sandbox, &["--format", "csv", "--threads", "2", "-c", &sql]);
    assert!(text.starts_with("n\n500\n"), "{text}");
    assert_contains(
        &text,
        &["datafusion,public,people,BASE TABLE\n", "column_name,data_type,is_nullable\nrow,Int64,YES\n"],
    );
    let copy = format!("{create}; COPY (SELECT age FROM people) TO 'out/ages.parquet'");
    assert_eq!(printed(&sandbox, &["--format", "csv", "-c", &copy]), "count\n500\n");
    let sql = "SELECT count(age) AS n FROM 'out/ages.parquet'";
    assert_eq!(printed(&sandbox, &["--format", "csv", "-c", sql]), "n\n500\n");
}

#[test]
fn a_statement_that_cannot_be_parsed_or_planned_is_a_usage_error() {
    let sandbox = sandbox();
    assert_contains(&refused(&sandbox, 2, &["-c", "SELEC 1"]), &["statement 1: ", "SELEC", "Line: 1"]);
    assert_contains(&refused(&sandbox, 2, &["-c", "SELECT 1; SELECT 'open"]), &["statement 2: ", "Unterminated"]);
    assert_contains(
        &refused(&sandbox, 2, &["-c", "SELECT 1", "-c", "SELECT * FROM absent"]),
        &["statement 2: ", "absent"],
    );
    assert_contains(&refused(&sandbox, 2, &["-c", "SELECT agee FROM 'input/'"]), &["agee", "age"]);
    assert_contains(&refused(&sandbox, 2, &["-c", "SELECT nothing_like(1)"]), &["nothing_like"]);
    assert_contains(&refused(&sandbox, 2, &["-c", "DROP TABLE absent"]), &["absent"]);
    assert_contains(&refused(&sandbox, 2, &["-c", "SET datafusion.absent = 1"]), &["absent"]);
    sandbox.write("bad.sql", "SELECT 1 AS a;\n\nSELECT FROM WHERE;");
    assert_contains(&refused(&sandbox, 2, &["-f", "bad.sql"]), &["bad.sql: statement 2: "]);
}

#[test]
fn after_an_error_nothing_more_is_run() {
    let sandbox = Sandbox::new();
    let ended = sandbox.throng(&["sql", "--format", "csv", "-c", "SELECT 1 AS a; SELECT * FROM x; SELECT 3 AS c"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), "a\n1\n"), "{ended:?}");
    // A script with a parse error is not started.
    let ended = sandbox.throng(&["sql", "--format", "csv", "-c", "SELECT 1 AS a; SELEC 2", "-c", "SELECT 3 AS c"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
}

#[test]
fn what_is_not_there_is_no_input() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    let external = |location: &str| format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{location}'");
    for sql in ["SELECT * FROM 'absent.parquet'", "SELECT * FROM 'absent/'", "SELECT * FROM 'empty/'"] {
        assert_contains(&refused(&sandbox, 66, &["-c", sql]), &["statement 1: "]);
    }
    for location in ["absent.parquet", "absent/", "empty/"] {
        refused(&sandbox, 66, &["-c", &external(location)]);
    }
    assert_contains(&refused(&sandbox, 66, &["-f", "absent.sql"]), &["absent.sql"]);
}

#[test]
fn no_value_is_in_an_error() {
    let sandbox = sandbox();
    for expression in
        ["CAST(diagnosis AS INT)", "CAST(name AS DATE)", "to_timestamp(country)", "arrow_cast(zip, 'Int8')"]
    {
        let message = refused(&sandbox, 65, &["-c", &format!("SELECT {expression} FROM 'input/'")]);
        assert_contains(&message, &["statement 1: "]);
        let quotes = ["flu", "asthma", "person", "France", "A0", "A1", "A2", "Kenya"];
        assert!(quotes.iter().all(|value| !message.contains(value)), "{message}");
    }
    let into = "CREATE TABLE t AS SELECT CAST(diagnosis AS INT) AS n FROM 'input/'";
    let message = refused(&sandbox, 65, &["-c", into]);
    assert!(!message.contains("flu"), "{message}");
    sandbox.write("bad.csv", format!("n\n{}secret7\n", "1\n".repeat(200_000)));
    let message = refused(&sandbox, 65, &["-c", "SELECT sum(n) FROM 'bad.csv'"]);
    assert!(!message.contains("secret7"), "{message}");
    sandbox.write("bad.parquet", "secret7 is no Parquet");
    let message = refused(&sandbox, 65, &["-c", "SELECT * FROM 'bad.parquet'"]);
    assert!(message.contains("bad.parquet") && !message.contains("secret7"), "{message}");
}

#[test]
fn credentials_in_a_location_are_refused_and_not_shown() {
    let sandbox = Sandbox::new();
    let url = "s3://key:hunter2@bucket/x/";
    for sql in [
        format!("SELECT * FROM '{url}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{url}'"),
        format!("COPY (SELECT 1) TO '{url}' STORED AS PARQUET"),
    ] {
        let message = refused(&sandbox, 2, &["-c", &sql]);
        assert!(message.contains("environment") && !message.contains("hunter2"), "{message}");
    }
}

#[test]
fn object_stores_are_configured_from_the_environment() {
    let sandbox = Sandbox::new();
    for sql in [
        "SELECT * FROM 's3://some-bucket/x.parquet'",
        "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 's3://some-bucket/x.parquet'",
    ] {
        let mut command = sandbox.command(&["sql", "-c", sql]);
        let environment =
            [("AWS_ALLOW_HTTP", "true"), ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")];
        // A request to this port is refused.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let heard = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            reader.get_mut().write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").unwrap();
            line
        });
        let output = command.envs(environment).env("AWS_ENDPOINT", endpoint).output().unwrap();
        let ended = Ended::from(output);
        assert_contains(&heard.join().unwrap(), &["some-bucket/x.parquet"]);
        assert_eq!(ended.code, Some(78), "{ended:?}");
        assert_contains(&ended.stderr, &["credentials in the environment"]);
        assert!(!ended.said().contains("secret"), "{ended:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let sandbox = Sandbox::new();
    for format in ["csv", "ndjson", "table"] {
        let sql = "SELECT * FROM generate_series(1, 300000) AS s(n)";
        let mut child = sandbox.start(&["sql", "--format", format, "-c", sql, "-c", "SELECT 1"]);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{format}: {ended:?}");
        assert!(!line.is_empty());
    }
}

/// The output may be long and its reader may be stalled: a signal still ends the command.
#[test]
#[cfg(unix)]
fn a_signal_ends_a_table_that_is_being_printed() {
    let sandbox = Sandbox::new();
    for format in ["table", "csv", "ndjson"] {
        let select = "SELECT repeat('x', 1000000) FROM generate_series(1, 20)";
        let mut child = sandbox.start(&["sql", "-c", select, "--format", format]);
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(child.try_wait().unwrap().is_none(), "{format}: nobody has read the pipe");
        std::process::Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
        let start = std::time::Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(143), "{format}");
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{format}: {:?}", start.elapsed());
    }
}
