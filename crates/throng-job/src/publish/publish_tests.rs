use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use throng_core::metrics::Utility;
use throng_core::risk::ClassSizes;
use throng_core::verify::{Promise, Verifier};
use throng_report::document::{
    AlgorithmFacts, ColumnCounts, InputFacts, OutputFacts, PrivacyUnit, ReleaseFacts, ResourceFacts, RunFacts,
};
use url::Url;

use super::failing_store::{FailingStore, Fault};
use super::*;
use crate::manifest::MANIFEST;

/// Valid run ids.
const R1: &str = "11111111111111111111111111111111";
const R2: &str = "22222222222222222222222222222222";
const R3: &str = "33333333333333333333333333333333";

/// An output on an object store.
fn on(store: Arc<dyn ObjectStore>) -> StorePath {
    StorePath { store, root: Url::parse("memory:///").unwrap(), path: Path::from("out") }
}

/// An output on a fresh object store.
fn memory() -> StorePath {
    on(Arc::new(InMemory::new()))
}

/// An output on an object store with injected faults.
fn failing() -> (Arc<FailingStore>, StorePath) {
    let store = Arc::new(FailingStore::default());
    (Arc::clone(&store), on(store))
}

/// The files that every run stages.
fn files() -> Vec<FileEntry> {
    let file =
        |path: &str| FileEntry { path: path.to_owned(), rows: 1, bytes: 4, sha256: crate::write::digest(b"data") };
    vec![file("part-00000.parquet"), file("part-00001.parquet")]
}

fn run_facts(run_id: &str) -> RunFacts {
    RunFacts { run_id: run_id.to_owned(), policy_digest: "p".to_owned(), has_report: false, sampling_fraction: None }
}

fn sidecar(run_id: &str) -> Sidecar {
    let utility = Utility {
        classes: 1,
        avg: 1.0,
        dm: 1,
        ncp: 0.0,
        weighted_ncp: 0.0,
        sse_sst: None,
        information_loss: 0.0,
        columns: Vec::new(),
        bound: None,
    };
    let release = ReleaseFacts {
        input: InputFacts { rows: 2, files: 1, bytes: 8, version: None },
        output: OutputFacts { rows: 2, files: 2, bytes: 8, ..OutputFacts::default() },
        columns: ColumnCounts { unchanged: 1, ..ColumnCounts::default() },
        counts: PrivacyUnit::Rows,
        algorithm: AlgorithmFacts {
            partition: "mondrian".into(),
            cluster: "greedy".into(),
            reason: "test".into(),
            seed: 0,
            budget: "fast".to_owned(),
            leaves: 1,
            search_cycles: 0,
            workload: Vec::new(),
        },
        utility,
        cells: ClassSizes::default(),
        borrowed: throng_core::risk::BorrowedRows::default(),
        people: None,
    };
    let promise = Promise { quasi: Vec::new(), k: 1, sensitive: Vec::new(), limits: Vec::new(), unit: None };
    let findings = Verifier::new(promise, &Schema::empty()).unwrap().finish();
    Sidecar::new(
        &run_facts(run_id),
        release,
        &findings,
        ResourceFacts { threads: 1, peak_memory_bytes: None, cluster: None },
    )
}

async fn stage(output: &StorePath, mode: Mode, run_id: &str) -> Result<Staged, JobError> {
    stage_for(output, mode, Commit::Conditional, run_id).await
}

async fn stage_for(output: &StorePath, mode: Mode, commit: Commit, run_id: &str) -> Result<Staged, JobError> {
    let staged = Staged::begin(output, mode, commit, run_id).await?;
    for file in files() {
        let place = staged.place()?.child(&file.path);
        place.store.put(&place.path, "data".into()).await.unwrap();
    }
    Ok(staged)
}

async fn commit_only(staged: Staged, run_id: &str) -> Result<Committed, JobError> {
    staged
        .verified(ReadBack::of_test(files()))
        .commit(&run_facts(run_id), InputIdentity::default(), &mut || sidecar(run_id))
        .await
}

async fn commit(staged: Staged, run_id: &str) -> Result<Vec<FileEntry>, JobError> {
    Ok(commit_only(staged, run_id).await?.clean().await)
}

