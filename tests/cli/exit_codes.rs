//! Exit codes that a scheduler can rely on: 75 only for failures that a retry can fix.

use std::fs;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::web::{Response, Server};

const SECRET: &str = "hunter2";

fn sandbox() -> Sandbox {
    Sandbox::with(&people(60), 3, 1, &format!("{COLUMNS}\n[store]\nretries = 0\n"))
}

/// Runs a command with dummy credentials of every cloud and these variables. No request leaves the machine.
fn with_environment(sandbox: &Sandbox, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = sandbox.command(arguments);
    command
        .envs([("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "eu-west-1")])
        .envs([("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("AWS_ALLOW_HTTP", "true")])
        .envs([("AZURE_STORAGE_ACCOUNT_NAME", "people"), ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")])
        .envs([("AZURE_ENDPOINT", "http://127.0.0.1:9"), ("AZURE_ALLOW_HTTP", "true")])
        .envs(variables.iter().copied());
    command.output().unwrap().into()
}

#[test]
fn a_variable_that_no_client_can_use_is_named_and_its_value_is_not_shown() {
    let sandbox = sandbox();
    let [bare, newline] = [format!("{SECRET}.example.org:9000"), format!("{SECRET}\n")];
    let password = format!("http://key:{SECRET}@127.0.0.1:9");
    for (scheme, variable, value) in [
        ("s3", "AWS_ENDPOINT_URL", ""),
        ("s3", "AWS_ENDPOINT_URL", &bare),
        ("s3", "AWS_ENDPOINT_URL", &password),
        ("s3", "AWS_REGION", &newline),
        ("s3", "AWS_SESSION_TOKEN", &newline),
        ("s3", "AWS_ACCESS_KEY_ID", &newline),
        ("az", "AZURE_STORAGE_ACCOUNT_NAME", &newline),
        ("az", "AZURE_STORAGE_TOKEN", &newline),
    ] {
        let location = format!("{scheme}://bucket/people.parquet");
        let select = format!("SELECT * FROM '{location}'");
        let lineage = ["--lineage-file", "lineage.json"];
        for arguments in [
            [&["run", "policy.toml", "--input", &location][..], &lineage].concat(),
            [&["run", "policy.toml", "--output", &location][..], &lineage].concat(),
            vec!["sql", "-c", &select],
        ] {
            let ended = with_environment(&sandbox, &arguments, &[(variable, value)]);
            assert_eq!(ended.code, Some(78), "{variable}: {ended:?}");
            assert_contains(&ended.stderr, &[variable]);
            let lineage = fs::read_to_string(sandbox.path("lineage.json")).unwrap_or_default();
            assert!(!ended.said().contains(SECRET) && !lineage.contains(SECRET), "{ended:?} {lineage}");
        }
    }
    assert!(sandbox.out().is_empty());
}

#[test]
fn a_signed_location_is_refused_and_not_shown() {
    let sandbox = sandbox();
    let location = format!("s3://bucket/people.parquet?X-Amz-Signature={SECRET}");
    let select = format!("SELECT * FROM '{location}'");
    for arguments in [
        &["run", "policy.toml", "--input", &location][..],
        &["run", "policy.toml", "--output", &location],
        &["init", &location, "-o", "drafted.toml"],
        &["risk", &location, "--quasi", "age"],
        &["verify", &location, "--quasi", "age", "--k", "2"],
        &["sql", "-c", &select],
    ] {
        let ended = with_environment(&sandbox, arguments, &[]);
        assert!(matches!(ended.code, Some(2 | 78)), "{arguments:?}: {ended:?}");
        assert_contains(&ended.stderr, &["signature"]);
        assert!(!ended.said().contains(SECRET), "{ended:?}");
    }
}

#[test]
fn an_output_that_can_not_be_created_is_not_tried_again() {
    let sandbox = sandbox();
    sandbox.write("file", "not a folder");
    let long = format!("out/{}", "x".repeat(300));
    for output in ["file/release", "file", &long] {
        sandbox.run_refused(78, &["--output", output]);
    }
    #[cfg(target_os = "linux")]
    assert_contains(&sandbox.run_refused(78, &["--output", "/proc/none/release"]), &["creating", "check the location"]);
    for arguments in [
        &["generate", "census", "--rows", "10", "-o", "file/census"][..],
        &["demo", "-o", "file/demo"],
        &["risk", "input", "--quasi", "age", "-o", "none/risk.html"],
    ] {
        sandbox.throng(arguments).refused(78);
    }
}

#[test]
fn an_input_that_can_not_be_there_is_not_tried_again() {
    let sandbox = sandbox();
    let long = format!("input/{}.parquet", "x".repeat(300));
    for input in ["input/people.parquet/x.parquet", &long] {
        let ended = sandbox.throng(&["run", "policy.toml", "--input", input]);
        assert!(matches!(ended.code, Some(66 | 78)), "{ended:?}");
    }
}

#[test]
fn a_bucket_that_is_not_there_is_not_tried_again() {
    let sandbox = sandbox();
    let server = Server::start(|_| Response {
        status: "404 Not Found",
        headers: vec![("Content-Type", "application/xml".to_owned())],
        body: b"<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code></Error>".to_vec(),
    });
    let endpoint = [("AWS_ENDPOINT_URL", server.url.as_str())];
    for location in ["s3://bucket/people.parquet", "s3://bucket/data/", "s3://bucket/*.parquet"] {
        let ended = with_environment(&sandbox, &["run", "policy.toml", "--input", location], &endpoint);
        assert_contains(&ended.refused(66), &["NoSuchBucket", "no such bucket"]);
    }
    let ended = with_environment(&sandbox, &["run", "policy.toml", "--output", "s3://bucket/release"], &endpoint);
    assert_contains(&ended.refused(78), &["no such bucket"]);
}

/// A store that answers every request with a status and a code of Azure.
fn azure_answering(status: &'static str, code: &'static str) -> Server {
    Server::start(move |_| Response {
        status,
        headers: vec![("x-ms-error-code", code.to_owned()), ("Content-Type", "application/xml".to_owned())],
        body: format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into_bytes(),
    })
}

#[test]
fn a_container_that_is_not_there_and_a_wrong_key_are_not_tried_again() {
    let sandbox = sandbox();
    let locations = ["az://container/people.parquet", "az://container/data/"];
    let missing = azure_answering("404 Not Found", "ContainerNotFound");
    for location in locations {
        let arguments = ["run", "policy.toml", "--input", location];
        with_environment(&sandbox, &arguments, &[("AZURE_ENDPOINT", &missing.url)]).refused(66);
    }
    let closed = azure_answering("403 Forbidden", "AuthenticationFailed");
    for (option, location) in [("--input", locations[0]), ("--input", locations[1]), ("--output", "az://container/out")]
    {
        let arguments = ["run", "policy.toml", option, location];
        let ended = with_environment(&sandbox, &arguments, &[("AZURE_ENDPOINT", &closed.url)]);
        assert_contains(&ended.refused(78), &["403 Forbidden", "credentials"]);
    }
}

#[test]
fn a_memory_limit_that_can_not_do_is_not_tried_again() {
    let sandbox = sandbox();
    let select = "SELECT array_agg(lpad(value::varchar, 200, '0') ORDER BY value DESC) FROM generate_series(1, 400000)";
    let ended = sandbox.throng(&["sql", "-c", select, "--memory-limit", "160MiB"]);
    assert_eq!(ended.code, Some(78), "{ended:?}");
    assert_contains(&ended.stderr, &["--memory-limit", "to at least "]);
}

/// Runs a command for each row of the page for schedulers, except 70, which would be a bug.
#[test]
fn every_exit_code_is_seen() {
    let sandbox = sandbox();
    let run = |more: &[&str]| sandbox.throng(&[&["run", "policy.toml"], more].concat()).code;
    let mut seen = vec![(0, run(&["--output", "out/first"]))];
    seen.push((2, sandbox.throng(&["run", "--elephants"]).code));
    seen.push((2, sandbox.throng(&["sql", "-c", "SELECT FROM WHERE"]).code));
    seen.push((3, run(&["-k", "61"])));
    seen.push((4, sandbox.throng(&["verify", "out/first", "--quasi", "age", "--k", "61"]).code));
    sandbox.write("damaged.parquet", b"PAR1 and no more");
    seen.push((65, run(&["--input", "damaged.parquet"])));
    seen.push((66, run(&["--input", "nowhere.parquet"])));
    let closed = ["run", "policy.toml", "--input", "s3://bucket/people.parquet"];
    seen.push((75, with_environment(&sandbox, &closed, &[]).code));
    sandbox.write("wrong.toml", "version = 1\n");
    seen.push((78, sandbox.throng(&["run", "wrong.toml"]).code));
    #[cfg(unix)]
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut child = sandbox.start(&["run", "policy.toml", "--budget", "10min"]);
        std::thread::sleep(std::time::Duration::from_millis(800));
        std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        seen.push((code, child.wait().unwrap().code()));
    }
    assert_eq!(throng_job::Kind::Internal.exit_code(), 70);
    for (expected, found) in seen {
        assert_eq!(found, Some(expected));
    }
    assert_eq!(sandbox.out(), ["first"]);
}

/// The page for schedulers has every code, and marks the one that is worth a retry.
#[test]
fn the_guide_has_every_exit_code() {
    let page = fs::read_to_string("../../docs/src/reference/exit-codes.md").unwrap();
    let rows: Vec<Vec<&str>> =
        page.lines().filter(|line| line.starts_with("| ")).map(|row| row.split(" | ").collect()).collect();
    let codes = |row: &[&str]| -> Vec<u8> {
        row[0].trim_start_matches("| ").split(", ").filter_map(|code| code.parse().ok()).collect()
    };
    let listed: Vec<u8> = rows.iter().flat_map(|row| codes(row)).collect();
    let known = (1..=u8::MAX).filter(|code| throng_job::Kind::from_exit_code(*code).is_some());
    let expected: Vec<u8> = [0].into_iter().chain(known).chain([143]).collect();
    assert_eq!(listed, expected);
    let again: Vec<u8> = rows.iter().filter(|row| row[2].starts_with("try again")).flat_map(|row| codes(row)).collect();
    assert_eq!(again, [75]);
}

#[test]
fn a_store_that_does_not_answer_is_tried_again() {
    let sandbox = sandbox();
    for (option, location) in [("--input", "s3://bucket/people.parquet"), ("--output", "s3://bucket/release")] {
        with_environment(&sandbox, &["run", "policy.toml", option, location], &[]).refused(75);
    }
}

#[test]
#[cfg(unix)]
fn more_input_files_than_may_be_open_are_read() {
    let sandbox = sandbox();
    let sound = fs::read(sandbox.path("input/people.parquet")).unwrap();
    for number in 0..400 {
        sandbox.write(&format!("input/part-{number}.parquet"), &sound);
    }
    assert_eq!(run_limited(&sandbox, "ulimit -n 200", "").done()["rows"], 401 * 60);
}

/// Runs a policy in a shell that limits the process first.
#[cfg(unix)]
fn run_limited(sandbox: &Sandbox, limit: &str, more: &str) -> Ended {
    let script = format!("{limit}; exec {} run policy.toml {more}", env!("CARGO_BIN_EXE_throng"));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(sandbox.path("")).env("THRONG_SECRET", crate::sandbox::SECRET);
    command.output().unwrap().into()
}

#[test]
#[cfg(target_os = "linux")]
fn little_address_space_names_the_limit() {
    let sandbox = sandbox();
    for kibibytes in [300_000, 600_000] {
        let message = run_limited(&sandbox, &format!("ulimit -v {kibibytes}"), "").refused(78);
        assert_contains(&message, &["ulimit -v", "at least"]);
    }
    assert!(sandbox.out().is_empty());
    // The minimum that the message names is enough.
    run_limited(&sandbox, "ulimit -v 1310720", "--threads 2").done();
}

/// Runs a policy as a user other than root, to whom process limits and permissions apply. `None` if that is not possible.
#[cfg(target_os = "linux")]
fn run_as_another(sandbox: &Sandbox, limit: &str, more: &str) -> Option<Ended> {
    use std::os::unix::fs::PermissionsExt;
    // Other users may lack access to the binary of the build.
    let binary = sandbox.path("throng");
    if !binary.exists() {
        fs::hard_link(env!("CARGO_BIN_EXE_throng"), &binary).ok()?;
    }
    for folder in ["", "out"] {
        fs::set_permissions(sandbox.path(folder), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let script = format!("{limit}; exec ./throng run policy.toml {more}");
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", &script]);
    command.current_dir(sandbox.path("")).env("THRONG_SECRET", crate::sandbox::SECRET);
    let ended: Ended = command.output().ok()?.into();
    (!ended.stderr.starts_with("setpriv:")).then_some(ended)
}

#[test]
#[cfg(target_os = "linux")]
fn too_few_processes_and_missing_permissions_are_not_tried_again() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    let Some(ended) = run_as_another(&sandbox, "ulimit -u 1", "") else {
        return throng_testkit::skip("no command can be run as another user");
    };
    assert_contains(&ended.refused(78), &["ulimit -u"]);
    let run = |more: &str| run_as_another(&sandbox, "true", more).unwrap();
    run("--output out/sound").done();
    let closed = sandbox.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert_contains(&run("--output closed/release").refused(78), &["check the permissions"]);
    let input = sandbox.path("input/people.parquet");
    fs::set_permissions(&input, fs::Permissions::from_mode(0o000)).unwrap();
    assert_contains(&run("--output out/unread").refused(78), &["people.parquet", "check the permissions"]);
    assert_eq!(sandbox.out(), ["sound"]);
}

/// The signal for exceeding the file size limit must not end the process before its staging is removed.
#[test]
#[cfg(unix)]
fn a_limit_of_file_sizes_is_named_and_nothing_is_left() {
    let sandbox = Sandbox::with(&people(20_000), 3, 1, COLUMNS);
    let message = run_limited(&sandbox, "ulimit -f 16", "").refused(78);
    assert_contains(&message, &["ulimit -f"]);
    assert_eq!(sandbox.out(), Vec::<String>::new());
}

#[test]
#[cfg(unix)]
fn few_open_files_leave_no_staging_behind() {
    let sandbox = sandbox();
    for files in 8..24 {
        let ended = run_limited(&sandbox, &format!("ulimit -n {files}"), "--overwrite");
        let left: Vec<String> = sandbox.out().into_iter().filter(|name| name != "release").collect();
        assert!(left.is_empty(), "{files}: {left:?} {ended:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_release_is_as_private_as_the_process_asks() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    for (umask, expected) in [("077", 0o700), ("027", 0o750), ("022", 0o755)] {
        run_limited(&sandbox, &format!("umask {umask}"), "--overwrite").done();
        for name in ["out/release", "out/release/_throng"] {
            let mode = fs::metadata(sandbox.path(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(format!("{mode:o}"), format!("{expected:o}"), "{name} with umask {umask}");
        }
    }
}
