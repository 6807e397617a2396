//! A job on a cluster writes the same bytes as in one process.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use throng_job::JobOptions;
use throng_policy::{Overrides, Policy, Secret};
use throng_synthetic::{CensusOptions, write_census};

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;

/// Default number of rows of the large test; `THRONG_CLUSTER_ROWS` overrides it.
const ROWS: u64 = 5_000_000;

/// A census in a bucket and on this machine, and the digests of its release from one process.
pub struct Census {
    pub bucket: Bucket,
    folder: TempDir,
    digests: Vec<String>,
}

impl Census {
    pub fn new(bucket: Bucket, rows: u64, rows_per_file: u64) -> Self {
        let census = Self { bucket, folder: TempDir::new().unwrap(), digests: Vec::new() };
        let options = CensusOptions::new(rows).with_files(7);
        write_census(&census.folder.path().join("census"), &options, &|_| {}).unwrap();
        census.bucket.put_folder(&census.folder.path().join("census"), "census");
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let policy = std::fs::read_to_string(configs.join("census.toml")).unwrap();
        let policy = policy.replace("hierarchies/", &format!("{}/hierarchies/", configs.display()));
        let policy = policy.replace("[output]", &format!("[output]\nrows_per_file = {rows_per_file}"));
        std::fs::write(census.policy(), policy).unwrap();
        Self { digests: census.embedded(), ..census }
    }

    pub fn policy(&self) -> PathBuf {
        self.folder.path().join("policy.toml")
    }

    /// Returns the digests of the release that one process writes.
    fn embedded(&self) -> Vec<String> {
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        let (input, output) = (Some(vec![path("census")]), Some(path("embedded")));
        let policy = Policy::load(&self.policy(), &Overrides { input, output, ..Overrides::default() }).unwrap();
        let policy = policy.with_secret(Secret::new(crate::process::SECRET).unwrap());
        let options = JobOptions { threads: 2, ..JobOptions::default() };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let released = runtime.block_on(throng_job::run(&policy, &options)).unwrap();
        released.files.into_iter().map(|file| file.sha256).collect()
    }

    /// Returns the arguments of the same run on a cluster.
    pub fn arguments(&self, output: &str) -> Vec<String> {
        let policy = self.policy().to_str().unwrap().to_owned();
        let (input, output) = (self.bucket.url("census"), self.bucket.url(output));
        ["run", &policy, "--input", &input, "--output", &output, "--overwrite", "--shuffle-partitions", "5"]
            .map(str::to_owned)
            .to_vec()
    }

    /// Returns a document of a release; `None` if there is no release.
    pub fn document(&self, output: &str, name: &str) -> Option<Value> {
        self.bucket.get(&format!("{output}/_throng/{name}")).map(|bytes| serde_json::from_slice(&bytes).unwrap())
    }

    /// Asserts that the release has the bytes of one process, and that there are no other objects.
    pub fn assert_released(&self, output: &str) {
        let manifest = self.document(output, "manifest.json").unwrap();
        let files = manifest["files"].as_array().unwrap();
        let digests: Vec<&str> = files.iter().map(|file| file["sha256"].as_str().unwrap()).collect();
        assert_eq!(digests, self.digests);
        let mut expected: Vec<String> =
            files.iter().map(|file| format!("{output}/{}", file["path"].as_str().unwrap())).collect();
        expected.extend(
            ["_SUCCESS", "_throng/manifest.json", "_throng/metrics.json"].map(|name| format!("{output}/{name}")),
        );
        expected.sort();
        let found: Vec<String> =
            self.bucket.list(output).into_iter().filter(|name| !name.contains("/_throng/staging/")).collect();
        assert_eq!(found, expected);
    }

    /// Asserts that no release is visible at an output.
    pub fn assert_nothing(&self, output: &str) {
        let found = self.bucket.list(output).into_iter().filter(|name| !name.contains("/_throng/staging/"));
        assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new());
    }

    /// Returns the staged objects at an output.
    pub fn staged(&self, output: &str) -> Vec<String> {
        self.bucket.list(&format!("{output}/_throng/staging"))
    }
}

pub fn text(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn millions_of_rows_have_the_bytes_of_one_process() {
    let Some(server) = server() else { return };
    let rows = std::env::var("THRONG_CLUSTER_ROWS").ok().map_or(ROWS, |rows| rows.parse().unwrap());
    let census = Census::new(Bucket::new(server, "millions"), rows, rows / 4 + 1);
    let cluster = Cluster::start(&census.bucket, 2);
    let arguments = census.arguments("released");
    let ended = cluster.client(&text(&arguments));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    census.assert_released("released");
    assert_eq!(census.staged("released"), Vec::<String>::new());
    let outcome: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((outcome["outcome"].as_str(), outcome["rows"].as_u64()), (Some("released"), Some(rows)));
    let metrics = census.document("released", "metrics.json").unwrap();
    let of_cluster = &metrics["resources"]["cluster"];
    for stage in ["survey", "deal", "write"] {
        assert!(of_cluster["shuffle_bytes"][stage].as_u64().unwrap() > 0, "{metrics}");
    }
    println!("{rows} rows: {} {}", metrics["timing_ms"], metrics["resources"]);
}

#[test]
fn data_files_go_to_a_folder() {
    let Some(server) = server() else { return };
    let census = Census::new(Bucket::new(server, "apart"), 3_000, 1_000);
    let text = std::fs::read_to_string(census.policy()).unwrap();
    std::fs::write(census.policy(), text.replace("[output]", "[output]\ndata_folder = \"data\"")).unwrap();
    let cluster = Cluster::start(&census.bucket, 1);
    let ended = cluster.client(&self::text(&census.arguments("released")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    census.assert_released("released");
    let files = census.bucket.list("released/data");
    assert_eq!(files.len(), 3, "{files:?}");
    assert_eq!(census.staged("released"), Vec::<String>::new());
}

#[test]
fn what_can_t_be_promised_ends_with_its_code() {
    let Some(server) = server() else { return };
    let census = Census::new(Bucket::new(server, "infeasible"), 300, 1_000);
    let cluster = Cluster::start(&census.bucket, 1);
    let mut arguments = census.arguments("released");
    arguments.extend(["-k", "301"].map(str::to_owned));
    let ended = cluster.client(&text(&arguments));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("k = 301"), "{ended:?}");
    census.assert_nothing("released");
    assert_eq!(census.staged("released"), Vec::<String>::new());
}