async fn publish(output: &StorePath, mode: Mode, run_id: &str) -> Result<Vec<FileEntry>, JobError> {
    commit(stage(output, mode, run_id).await?, run_id).await
}

async fn objects(output: &StorePath) -> Vec<String> {
    let listed: Vec<_> = output.store.list(None).try_collect().await.unwrap();
    let mut names: Vec<String> = listed.into_iter().map(|object| object.location.to_string()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_object_store_shows_unique_names_and_no_staging_after_the_commit() {
    let output = memory();
    let files = publish(&output, Mode::Error, "r1").await.unwrap();
    assert_eq!(files[0].path, "part-r1-00000.parquet");
    let expected = [
        "out/_SUCCESS",
        "out/_throng/manifest.json",
        "out/_throng/metrics.json",
        "out/part-r1-00000.parquet",
        "out/part-r1-00001.parquet",
    ];
    assert_eq!(objects(&output).await, expected);
    let found = output.store.get(&output.child(MANIFEST).path).await.unwrap().bytes().await.unwrap();
    let found: Manifest = serde_json::from_slice(&found).unwrap();
    assert_eq!(found.files, files);
}

#[tokio::test]
async fn before_the_commit_only_staging_holds_anything() {
    let output = memory();
    let staged = stage(&output, Mode::Error, "r1").await.unwrap();
    let seen = objects(&output).await;
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|name| name.starts_with("out/_throng/staging/r1/")), "{seen:?}");
    staged.abandon().await;
    assert!(objects(&output).await.is_empty());
}

#[tokio::test]
async fn of_two_runs_at_once_one_wins_and_the_other_leaves_nothing() {
    let output = memory();
    let first = stage(&output, Mode::Error, "r1").await.unwrap();
    let second = stage(&output, Mode::Error, "r2").await.unwrap();
    commit(first, "r1").await.unwrap();
    let error = commit(second, "r2").await.unwrap_err();
    assert_eq!(error.kind(), Kind::TemporaryIo);
    assert!(error.to_string().contains("another run published"), "{error}");
    let left: Vec<_> = objects(&output).await.into_iter().filter(|name| name.contains("r2")).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(objects(&output).await.len(), 5, "the first release stands");
}

#[tokio::test]
async fn an_object_store_release_is_replaced_only_when_asked_and_its_files_go() {
    let output = memory();
    publish(&output, Mode::Error, "r1").await.unwrap();
    let error = publish(&output, Mode::Error, "r2").await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    publish(&output, Mode::Overwrite, "r3").await.unwrap();
    let parts: Vec<_> = objects(&output).await.into_iter().filter(|name| name.contains("part-")).collect();
    assert_eq!(parts, ["out/part-r3-00000.parquet", "out/part-r3-00001.parquet"]);
}

#[tokio::test]
async fn objects_of_others_are_never_overwritten() {
    let output = memory();
    output.store.put(&Path::from("out/thesis.parquet"), "precious".into()).await.unwrap();
    for mode in [Mode::Error, Mode::Overwrite] {
        assert_eq!(publish(&output, mode, "r1").await.unwrap_err().kind(), Kind::BadPolicy);
    }
    assert_eq!(objects(&output).await, ["out/thesis.parquet"]);
}

/// Returns the object names of a complete release of a run.
fn complete(run_id: &str) -> Vec<String> {
    let names = ["_SUCCESS", "_throng/manifest.json", "_throng/metrics.json"].map(str::to_owned);
    let parts = ["00000", "00001"].map(|number| format!("part-{run_id}-{number}.parquet"));
    names.into_iter().chain(parts).map(|name| format!("out/{name}")).collect()
}

async fn put(output: &StorePath, name: &str) {
    output.store.put(&output.child(name).path, "data".into()).await.unwrap();
}

