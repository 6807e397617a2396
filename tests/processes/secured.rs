//! A cluster with TLS and a token serves its own processes, and refuses all others.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use throng_testkit::{Authority, skip};

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;
use crate::job::{Census, text};

pub const TOKEN: &str = "the-token-of-the-cluster";

/// Variables of a process.
pub type Variables = Vec<(&'static str, String)>;

/// Makes a certificate and a token with the script of `deploy/`, and returns the variables of a process that has them.
pub fn credentials(folder: &Path) -> Result<Variables, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/certificates.sh");
    std::fs::write(folder.join("token"), format!("{TOKEN}\n")).unwrap();
    let ran = Command::new("sh").arg(script).arg(folder).args(["IP:127.0.0.1", "localhost"]).output();
    let ran = ran.map_err(|error| format!("there is no shell: {error}"))?;
    if !ran.status.success() {
        return Err(format!("no certificates: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    let files = [
        ("THRONG_CLUSTER_CA", "ca.crt"),
        ("THRONG_CLUSTER_CERT", "tls.crt"),
        ("THRONG_CLUSTER_KEY", "tls.key"),
        ("THRONG_CLUSTER_TOKEN_FILE", "token"),
    ];
    Ok(files.map(|(name, file)| (name, folder.join(file).to_str().unwrap().to_owned())).to_vec())
}

/// Returns the variables of a process with a certificate of this authority.
fn certified(folder: &TempDir, authority: &str) -> Result<Variables, String> {
    let authority = Authority::new(folder.path(), authority)?;
    let issued = authority.issue("process", "IP:127.0.0.1,DNS:localhost")?;
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    Ok(vec![
        ("THRONG_CLUSTER_CA", path(authority.certificate())),
        ("THRONG_CLUSTER_CERT", path(&issued.certificate)),
        ("THRONG_CLUSTER_KEY", path(&issued.key)),
    ])
}

fn with(variables: &Variables, more: (&'static str, &str)) -> Variables {
    let mut all: Variables = variables.iter().filter(|(name, _)| *name != more.0).cloned().collect();
    all.push((more.0, more.1.to_owned()));
    all
}

fn without(variables: &Variables, name: &str) -> Variables {
    variables.iter().filter(|(other, _)| *other != name).cloned().collect()
}

#[test]
fn a_secured_cluster_releases_the_same_bytes_and_refuses_strangers() {
    let Some(server) = server() else { return };
    let (folder, other_folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (ours, theirs) = match (certified(&folder, "ours"), certified(&other_folder, "theirs")) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(why), _) | (_, Err(why)) => return skip(&why),
    };
    let token = folder.path().join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let ours = with(&ours, ("THRONG_CLUSTER_TOKEN_FILE", token.to_str().unwrap()));
    let theirs = with(&theirs, ("THRONG_CLUSTER_TOKEN", TOKEN));

    let census = Census::new(Bucket::new(server, "secured"), 20_000, 6_000);
    let mut cluster = Cluster::start_with(&census.bucket, 2, &ours);
    assert!(cluster.logs().contains("\"is_secured\":true"), "{}", cluster.logs());
    let arguments = census.arguments("released");
    let files = TempDir::new().unwrap();
    let (metrics, lineage) = (files.path().join("run.prom"), files.path().join("lineage.json"));
    let mut reported = arguments.clone();
    reported.extend(
        ["--metrics-file", metrics.to_str().unwrap(), "--lineage-file", lineage.to_str().unwrap()].map(str::to_owned),
    );
    let ended = cluster.client(&text(&reported));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    census.assert_released("released");
    let metrics = std::fs::read_to_string(metrics).unwrap();
    assert!(metrics.contains("throng_run_success") && metrics.contains("throng_run_input_rows"), "{metrics}");
    let event: Value = serde_json::from_slice(&std::fs::read(lineage).unwrap()).unwrap();
    assert_eq!(event["eventType"], "COMPLETE");
    let rows = cluster.client(&["sql", "-c", "SELECT 40 + 2 AS answer", "--format", "csv"]);
    assert!(rows.code == Some(0) && rows.stdout.contains("42"), "{rows:?}");

    let of_bucket = census.bucket.environment();
    let refused_here = [
        ("no token", without(&ours, "THRONG_CLUSTER_TOKEN_FILE"), 78),
        (
            "a wrong token",
            with(&without(&ours, "THRONG_CLUSTER_TOKEN_FILE"), ("THRONG_CLUSTER_TOKEN", "a-token-of-others")),
            78,
        ),
        ("a certificate of another authority", theirs.clone(), 78),
        ("another certificate, but our authority", with(&theirs, ("THRONG_CLUSTER_CA", &ours[0].1)), 78),
        ("plain text", Variables::new(), 75),
    ];
    let refused_arguments = census.arguments("refused");
    for (who, variables, code) in refused_here {
        let environment = [of_bucket.clone(), variables].concat();
        let client = cluster.start_client_in(&text(&refused_arguments), &environment).wait();
        assert_eq!(client.code, Some(code), "a client with {who}: {client:?}");
        census.assert_nothing("refused");
        let executor = cluster.spawn_executor(&environment).wait();
        assert_eq!(executor.code, Some(code), "an executor with {who}: {executor:?}");
    }
    assert_eq!(cluster.scheduler().count("an executor has come"), 2);
    // A platform that probes the port presents no certificate, which is harmless.
    (0..20).for_each(|_| drop(TcpStream::connect(cluster.address()).unwrap()));

    // Executors find a scheduler that was started again, and the next run needs nothing else.
    cluster.kill_scheduler();
    cluster.restart_scheduler();
    cluster.scheduler().wait_for("an executor has come", 2);
    let again = cluster.client(&text(&census.arguments("again")));
    assert_eq!(again.code, Some(0), "{again:?}");
    census.assert_released("again");
    let logs = cluster.logs();
    assert!(!logs.contains(TOKEN), "a log has the token");
    let (ended, left) = cluster.stop();
    assert!(ended.iter().all(|process| process.code == Some(0)), "{ended:?}");
    assert_eq!(left, Vec::<String>::new(), "folders of executors are left");
}

#[test]
fn a_process_that_can_t_apply_what_was_configured_does_not_start() {
    let folder = TempDir::new().unwrap();
    let ours = match certified(&folder, "ours") {
        Ok(ours) => ours,
        Err(why) => return skip(&why),
    };
    let short = folder.path().join("short");
    std::fs::write(&short, "hunter2\n").unwrap();
    let wrong: [(Variables, &str); 6] = [
        (without(&ours, "THRONG_CLUSTER_KEY"), "belong together"),
        (with(&ours, ("THRONG_CLUSTER_CA", "/nowhere")), "reading /nowhere"),
        (with(&ours, ("THRONG_CLUSTER_KEY", &ours[0].1)), "private key in PEM"),
        (with(&ours, ("THRONG_CLUSTER_TOKEN_FILE", short.to_str().unwrap())), "one token per line"),
        (with(&ours, ("THRONG_CLUSTER_TOKEN", "")), "one token per line"),
        (vec![("THRONG_CLUSTER_TOKEN", TOKEN.to_owned())], "in plain text"),
    ];
    let commands: [&[&str]; 3] = [
        &["scheduler", "--bind", "127.0.0.1:0"],
        &["executor", "--scheduler", "127.0.0.1:1", "--port", "0", "--grpc-port", "0"],
        &["sql", "--cluster", "df://127.0.0.1:1", "-c", "SELECT 1"],
    ];
    for (variables, words) in wrong {
        for command in commands {
            let ended = crate::process::Process::start(command, &variables).wait();
            assert_eq!(ended.code, Some(78), "{command:?}: {ended:?}");
            assert!(ended.stderr.contains(words) && !ended.stderr.contains("hunter2"), "{command:?}: {ended:?}");
        }
    }
}
