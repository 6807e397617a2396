use std::sync::Arc;

use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use url::Url;

use super::*;
use crate::manifest::FileEntry;

const RUN: &str = "11111111111111111111111111111111";
const DEAD: &str = "dddddddddddddddddddddddddddddddd";

const NOW: CleanOptions = CleanOptions { older_than: Duration::ZERO, dry_run: false };

/// Creates a release, orphans of a dead run, and unrelated files.
async fn output() -> StorePath {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let output = StorePath { store, root: Url::parse("memory:///").unwrap(), path: Path::from("out") };
    let file = FileEntry { path: format!("part-{RUN}-00000.parquet"), rows: 1, bytes: 4, sha256: String::new() };
    let manifest = Manifest::new(RUN, "p", vec![file]);
    output.store.put(&output.child(MANIFEST).path, serde_json::to_vec(&manifest).unwrap().into()).await.unwrap();
    for name in OURS.iter().chain(&LEFTOVERS).chain(&OTHERS) {
        output.store.put(&output.child(&filled(name)).path, "data".into()).await.unwrap();
    }
    // Sleeps, so that every object has an age above zero.
    std::thread::sleep(Duration::from_millis(2));
    output
}

const OURS: [&str; 3] = ["part-RUN-00000.parquet", "_throng/metrics.json", "_SUCCESS"];
const LEFTOVERS: [&str; 4] = [
    "_throng/probe/DEAD",
    "_throng/staging/DEAD/part-00000.parquet",
    "_throng/staging/DEAD/part-00001.parquet",
    "part-DEAD-00000.parquet",
];
const OTHERS: [&str; 4] =
    ["thesis.parquet", "_throng/notes.txt", "_throng/staging/mine/a.parquet", "more/part-DEAD-00000.parquet"];

fn filled(name: &str) -> String {
    name.replace("RUN", RUN).replace("DEAD", DEAD)
}

async fn names(output: &StorePath) -> Vec<String> {
    let listed: Vec<_> = output.store.list(Some(&output.path)).try_collect().await.unwrap();
    let mut names: Vec<String> =
        listed.into_iter().map(|object| object.location.as_ref().trim_start_matches("out/").to_owned()).collect();
    names.sort();
    names
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(|name| filled(name)).chain([MANIFEST.to_owned()]).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_a_dead_run_left_goes_and_nothing_else() {
    let output = output().await;
    let (removed, alive, failed) = clean_store(&output, NOW).await.unwrap();
    let expected: Vec<String> = LEFTOVERS.iter().map(|name| format!("memory:///out/{}", filled(name))).collect();
    assert_eq!((removed, alive, failed), (expected, 0, 0));
    assert_eq!(names(&output).await, sorted(&[&OURS[..], &OTHERS].concat()));
    assert_eq!(clean_store(&output, NOW).await.unwrap(), (Vec::new(), 0, 0));
}

#[tokio::test]
async fn a_dry_run_tells_the_same_and_removes_nothing() {
    let output = output().await;
    let before = names(&output).await;
    let dry = clean_store(&output, CleanOptions { dry_run: true, ..NOW }).await.unwrap();
    assert_eq!(names(&output).await, before);
    assert_eq!(dry, clean_store(&output, NOW).await.unwrap());
}

#[tokio::test]
async fn what_is_young_may_be_alive() {
    let output = output().await;
    let before = names(&output).await;
    assert_eq!(clean_store(&output, CleanOptions::default()).await.unwrap(), (Vec::new(), 1, 0));
    assert_eq!(names(&output).await, before);
}

#[tokio::test]
async fn nothing_is_removed_where_the_manifest_can_not_be_read() {
    let output = output().await;
    output.store.put(&output.child(MANIFEST).path, "{}".into()).await.unwrap();
    let before = names(&output).await;
    assert_eq!(clean_store(&output, NOW).await.unwrap_err().kind(), Kind::BadPolicy);
    assert_eq!(names(&output).await, before);
}

#[tokio::test]
async fn a_web_server_has_no_leftovers() {
    let error = clean("https://host/out", &Store::default(), NOW).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
}