async fn run_of(output: &StorePath, name: &str) -> String {
    let bytes = output.store.get(&output.child(name).path).await.unwrap().bytes().await.unwrap();
    let document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    document["run_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_error_before_the_commit_leaves_nothing() {
    for (fault, suffix) in
        [(Fault::Put, "00001.parquet"), (Fault::Denied, "manifest.json"), (Fault::Half, "00000.parquet")]
    {
        let (store, output) = failing();
        let staged = stage(&output, Mode::Error, R1).await.unwrap();
        store.fail(fault, suffix, 1);
        let error = commit(staged, R1).await.unwrap_err();
        assert_eq!(error.kind(), Kind::TemporaryIo);
        assert!(objects(&output).await.is_empty(), "{suffix}");
    }
}

#[tokio::test]
async fn an_error_before_the_commit_leaves_the_old_release_complete() {
    for (fault, suffix) in
        [(Fault::Put, "00001.parquet"), (Fault::Denied, "manifest.json"), (Fault::Half, "00000.parquet")]
    {
        let (store, output) = failing();
        publish(&output, Mode::Error, R1).await.unwrap();
        let staged = stage(&output, Mode::Overwrite, R2).await.unwrap();
        store.fail(fault, suffix, 1);
        commit(staged, R2).await.unwrap_err();
        assert_eq!(objects(&output).await, complete(R1), "{suffix}");
        assert_eq!(run_of(&output, MANIFEST).await, R1);
    }
}

#[tokio::test]
async fn a_commit_that_failed_for_a_moment_is_tried_again() {
    for mode in [Mode::Error, Mode::Overwrite] {
        let (store, output) = failing();
        if mode == Mode::Overwrite {
            publish(&output, Mode::Error, R1).await.unwrap();
        }
        let staged = stage(&output, mode, R2).await.unwrap();
        store.fail(Fault::Put, "manifest.json", 2);
        commit(staged, R2).await.unwrap();
        assert_eq!(objects(&output).await, complete(R2));
    }
}

#[tokio::test]
async fn files_are_kept_while_the_store_may_still_take_their_manifest() {
    let (store, output) = failing();
    publish(&output, Mode::Error, R1).await.unwrap();
    let staged = stage(&output, Mode::Overwrite, R2).await.unwrap();
    store.fail(Fault::Put, "manifest.json", usize::MAX);
    let error = commit(staged, R2).await.unwrap_err();
    assert!(error.to_string().contains("_throng/manifest.json names the run 2222"), "{error}");
    // The manifest may still arrive and would list these files. They are verified, and there is no `_SUCCESS`.
    let left = objects(&output).await;
    assert!(complete(R2)[3..].iter().all(|part| left.contains(part)), "{left:?}");
    assert!(!left.iter().any(|name| name.ends_with("_SUCCESS") || name.contains("staging")), "{left:?}");
    assert_eq!(run_of(&output, MANIFEST).await, R1);
    // The next run restores a consistent state.
    store.heal();
    publish(&output, Mode::Overwrite, R3).await.unwrap();
    assert_eq!(objects(&output).await, complete(R3));
}

#[tokio::test]
async fn while_two_releases_are_in_a_folder_there_is_no_mark_of_success() {
    let output = memory();
    publish(&output, Mode::Error, R1).await.unwrap();
    let committed = commit_only(stage(&output, Mode::Overwrite, R2).await.unwrap(), R2).await.unwrap();
    let seen = objects(&output).await;
    assert!(complete(R1)[3..].iter().chain(&complete(R2)[3..]).all(|part| seen.contains(part)), "{seen:?}");
    assert!(!seen.iter().any(|name| name.ends_with("_SUCCESS")), "{seen:?}");
    assert_eq!(run_of(&output, MANIFEST).await, R2);
    committed.clean().await;
    assert_eq!(objects(&output).await, complete(R2));
}

#[tokio::test]
async fn old_files_that_can_not_be_removed_keep_the_mark_of_success_away() {
    let (store, output) = failing();
    publish(&output, Mode::Error, R1).await.unwrap();
    store.fail(Fault::Delete, "1111-00001.parquet", usize::MAX);
    publish(&output, Mode::Overwrite, R2).await.unwrap();
    let left = objects(&output).await;
    assert!(left.contains(&complete(R1)[4]) && !left.iter().any(|name| name.ends_with("_SUCCESS")), "{left:?}");
    store.heal();
    publish(&output, Mode::Overwrite, R3).await.unwrap();
    assert_eq!(objects(&output).await, complete(R3));
}

#[tokio::test]
async fn a_store_that_ignores_conditions_is_refused_before_anything_is_written() {
    for ignored in [Fault::IgnoreCreate, Fault::IgnoreUpdate] {
        let (store, output) = failing();
        store.fail(ignored, "", usize::MAX);
        let error = stage(&output, Mode::Error, R1).await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
        assert!(error.to_string().contains("commit = \"last-writer-wins\""), "{error}");
        assert!(objects(&output).await.is_empty(), "the probe is gone");
    }
}

#[tokio::test]
async fn without_conditions_the_last_writer_wins_and_a_slower_run_is_notified_where_that_shows() {
    let (store, output) = failing();
    store.fail(Fault::IgnoreCreate, "", usize::MAX);
    store.fail(Fault::IgnoreUpdate, "", usize::MAX);
    let stage = async |mode, run_id| stage_for(&output, mode, Commit::LastWriterWins, run_id).await.unwrap();
    commit(stage(Mode::Error, R1).await, R1).await.unwrap();
    assert_eq!(objects(&output).await, complete(R1));
    let (first, second) = (stage(Mode::Overwrite, R2).await, stage(Mode::Overwrite, R3).await);
    commit(first, R2).await.unwrap();
    let error = commit(second, R3).await.unwrap_err();
    assert!(error.to_string().contains("another run published"), "{error}");
    assert_eq!(objects(&output).await, complete(R2));
}

#[tokio::test]
async fn without_conditions_files_of_a_run_that_may_be_alive_are_kept() {
    let output = memory();
    put(&output, &format!("part-{R2}-00000.parquet")).await;
    let staged = stage_for(&output, Mode::Error, Commit::LastWriterWins, R1).await.unwrap();
    commit(staged, R1).await.unwrap();
    assert!(objects(&output).await.contains(&format!("out/part-{R2}-00000.parquet")));
}

#[tokio::test]
async fn what_completes_a_release_is_tried_again() {
    for suffix in ["metrics.json", "_SUCCESS"] {
        let (store, output) = failing();
        store.fail(Fault::Put, suffix, 3);
        publish(&output, Mode::Error, R1).await.unwrap();
        assert_eq!(objects(&output).await, complete(R1), "{suffix}");
    }
}

#[tokio::test]
async fn an_error_after_the_commit_keeps_the_release() {
    for (suffix, missing) in [("metrics.json", 2), ("_SUCCESS", 1)] {
        let (store, output) = failing();
        store.fail(Fault::Put, suffix, usize::MAX);
        let files = publish(&output, Mode::Error, R1).await.unwrap();
        assert_eq!(files.len(), 2);
        let left = objects(&output).await;
        assert_eq!(left.len(), complete(R1).len() - missing, "{left:?}");
        assert!(left.iter().all(|name| complete(R1).contains(name)), "{left:?}");
        assert!(!left.iter().any(|name| name.ends_with("_SUCCESS")), "{left:?}");
    }
}

#[tokio::test]
async fn an_old_mark_of_success_never_stands_beside_half_of_a_new_release() {
    let (store, output) = failing();
    publish(&output, Mode::Error, R1).await.unwrap();
    store.fail(Fault::Put, "metrics.json", usize::MAX);
    publish(&output, Mode::Overwrite, R2).await.unwrap();
    let expected: Vec<_> = complete(R2)
        .into_iter()
        .filter(|name| !name.ends_with("_SUCCESS") && !name.ends_with("metrics.json"))
        .collect();
    assert_eq!(objects(&output).await, expected);
    assert_eq!(run_of(&output, MANIFEST).await, R2);
}

#[tokio::test]
async fn a_run_that_loses_the_race_to_overwrite_leaves_the_winner_complete() {
    let output = memory();
    publish(&output, Mode::Error, "r0").await.unwrap();
    let first = stage(&output, Mode::Overwrite, R1).await.unwrap();
    let second = stage(&output, Mode::Overwrite, R2).await.unwrap();
    commit(first, R1).await.unwrap();
    let error = commit(second, R2).await.unwrap_err();
    assert!(error.to_string().contains("another run published"), "{error}");
    assert_eq!(objects(&output).await, complete(R1));
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_a_commit() {
    let (store, output) = failing();
    store.fail(Fault::Answer, "manifest.json", 1);
    publish(&output, Mode::Error, R1).await.unwrap();
    assert_eq!(objects(&output).await, complete(R1));
}

#[tokio::test]
async fn files_that_a_manifest_may_list_are_kept() {
    let (store, output) = failing();
    store.fail(Fault::AnswerAndGet, "manifest.json", usize::MAX);
    let error = publish(&output, Mode::Error, R1).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TemporaryIo);
    assert!(error.to_string().contains("_throng/manifest.json names the run 1111"), "{error}");
    // Only the objects that complete a release are missing.
    assert_eq!(objects(&output).await, [&complete(R1)[1..2], &complete(R1)[3..]].concat());
}

#[tokio::test]
async fn an_output_that_is_missing_is_not_a_missing_input() {
    let (store, output) = failing();
    store.fail(Fault::Absent, "manifest.json", 1);
    let error = publish(&output, Mode::Error, R1).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TemporaryIo);
    assert!(error.to_string().contains("output location"), "{error}");
}

