//! Nights of a series on a cluster: the bytes of one process, and a ledger that only the driver sees.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use throng_synthetic::{CensusOptions, write_census};

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;
use crate::process::{Ended, PATIENCE, Process};

/// Number of rows of a night; `THRONG_CLUSTER_ROWS` overrides it.
const ROWS: u64 = 200_000;

/// Number of rows of a night in which an executor is killed.
const FEW: u64 = 100_000;

/// Files of a delivery. Each night the first file of the previous night is gone, and another has been added.
const FILES: usize = 25;
const NIGHTS: usize = 4;

/// Key of the ledger, which no process of the cluster has.
const LEDGER_KEY: &str = "the key of the ledger, which the driver alone has";

/// A series on a cluster, and the same series in one process.
struct Series {
    bucket: Bucket,
    folder: TempDir,
    rows: u64,
}

impl Series {
    fn new(bucket: Bucket, rows: u64) -> Self {
        let series = Self { bucket, folder: TempDir::new().unwrap(), rows };
        let files = FILES + NIGHTS;
        let census = CensusOptions::new(rows * files as u64 / FILES as u64).with_files(files);
        write_census(&series.path("census"), &census, &|_| {}).unwrap();
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(series.path("census")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for night in 0..NIGHTS {
            let delivery = series.path(&format!("night-{night}"));
            std::fs::create_dir(&delivery).unwrap();
            for file in &files[night..night + FILES] {
                std::fs::copy(file, delivery.join(file.file_name().unwrap())).unwrap();
            }
            series.bucket.put_folder(&delivery, &format!("night-{night}"));
        }
        series.write_policy("here.toml", &series.text("released"), &series.text("ledger"));
        series.write_policy("there.toml", &series.bucket.url("released"), &series.bucket.url("ledger"));
        series
    }

    fn write_policy(&self, name: &str, output: &str, ledger: &str) {
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let text = std::fs::read_to_string(configs.join("census.toml")).unwrap();
        let text = text
            .replace("hierarchies/", &format!("{}/hierarchies/", configs.display()))
            .replace("out/census/", output)
            .replace("mode = \"error\"", &format!("mode = \"series\"\nrows_per_file = {}", self.rows / 3))
            .replace("[privacy]\n", &format!("[series]\nledger = \"{ledger}\"\n[privacy]\nunit = \"person_id\"\n"));
        std::fs::write(self.path(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Returns the environment of a driver.
    fn environment(&self) -> Vec<(&'static str, String)> {
        [self.bucket.environment(), vec![("THRONG_LEDGER_KEY", LEDGER_KEY.to_owned())]].concat()
    }

    /// Releases a night in one process, and returns the digests of its files.
    fn night_here(&self, night: usize) -> Vec<String> {
        let (policy, input) = (self.text("here.toml"), self.text(&format!("night-{night}")));
        let arguments = ["run", &policy, "--input", &input];
        let ended = Process::start(&arguments, &self.environment()).wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        digests(&std::fs::read(self.path("released/_throng/manifest.json")).unwrap())
    }

    /// Returns the arguments of the same night on the cluster, or in one process with the same locations.
    fn arguments(&self, night: usize, more: &[&str]) -> Vec<String> {
        let (policy, input) = (self.text("there.toml"), self.bucket.url(&format!("night-{night}")));
        let arguments = [&["run", &policy, "--input", &input][..], more].concat();
        arguments.into_iter().map(str::to_owned).collect()
    }

    fn start_there(&self, cluster: &Cluster, night: usize, more: &[&str]) -> Process {
        let arguments = self.arguments(night, &[&["--shuffle-partitions", "3"], more].concat());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        cluster.start_client_in(&arguments, &self.environment())
    }

    /// Releases a night on the cluster.
    fn night_there(&self, cluster: &Cluster, night: usize, more: &[&str]) -> Value {
        let ended = self.start_there(cluster, night, more).wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_no_key(&ended);
        serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap()
    }

    /// Returns the digests of the current release in the bucket.
    fn standing(&self) -> Vec<String> {
        digests(&self.bucket.get("released/_throng/manifest.json").unwrap())
    }

    /// Verifies the current release in the bucket against its ledger.
    fn verify(&self) -> Value {
        let (policy, output) = (self.text("there.toml"), self.bucket.url("released"));
        let arguments = ["verify", &output, "--policy", &policy, "--ledger"];
        let ended = Process::start(&arguments, &self.environment()).wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap()
    }

    /// Runs a night on the cluster, and returns the names of all objects that were seen meanwhile.
    fn watched_night(&self, cluster: &Cluster, night: usize) -> BTreeSet<String> {
        let (mut job, mut seen) = (self.start_there(cluster, night, &[]), BTreeSet::new());
        while !job.has_ended() {
            seen.extend(["released", "ledger"].iter().flat_map(|folder| self.bucket.list(folder)));
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = job.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        seen
    }
}

fn digests(manifest: &[u8]) -> Vec<String> {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    let files = manifest["files"].as_array().unwrap();
    files.iter().map(|file| file["sha256"].as_str().unwrap().to_owned()).collect()
}

fn assert_no_key(ended: &Ended) {
    assert!(!ended.stdout.contains(LEDGER_KEY) && !ended.stderr.contains(LEDGER_KEY), "{ended:?}");
}

/// Returns all files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.filter_map(|entry| Some(below(entry.ok()?.path()))).flatten().collect()
}

#[test]
fn a_series_has_the_bytes_of_one_process() {
    let Some(server) = server() else { return };
    let rows = std::env::var("THRONG_CLUSTER_ROWS").ok().map_or(ROWS, |rows| rows.parse().unwrap());
    let series = Series::new(Bucket::new(server, "series"), rows);
    let cluster = Cluster::start(&series.bucket, 2);
    for night in 0..3 {
        let expected = series.night_here(night);
        if night == 1 {
            let seen = series.watched_night(&cluster, night);
            assert!(seen.iter().any(|name| name.contains("/staging/")), "nothing was seen while it was staged");
            for name in seen {
                let is_ledger = name.starts_with("ledger/ledger-") || name == "ledger/current";
                let is_secret = ["ledger", "plan", "units"].iter().any(|what| name.contains(what));
                assert!(is_ledger || !is_secret, "{name}");
            }
        } else {
            let outcome = series.night_there(&cluster, night, &[]);
            assert_eq!(outcome["outcome"], "released");
        }
        assert_eq!(series.standing(), expected, "night {night}");
        let verified = series.verify();
        assert_eq!((&verified["satisfied"], &verified["ledger"]["releases"]), (&true.into(), &(night + 1).into()));
    }
    let metrics: Value = serde_json::from_slice(&series.bucket.get("released/_throng/metrics.json").unwrap()).unwrap();
    assert!(metrics["series"]["shown_on"].as_u64().unwrap() > 0, "nobody who left is shown on: {metrics}");
    assert!(metrics["series"]["come"].as_u64().unwrap() > 0, "nobody has come: {metrics}");
    let of_cluster = &metrics["resources"]["cluster"];
    assert!(of_cluster["partitions"] == 3 && of_cluster["shuffle_bytes"]["survey"].as_u64().unwrap() > 0, "{metrics}");
    assert!(metrics["resources"]["peak_memory_bytes"].as_u64().unwrap() > 0);

    // Neither the key nor the ledger reaches a process of the cluster.
    let logs = cluster.logs();
    assert!(!logs.contains(LEDGER_KEY) && !logs.contains("ledger"), "{logs}");
    for file in files_below(cluster.work()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let has = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
        assert!(!has(LEDGER_KEY.as_bytes()) && !has(b"series key"), "{}", file.display());
    }

    // One process can continue the series of the cluster, so the ledger is the same.
    let expected = series.night_here(3);
    let arguments = series.arguments(3, &[]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = Process::start(&arguments, &series.environment()).wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(series.standing(), expected);

    let begun = series.night_there(&cluster, 0, &["--rebase"]);
    assert_eq!((&begun["rows"], &begun["suppressed_rows"]), (&rows.into(), &0.into()));
    assert_eq!(series.verify()["ledger"]["releases"], 1);
}

#[test]
fn a_night_in_which_an_executor_is_killed_leaves_the_old_release_or_the_new_one() {
    let Some(server) = server() else { return };
    let series = Series::new(Bucket::new(server, "killed-nights"), FEW);
    let expected: Vec<Vec<String>> = (0..3).map(|night| series.night_here(night)).collect();
    let mut cluster = Cluster::start(&series.bucket, 2);
    series.night_there(&cluster, 0, &[]);
    assert_eq!(series.standing(), expected[0]);
    // While rows are read, which is not a named task, and while files are verified.
    for (night, task) in [(1, None), (2, Some("ThrongVerify"))] {
        cluster.start_executor();
        let begun = |cluster: &Cluster| task.map_or_else(Vec::new, |task| cluster.begun(task));
        let (before, files) = (begun(&cluster), files_below(cluster.work()).len());
        let job = series.start_there(&cluster, night, &[]);
        let since = Instant::now();
        let number = loop {
            assert!(since.elapsed() < PATIENCE, "night {night}: {}", cluster.logs());
            let number = begun(&cluster).iter().zip(&before).position(|(now, before)| now > before);
            let has_read = task.is_none() && files_below(cluster.work()).len() > files;
            if let Some(number) = number.or(has_read.then_some(0)) {
                break number;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        cluster.kill_executor(number);
        let ended = job.wait();
        println!("night {night}: {:?}", ended.code);
        match ended.code {
            Some(0) => assert_eq!(series.standing(), expected[night]),
            Some(75) => {
                assert_eq!(series.standing(), expected[night - 1]);
                assert_eq!(series.verify()["ledger"]["releases"], night);
                series.night_there(&cluster, night, &[]);
                assert_eq!(series.standing(), expected[night]);
            }
            _ => panic!("{ended:?}"),
        }
        assert_eq!(series.verify()["ledger"]["releases"], night + 1);
    }
}
