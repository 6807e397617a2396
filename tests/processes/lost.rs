//! Processes that are killed or terminated.

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;
use crate::sql::{asked, embedded, rows, tables};

const QUERY: &str = "SELECT diagnosis, count(*) AS n FROM released GROUP BY diagnosis ORDER BY n, diagnosis";

#[test]
fn a_lost_executor_is_noticed_and_the_others_go_on() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "lost-executor");
    let mut cluster = Cluster::start(&bucket, 2);
    let answer = embedded(&bucket, QUERY);
    assert_eq!(asked(&cluster, &bucket, QUERY), answer);
    cluster.kill_executor(0);
    // At once, while the executor still counts as registered.
    assert_eq!(asked(&cluster, &bucket, QUERY), answer);
    cluster.scheduler().wait_for("an executor is gone", 1);
    assert_eq!(asked(&cluster, &bucket, QUERY), answer);
    cluster.start_executor();
    cluster.kill_executor(1);
    assert_eq!(asked(&cluster, &bucket, QUERY), answer);
}

/// Enough rows that the operator is still running when its process is killed.
const MANY: i64 = 60_000;

#[test]
fn an_executor_that_is_lost_in_the_middle_is_replaced() {
    let Some(server) = server() else { return };
    let bucket = Bucket::with_people(server, "lost-at-work", MANY);
    let mut cluster = Cluster::start(&bucket, 2);
    let answer = embedded(&bucket, QUERY);
    let asking = cluster.start_client(&["sql", "--format", "json", "-c", &(tables(|table| bucket.url(table)) + QUERY)]);
    let working = cluster.wait_for_executor("input read");
    cluster.kill_executor(working);
    let ended = asking.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(rows(&ended.stdout), answer);
    // The other executor has started from the beginning.
    assert_eq!(cluster.wait_for_executor("input read"), 1 - working);
}

#[test]
fn without_executors_a_query_fails_and_can_be_tried_again() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "no-executors");
    let mut cluster = Cluster::start(&bucket, 1);
    cluster.kill_executor(0);
    let statements = tables(|table| bucket.url(table)) + QUERY;
    let ended = cluster.client(&["sql", "-c", &statements]);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    cluster.start_executor();
    assert_eq!(asked(&cluster, &bucket, QUERY), embedded(&bucket, QUERY));
}

#[test]
fn a_scheduler_that_comes_back_finds_its_executors() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "lost-scheduler");
    let mut cluster = Cluster::start(&bucket, 2);
    cluster.kill_scheduler();
    let ended = cluster.client(&["sql", "-c", "SELECT 1"]);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    cluster.restart_scheduler();
    cluster.scheduler().wait_for("an executor has come", 2);
    assert_eq!(asked(&cluster, &bucket, QUERY), embedded(&bucket, QUERY));
}

#[test]
fn a_scheduler_that_is_lost_in_the_middle_ends_its_queries() {
    let Some(server) = server() else { return };
    let bucket = Bucket::with_people(server, "lost-scheduler-at-work", MANY);
    let mut cluster = Cluster::start(&bucket, 1);
    let asking = cluster.start_client(&["sql", "-c", &(tables(|table| bucket.url(table)) + QUERY)]);
    cluster.wait_for_executor("input read");
    cluster.kill_scheduler();
    let ended = asking.wait();
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert!(ended.stderr.contains("is unreachable or lost the job"), "{ended:?}");
    cluster.restart_scheduler();
    cluster.scheduler().wait_for("an executor has come", 1);
    assert_eq!(asked(&cluster, &bucket, QUERY), embedded(&bucket, QUERY));
}

#[test]
fn an_executor_without_a_scheduler_gives_up_and_leaves_nothing() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "no-scheduler");
    let mut cluster = Cluster::start(&bucket, 1);
    cluster.kill_scheduler();
    let ended = cluster.wait_for_end_of_executor(0);
    assert_eq!(ended.code, Some(75), "{ended:?}");
    assert!(ended.stderr.contains("the scheduler at 127.0.0.1:"), "{ended:?}");
    assert_eq!(std::fs::read_dir(cluster.work()).unwrap().count(), 0);
}

#[test]
fn processes_end_when_they_are_asked_to_and_leave_nothing() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "asked-to-end");
    let cluster = Cluster::start(&bucket, 2);
    assert_eq!(asked(&cluster, &bucket, QUERY), embedded(&bucket, QUERY));
    assert_eq!(std::fs::read_dir(cluster.work()).unwrap().count(), 2);
    let (ended, left) = cluster.stop();
    for process in ended {
        assert_eq!(process.code, Some(0), "{process:?}");
        assert_eq!(process.stdout.lines().last(), Some(r#"{"outcome":"success"}"#));
    }
    assert_eq!(left, Vec::<String>::new());
}