#[tokio::test]
async fn leftovers_of_dead_runs_block_nothing_and_go_after_the_commit() {
    let dead = "dddddddddddddddddddddddddddddddd";
    for mode in [Mode::Error, Mode::Overwrite] {
        let output = memory();
        if mode == Mode::Overwrite {
            publish(&output, Mode::Error, R1).await.unwrap();
        }
        let leftover = format!("part-{dead}-00000.parquet");
        put(&output, &leftover).await;
        put(&output, &format!("_throng/staging/{dead}/part-00000.parquet")).await;
        let staged = stage(&output, mode, R2).await.unwrap();
        assert!(objects(&output).await.contains(&format!("out/{leftover}")), "not before the commit");
        commit(staged, R2).await.unwrap();
        let mut expected = complete(R2);
        // The run that staged this a moment ago may be alive.
        expected.insert(3, format!("out/_throng/staging/{dead}/part-00000.parquet"));
        assert_eq!(objects(&output).await, expected);
    }
}

#[tokio::test]
async fn what_was_staged_long_ago_goes_after_the_commit() {
    let output = on(FailingStore::aged(std::time::Duration::from_secs(25 * 60 * 60)));
    put(&output, "_throng/staging/dddddddddddddddddddddddddddddddd/part-00000.parquet").await;
    publish(&output, Mode::Error, R1).await.unwrap();
    assert_eq!(objects(&output).await, complete(R1));
}

