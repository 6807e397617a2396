//! Processes that are killed in the middle of a job.

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;
use crate::job::{Census, text};
use crate::secured::{Variables, credentials};

/// Enough that every stage takes a while, and that there are several files.
const ROWS: u64 = 120_000;

/// Kills an executor of a cluster with these variables while it runs a task of this name.
fn kill_in(task: &str, bucket: &str, security: &Variables) {
    let Some(server) = server() else { return };
    let census = Census::new(Bucket::new(server, bucket), ROWS, ROWS / 6);
    let mut cluster = Cluster::start_with(&census.bucket, 2, security);
    let arguments = census.arguments("released");
    let job = cluster.start_client(&text(&arguments));
    let number = cluster.wait_for_task(task);
    cluster.kill_executor(number);
    let ended = job.wait();
    println!("{task}: {:?}", ended.code);
    match ended.code {
        Some(0) => census.assert_released("released"),
        Some(75) => census.assert_nothing("released"),
        _ => panic!("{ended:?}"),
    }
    // The remaining executor continues.
    let ended = cluster.client(&text(&arguments));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    census.assert_released("released");
    assert_eq!(census.staged("released"), Vec::<String>::new());
}

#[test]
fn an_executor_is_killed_in_the_survey() {
    kill_in("ThrongSurvey", "killed-survey", &Variables::new());
}

#[test]
fn an_executor_is_killed_in_the_shuffle() {
    kill_in("ThrongAssign", "killed-shuffle", &Variables::new());
}

#[test]
fn an_executor_is_killed_while_it_writes() {
    kill_in("ThrongWrite", "killed-write", &Variables::new());
}

#[test]
fn the_scheduler_is_killed() {
    kill_scheduler("killed-scheduler", &Variables::new());
}

/// Runs a test with the variables of a secured cluster.
fn secured(test: impl FnOnce(&Variables)) {
    let folder = tempfile::TempDir::new().unwrap();
    match credentials(folder.path()) {
        Ok(security) => test(&security),
        Err(why) => throng_testkit::skip(&why),
    }
}

#[test]
fn an_executor_of_a_secured_cluster_is_killed_in_the_shuffle() {
    secured(|security| kill_in("ThrongAssign", "secured-shuffle", security));
}

#[test]
fn an_executor_of_a_secured_cluster_is_killed_while_it_writes() {
    secured(|security| kill_in("ThrongWrite", "secured-write", security));
}

#[test]
fn the_scheduler_of_a_secured_cluster_is_killed() {
    secured(|security| kill_scheduler("secured-scheduler", security));
}

/// Kills the scheduler of a cluster with these variables in the middle of a job, which another run survives.
fn kill_scheduler(bucket: &str, security: &Variables) {
    let Some(server) = server() else { return };
    let census = Census::new(Bucket::new(server, bucket), ROWS, ROWS / 6);
    let mut cluster = Cluster::start_with(&census.bucket, 2, security);
    let arguments = census.arguments("released");
    let job = cluster.start_client(&text(&arguments));
    cluster.wait_for_task("ThrongAssign");
    cluster.kill_scheduler();
    let ended = job.wait();
    assert_eq!(ended.code, Some(75), "{ended:?}");
    census.assert_nothing("released");

    cluster.restart_scheduler();
    cluster.scheduler().wait_for("an executor has come", 2);
    let ended = cluster.client(&text(&arguments));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    census.assert_released("released");
    assert_eq!(census.staged("released"), Vec::<String>::new());
}
