//! Appends on a cluster write the same bytes as in one process, and a series is refused.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use throng_job::JobOptions;
use throng_policy::{Overrides, Policy, Secret};
use throng_synthetic::{CensusOptions, write_census};

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;

const ROWS: u64 = 20_000;

/// Two deliveries on this machine: the first, and both.
fn deliveries(folder: &Path) -> [std::path::PathBuf; 2] {
    let (first, both) = (folder.join("first"), folder.join("both"));
    write_census(&both, &CensusOptions::new(ROWS).with_files(2), &|_| {}).unwrap();
    std::fs::create_dir(&first).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&both).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    std::fs::copy(&files[0], first.join(files[0].file_name().unwrap())).unwrap();
    [first, both]
}

/// Writes the policy of the census for a mode of output.
fn policy(folder: &Path, mode: &str, more: &str) -> String {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let text = std::fs::read_to_string(configs.join("census.toml")).unwrap();
    let text = text.replace("hierarchies/", &format!("{}/hierarchies/", configs.display()));
    let text = text
        .replace("mode = \"error\"", &format!("mode = \"{mode}\""))
        .replace("[privacy]", &format!("{more}[privacy]"));
    let path = folder.join(format!("{mode}.toml"));
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn appends_have_the_bytes_of_one_process() {
    let Some(server) = server() else { return };
    let (bucket, folder) = (Bucket::new(server, "appends"), TempDir::new().unwrap());
    let policy = policy(folder.path(), "append", "");
    let cluster = Cluster::start(&bucket, 2);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let output = folder.path().join("embedded").to_str().unwrap().to_owned();
    for (times, delivery) in (1..).zip(deliveries(folder.path())) {
        let (input, output) = (Some(vec![delivery.to_str().unwrap().to_owned()]), Some(output.clone()));
        let here = Policy::load(Path::new(&policy), &Overrides { input, output, ..Overrides::default() }).unwrap();
        let here = here.with_secret(Secret::new(crate::process::SECRET).unwrap());
        let options = JobOptions { threads: 2, ..JobOptions::default() };
        let here = runtime.block_on(throng_job::append(&here, &options, Duration::ZERO)).unwrap().release.unwrap();

        bucket.put_folder(&delivery, "arrived");
        let (input, output) = (bucket.url("arrived"), bucket.url("appended"));
        let arguments = ["run", &policy, "--input", &input, "--output", &output, "--shuffle-partitions", "3"];
        let ended = cluster.client(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let outcome: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert_eq!((&outcome["append"]["appends"], &outcome["append"]["new_files"]), (&times.into(), &1.into()));
        let manifest: Value = serde_json::from_slice(&bucket.get("appended/_throng/manifest.json").unwrap()).unwrap();
        let files = manifest["files"].as_array().unwrap();
        let there: Vec<&str> = files.iter().map(|file| file["sha256"].as_str().unwrap()).collect();
        assert_eq!(there, here.files.iter().map(|file| file.sha256.as_str()).collect::<Vec<_>>());
        let again = cluster.client(&arguments);
        assert!(again.code == Some(0) && again.stdout.contains("\"unchanged\":true"), "{again:?}");
    }
}

#[test]
fn a_series_is_refused_by_name() {
    let Some(server) = server() else { return };
    let (bucket, folder) = (Bucket::new(server, "nights"), TempDir::new().unwrap());
    let ledger = folder.path().join("ledger");
    let more = format!("[series]\nledger = \"{}\"\n", ledger.display());
    let policy = policy(folder.path(), "series", &more);
    let text = std::fs::read_to_string(&policy).unwrap().replace("[privacy]\n", "[privacy]\nunit = \"person_id\"\n");
    std::fs::write(&policy, text).unwrap();
    let cluster = Cluster::start(&bucket, 1);
    let (input, output) = (bucket.url("arrived"), bucket.url("nights"));
    let ended = cluster.client(&["run", &policy, "--input", &input, "--output", &output]);
    assert_eq!(ended.code, Some(78), "{ended:?}");
    assert!(ended.stderr.contains("a series of releases is made in one process"), "{ended:?}");
    assert!(!ledger.exists());
}