#[tokio::test]
async fn objects_of_others_beside_a_release_are_never_touched() {
    for name in ["thesis.parquet", "part-00007.parquet", "more/part-11111111111111111111111111111111-00000.parquet"] {
        let output = memory();
        publish(&output, Mode::Error, R1).await.unwrap();
        put(&output, name).await;
        let before = objects(&output).await;
        let error = publish(&output, Mode::Overwrite, R2).await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
        assert_eq!(objects(&output).await, before);
    }
}

/// Returns every file below a folder with its content.
fn tree(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => {
                    let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                    files.insert(name, std::fs::read(path).unwrap());
                }
            }
        }
    }
    files
}

#[tokio::test]
async fn a_local_release_appears_whole_and_staging_goes() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("deep/out")).unwrap();
    let staged = stage(&output, Mode::Error, "r1").await.unwrap();
    assert!(!folder.path().join("deep/out").exists());
    commit(staged, "r1").await.unwrap();
    let names: Vec<_> = tree(folder.path()).into_keys().collect();
    let expected = [
        "deep/out/_SUCCESS",
        "deep/out/_throng/manifest.json",
        "deep/out/_throng/metrics.json",
        "deep/out/part-00000.parquet",
        "deep/out/part-00001.parquet",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn giving_up_leaves_nothing_on_the_local_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("out")).unwrap();
    drop(stage(&output, Mode::Error, "r1").await.unwrap());
    assert!(tree(folder.path()).is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_local_output_that_came_into_being_meanwhile_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("out")).unwrap();
    let (first, second) =
        (stage(&output, Mode::Error, "r1").await.unwrap(), stage(&output, Mode::Error, "r2").await.unwrap());
    commit(first, "r1").await.unwrap();
    let before = tree(folder.path().join("out").as_path());
    let error = commit(second, "r2").await.unwrap_err();
    assert_eq!(error.kind(), Kind::TemporaryIo);
    assert!(error.to_string().contains("another run published"), "{error}");
    assert_eq!(tree(folder.path().join("out").as_path()), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the first release is left");
}

