use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use throng_core::metrics::Utility;
use url::Url;

use super::*;
use crate::sidecar::{AlgorithmFacts, InputFacts, OutputFacts, PrivacyFacts, ResourceFacts, RunFacts};

/// An output on a fresh object store.
fn memory() -> Place {
    Place { store: Arc::new(InMemory::new()), root: Url::parse("memory:///").unwrap(), path: Path::from("out") }
}

fn manifest(run_id: &str) -> Manifest {
    let file =
        |path: &str| FileEntry { path: path.to_owned(), rows: 1, bytes: 4, sha256: crate::write::digest(b"data") };
    Manifest {
        schema_version: 1,
        throng_version: "0".to_owned(),
        run_id: run_id.to_owned(),
        policy_digest: "p".to_owned(),
        files: vec![file("part-00000.parquet"), file("part-00001.parquet")],
    }
}

fn sidecar(run_id: &str) -> Sidecar {
    let utility = Utility { classes: 1, avg: 1.0, dm: 1, ncp: 0.0, information_loss: 0.0, columns: Vec::new() };
    Sidecar::new(
        &RunFacts { run_id: run_id.to_owned(), policy_digest: "p".to_owned() },
        InputFacts { rows: 2, files: 1, bytes: 8 },
        OutputFacts { rows: 2, files: 2, bytes: 8, suppressed_rows: 0 },
        PrivacyFacts { satisfied: true, requirements: Vec::new() },
        utility,
        AlgorithmFacts { partition: "mondrian", cluster: "greedy", reason: "test", seed: 0, leaves: 1 },
        ResourceFacts { threads: 1, peak_memory_bytes: None },
    )
}

async fn stage(output: &Place, mode: Mode, run_id: &str) -> Result<Staging, JobError> {
    let staging = Staging::begin(output, mode, run_id).await?;
    for file in manifest(run_id).files {
        let place = staging.place()?.child(&file.path);
        place.store.put(&place.path, "data".into()).await.unwrap();
    }
    Ok(staging)
}

async fn publish(output: &Place, mode: Mode, run_id: &str) -> Result<Vec<FileEntry>, JobError> {
    let staging = stage(output, mode, run_id).await?;
    staging.commit(manifest(run_id), &mut || sidecar(run_id)).await
}

async fn objects(output: &Place) -> Vec<String> {
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
    let staging = stage(&output, Mode::Error, "r1").await.unwrap();
    let seen = objects(&output).await;
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|name| name.starts_with("out/_throng/staging/r1/")), "{seen:?}");
    staging.abandon().await;
    assert!(objects(&output).await.is_empty());
}

#[tokio::test]
async fn of_two_runs_at_once_one_wins_and_the_other_leaves_nothing() {
    let output = memory();
    let first = stage(&output, Mode::Error, "r1").await.unwrap();
    let second = stage(&output, Mode::Error, "r2").await.unwrap();
    first.commit(manifest("r1"), &mut || sidecar("r1")).await.unwrap();
    let error = second.commit(manifest("r2"), &mut || sidecar("r2")).await.unwrap_err();
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

/// Every file below a folder with its content.
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
    let output = Place::local(&folder.path().join("deep/out")).unwrap();
    let staging = stage(&output, Mode::Error, "r1").await.unwrap();
    assert!(!folder.path().join("deep/out").exists());
    staging.commit(manifest("r1"), &mut || sidecar("r1")).await.unwrap();
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
    let output = Place::local(&folder.path().join("out")).unwrap();
    drop(stage(&output, Mode::Error, "r1").await.unwrap());
    assert!(tree(folder.path()).is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_local_output_that_came_into_being_meanwhile_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let output = Place::local(&folder.path().join("out")).unwrap();
    let (first, second) =
        (stage(&output, Mode::Error, "r1").await.unwrap(), stage(&output, Mode::Error, "r2").await.unwrap());
    first.commit(manifest("r1"), &mut || sidecar("r1")).await.unwrap();
    let before = tree(folder.path().join("out").as_path());
    assert_eq!(second.commit(manifest("r2"), &mut || sidecar("r2")).await.unwrap_err().kind(), Kind::BadPolicy);
    assert_eq!(tree(folder.path().join("out").as_path()), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the first release is left");
}

#[tokio::test]
async fn a_local_release_is_replaced_in_one_step_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let output = Place::local(&folder.path().join("out")).unwrap();
    publish(&output, Mode::Error, "r1").await.unwrap();
    publish(&output, Mode::Overwrite, "r2").await.unwrap();
    let files = tree(folder.path());
    let manifest: Manifest = serde_json::from_slice(&files["out/_throng/manifest.json"]).unwrap();
    assert_eq!(manifest.run_id, "r2");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "what was replaced is gone");
}

#[tokio::test]
async fn files_of_others_are_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("thesis.tex"), "precious").unwrap();
    for mode in [Mode::Error, Mode::Overwrite] {
        let error = publish(&Place::local(&out).unwrap(), mode, "r1").await.unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
    }
    assert_eq!(tree(folder.path()).into_keys().collect::<Vec<_>>(), ["out/thesis.tex"]);
}
