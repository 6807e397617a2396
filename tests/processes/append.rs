//! Appends on a cluster write the same bytes as in one process.

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

/// Writes the policy of the census for appends.
fn policy(folder: &Path) -> String {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let text = std::fs::read_to_string(configs.join("census.toml")).unwrap();
    let text = text.replace("hierarchies/", &format!("{}/hierarchies/", configs.display()));
    let text = text.replace("mode = \"error\"", "mode = \"append\"");
    let path = folder.join("append.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn appends_have_the_bytes_of_one_process() {
    let Some(server) = server() else { return };
    let (bucket, folder) = (Bucket::new(server, "appends"), TempDir::new().unwrap());
    let policy = policy(folder.path());
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