#[tokio::test]
async fn a_local_release_is_replaced_in_one_step_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("out")).unwrap();
    publish(&output, Mode::Error, "r1").await.unwrap();
    publish(&output, Mode::Overwrite, "r2").await.unwrap();
    let files = tree(folder.path());
    let manifest: Manifest = serde_json::from_slice(&files["out/_throng/manifest.json"]).unwrap();
    assert_eq!(manifest.run_id, "r2");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "what was replaced is gone");
}

#[tokio::test]
async fn of_two_runs_that_overwrite_a_local_release_at_once_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("out")).unwrap();
    publish(&output, Mode::Error, R1).await.unwrap();
    let (first, second) =
        (stage(&output, Mode::Overwrite, R2).await.unwrap(), stage(&output, Mode::Overwrite, R3).await.unwrap());
    commit(first, R2).await.unwrap();
    let error = commit(second, R3).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TemporaryIo);
    assert!(error.to_string().contains("another run published"), "{error}");
    assert_eq!(run_of(&output, MANIFEST).await, R2);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the release is left");
}

#[cfg(unix)]
#[tokio::test]
async fn folders_of_dead_runs_go_when_the_next_one_begins_and_those_of_living_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("out")).unwrap();
    let dead = folder.path().join(format!(".out.throng-{R1}"));
    std::fs::create_dir(&dead).unwrap();
    std::fs::write(dead.join("part-00000.parquet"), "data").unwrap();
    let alive = stage(&output, Mode::Error, R2).await.unwrap();
    assert!(!dead.exists());
    let other = stage(&output, Mode::Error, R3).await.unwrap();
    assert!(folder.path().join(format!(".out.throng-{R2}")).exists(), "it is alive");
    drop(other);
    commit(alive, R2).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn an_output_on_the_web_is_refused() {
    let error = stage(&StorePath::parse("https://host/out").unwrap(), Mode::Error, R1).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    assert!(error.to_string().contains("can only be read"), "{error}");
}

#[tokio::test]
async fn files_of_others_are_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("thesis.tex"), "precious").unwrap();
    for mode in [Mode::Error, Mode::Overwrite] {
        let error = publish(&StorePath::local(&out).unwrap(), mode, "r1").await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
    }
    assert_eq!(tree(folder.path()).into_keys().collect::<Vec<_>>(), ["out/thesis.tex"]);
}

#[tokio::test]
async fn only_a_folder_that_is_a_release_and_nothing_else_is_overwritten() {
    let spoil: [fn(&std::path::Path); 6] = [
        |out| std::fs::write(out.join("thesis.tex"), "precious").unwrap(),
        |out| std::fs::write(out.join(".hidden"), "precious").unwrap(),
        |out| std::fs::create_dir(out.join("more")).unwrap(),
        |out| std::fs::write(out.join(MANIFEST), "{}").unwrap(),
        |out| std::fs::remove_file(out.join(MANIFEST)).unwrap(),
        |out| {
            let text = std::fs::read_to_string(out.join(MANIFEST)).unwrap();
            std::fs::write(out.join(MANIFEST), text.replace("part-00000", "../part-00000")).unwrap();
        },
    ];
    for spoil in spoil {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let output = StorePath::local(&out).unwrap();
        publish(&output, Mode::Error, R1).await.unwrap();
        let meanwhile = stage(&output, Mode::Overwrite, "meanwhile").await.unwrap();
        spoil(&out);
        let before = tree(&out);
        assert_eq!(publish(&output, Mode::Overwrite, R2).await.unwrap_err().kind(), Kind::BadPolicy);
        let error = commit(meanwhile, "meanwhile").await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy, "{error}");
        assert_eq!(tree(&out), before);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "staging is gone");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_release_is_as_readable_as_the_folder_above_and_written_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    for (above, expected) in [(0o777, 0o755), (0o1777, 0o755), (0o775, 0o755), (0o750, 0o750), (0o700, 0o700)] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(above)).unwrap();
        let out = folder.path().join("out");
        publish(&StorePath::local(&out).unwrap(), Mode::Error, R1).await.unwrap();
        assert_eq!(std::fs::metadata(out).unwrap().permissions().mode() & 0o777, expected, "{above:o}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_folder_stays_and_the_folder_gets_the_release() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("disk/real"), folder.path().join("link"));
    std::fs::create_dir_all(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let output = StorePath::local(&link).unwrap();
    let staged = stage(&output, Mode::Error, R1).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path().join("disk")).unwrap().count(), 2, "staged beside the real folder");
    commit(staged, R1).await.unwrap();
    publish(&output, Mode::Overwrite, R2).await.unwrap();
    assert!(link.is_symlink());
    assert!(!real.is_symlink());
    let found: Manifest = serde_json::from_slice(&std::fs::read(real.join(MANIFEST)).unwrap()).unwrap();
    assert_eq!(found.run_id, R2);
    assert_eq!(std::fs::read_dir(folder.path().join("disk")).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_nowhere_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("absent"), &link).unwrap();
    let error = publish(&StorePath::local(&link).unwrap(), Mode::Overwrite, R1).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadPolicy);
    assert!(link.is_symlink());
}

/// Publishes a release of two tables.
async fn publish_tables(output: &StorePath, mode: Mode, run_id: &str) -> Result<Vec<FileEntry>, JobError> {
    let tables = ["people", "visits"];
    let names = tables.map(str::to_owned).to_vec();
    let staged = Staged::begin_at(output, mode, Commit::Conditional, names, run_id).await?;
    let in_folder = |file: FileEntry, table: &str| FileEntry { path: format!("{table}/{}", file.path), ..file };
    let entries: Vec<FileEntry> =
        tables.iter().flat_map(|table| files().into_iter().map(|file| in_folder(file, table))).collect();
    for file in &entries {
        let place = staged.place()?.child(&file.path);
        place.store.put(&place.path, "data".into()).await.unwrap();
    }
    let verified = staged.verified(ReadBack::of_test(entries));
    let committed = verified.commit(&run_facts(run_id), InputIdentity::default(), &mut || sidecar(run_id)).await?;
    Ok(committed.clean().await)
}

#[tokio::test]
async fn leftovers_in_folders_of_tables_go_and_folders_of_others_are_never_touched() {
    let dead = "dddddddddddddddddddddddddddddddd";
    let in_tables = |run_id: &str| {
        let names = files().into_iter().map(|file| super::named_after_run(file, run_id).path);
        let mut names: Vec<String> =
            names.flat_map(|name| [format!("out/people/{name}"), format!("out/visits/{name}")]).collect();
        names.sort();
        names
    };
    let data = |names: Vec<String>| names.into_iter().filter(|name| name.ends_with(".parquet")).collect::<Vec<_>>();
    for mode in [Mode::Error, Mode::Overwrite] {
        let output = memory();
        if mode == Mode::Overwrite {
            publish_tables(&output, Mode::Error, R1).await.unwrap();
            assert_eq!(data(objects(&output).await), in_tables(R1));
        }
        put(&output, &format!("visits/part-{dead}-00000.parquet")).await;
        publish_tables(&output, mode, R2).await.unwrap();
        assert_eq!(data(objects(&output).await), in_tables(R2));
    }
    // A release in a folder below the output is not a table of it.
    let output = memory();
    let below = output.child("people");
    publish(&below, Mode::Error, R1).await.unwrap();
    let before = objects(&output).await;
    assert_eq!(publish_tables(&output, Mode::Overwrite, R2).await.unwrap_err().kind(), Kind::BadPolicy);
    let found = super::orphans::StoreOrphans::look(&output, None, &["people".to_owned()]).await.unwrap();
    assert!(found.unlisted.is_empty() && found.has_files_of_others, "{found:?}");
    assert_eq!(objects(&output).await, before);
}

/// Stages a release whose data files lie in a folder.
async fn stage_in_folder(output: &StorePath, mode: Mode, run_id: &str) -> Result<Staged, JobError> {
    let staged = Staged::begin_at(output, mode, Commit::Conditional, vec!["data".to_owned()], run_id).await?;
    let staged = Staged { data_folder: Some("data".to_owned()), ..staged };
    for file in files() {
        let place = staged.place()?.child(&file.path);
        place.store.put(&place.path, "data".into()).await.unwrap();
    }
    Ok(staged)
}

#[tokio::test]
async fn data_files_in_a_folder_are_replaced_with_those_beside_the_documents_and_back() {
    // The staging of a run that ended a moment ago stays.
    let is_data = |name: &String| name.ends_with(".parquet") && !name.contains("/_throng/");
    let data = |names: Vec<String>| names.into_iter().filter(is_data).collect::<Vec<_>>();
    let named = |folder: &str, run_id: &str| -> Vec<String> {
        let name = |file: FileEntry| format!("out/{folder}{}", super::named_after_run(file, run_id).path);
        files().into_iter().map(name).collect()
    };
    let output = memory();
    put(&output, &format!("data/part-{R3}-00000.parquet")).await;
    let listed = commit(stage_in_folder(&output, Mode::Error, R1).await.unwrap(), R1).await.unwrap();
    assert!(listed.iter().all(|file| file.path.starts_with("data/part-")), "{listed:?}");
    assert_eq!(data(objects(&output).await), named("data/", R1), "what a dead run left in the folder is removed");
    publish(&output, Mode::Overwrite, R2).await.unwrap();
    assert_eq!(data(objects(&output).await), named("", R2));
    commit(stage_in_folder(&output, Mode::Overwrite, R3).await.unwrap(), R3).await.unwrap();
    assert_eq!(data(objects(&output).await), named("data/", R3));
    // A run that ends between its commit and the removal of what it replaced, and a later one that removes it.
    commit_only(stage(&output, Mode::Overwrite, R1).await.unwrap(), R1).await.unwrap();
    let listed = data(objects(&output).await);
    assert!(named("data/", R3).iter().chain(&named("", R1)).all(|name| listed.contains(name)), "{listed:?}");
    publish(&output, Mode::Overwrite, R2).await.unwrap();
    assert_eq!(data(objects(&output).await), named("", R2));
    commit(stage_in_folder(&output, Mode::Overwrite, R3).await.unwrap(), R3).await.unwrap();
    stage_in_folder(&output, Mode::Overwrite, R1).await.unwrap().abandon().await;
    assert_eq!(data(objects(&output).await), named("data/", R3), "an abandoned release leaves nothing");
    // A folder with files of others is left alone.
    put(&output, "data/notes.txt").await;
    let before = objects(&output).await;
    assert_eq!(stage_in_folder(&output, Mode::Overwrite, R1).await.unwrap_err().kind(), Kind::BadPolicy);
    assert_eq!(objects(&output).await, before);
}

#[tokio::test]
async fn attempts_are_moved_into_the_folder_for_data_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = StorePath::local(&folder.path().join("out")).unwrap();
    let staged = Staged::begin_at(&output, Mode::Error, Commit::Conditional, Vec::new(), R1).await.unwrap();
    let staged = Staged { data_folder: Some("data".to_owned()), ..staged };
    let attempt = FileEntry { path: format!("part-00000-{R2}.parquet"), bytes: 4, ..FileEntry::default() };
    let place = staged.attempts().unwrap().child(&attempt.path);
    place.store.put(&place.path, "data".into()).await.unwrap();
    let taken = staged.take(vec![attempt]).await.unwrap();
    assert_eq!(taken[0].path, "part-00000.parquet");
    let verified = staged.verified(ReadBack::of_test(taken));
    verified.commit(&run_facts(R1), InputIdentity::default(), &mut || sidecar(R1)).await.unwrap().clean().await;
    assert_eq!(std::fs::read(folder.path().join("out/data/part-00000.parquet")).unwrap(), b"data");
}
