use std::path::Path;

use datafusion::prelude::{SessionConfig, SessionContext};
use throng_policy::{Mode, Overrides, Policy, Secret};

use super::*;
use crate::job::{JobOptions, PublishedRelease, append, append_on, run, run_on};
use throng_synthetic::{CensusOptions, write_census};

/// A local session in place of a compute cluster: its tasks share no state.
fn cluster(partitions: usize) -> Cluster {
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(1000);
    Cluster { session: SessionContext::new_with_config(config), partitions }
}

fn options() -> JobOptions {
    JobOptions { threads: 2, ..JobOptions::default() }
}

struct Workplace {
    folder: tempfile::TempDir,
}

impl Workplace {
    fn new(rows: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let census = CensusOptions::new(rows).with_files(3);
        write_census(&folder.path().join("census"), &census, &|_| {}).unwrap();
        Self { folder }
    }

    fn policy(&self, output: &str, change: impl Fn(&mut Policy)) -> Policy {
        let overrides = Overrides {
            input: Some(vec![self.folder.path().join("census").to_str().unwrap().to_owned()]),
            output: Some(self.folder.path().join(output).to_str().unwrap().to_owned()),
            ..Overrides::default()
        };
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/census.toml");
        let secret = Secret::new("the same secret in every test").unwrap();
        let mut policy = Policy::load(&configs, &overrides).unwrap().with_secret(secret);
        change(&mut policy);
        policy
    }

    /// Returns the names of all entries other than the census.
    fn outputs(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "census").collect();
        names.sort();
        names
    }
}

fn digests(released: &PublishedRelease) -> Vec<(String, u64, String)> {
    released.files.iter().map(|file| (file.path.clone(), file.rows, file.sha256.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_gives_the_bytes_of_one_process() {
    let work = Workplace::new(20_000);
    // File boundaries fall inside classes and inside row groups.
    let files = |policy: &mut Policy| policy.output.rows_per_file = 1_333;
    let here = run(&work.policy("here", files), &options()).await.unwrap();
    assert_eq!(here.files.len(), 16);
    for partitions in [1, 3, 8] {
        let output = format!("there-{partitions}");
        let there = run_on(&cluster(partitions), &work.policy(&output, files), &options()).await.unwrap();
        assert_eq!(digests(&there), digests(&here));
        let (one, other) = (&here.sidecar, &there.sidecar);
        assert_eq!(serde_json::to_value(&one.utility).unwrap(), serde_json::to_value(&other.utility).unwrap());
        assert!(one.privacy.insensitive.is_some());
        assert_eq!(serde_json::to_value(&one.privacy).unwrap(), serde_json::to_value(&other.privacy).unwrap());
        assert_eq!(serde_json::to_value(&one.risk).unwrap(), serde_json::to_value(&other.risk).unwrap());
        let cluster = other.resources.cluster.as_ref().unwrap();
        assert!(cluster.groups > 1000 && cluster.shuffle_bytes.values().all(|bytes| *bytes > 0), "{cluster:?}");
    }
    // Attempts and release plans have been removed.
    assert_eq!(work.outputs(), ["here", "there-1", "there-3", "there-8"]);
    let mut names: Vec<_> = std::fs::read_dir(work.folder.path().join("there-3"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names.len(), 16 + 2, "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_counts_units_as_one_process_does() {
    let work = Workplace::new(6_000);
    let by_unit = |policy: &mut Policy| {
        policy.output.rows_per_file = 777;
        policy.privacy.unit = ["region", "household_size", "hours"].map(str::to_owned).to_vec();
    };
    let here = run(&work.policy("here", by_unit), &options()).await.unwrap();
    let there = run_on(&cluster(3), &work.policy("there", by_unit), &options()).await.unwrap();
    assert_eq!(digests(&there), digests(&here));
    let requirements =
        |release: &PublishedRelease| serde_json::to_value(&release.sidecar.privacy.requirements).unwrap();
    assert_eq!(requirements(&there), requirements(&here));
    assert_eq!(there.sidecar.privacy.counts, throng_report::document::PrivacyUnit::Units);
    // Units were stored next to the attempts, and have been removed.
    let names = std::fs::read_dir(work.folder.path().join("there")).unwrap();
    assert!(names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).all(|name| !name.contains("units")));
    assert_eq!(work.outputs(), ["here", "there"]);
    // Without units the classes differ.
    let rows = |policy: &mut Policy| policy.output.rows_per_file = 777;
    assert_ne!(digests(&run(&work.policy("rows", rows), &options()).await.unwrap()), digests(&here));
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_on_a_cluster_have_the_bytes_of_one_process() {
    let work = Workplace::new(6_000);
    let census = work.folder.path().join("census");
    let mut deliveries: Vec<_> = std::fs::read_dir(&census).unwrap().map(|entry| entry.unwrap().path()).collect();
    deliveries.sort();
    let late = work.folder.path().join("late.parquet");
    std::fs::rename(deliveries.last().unwrap(), &late).unwrap();
    let appended = |policy: &mut Policy| policy.output.mode = Mode::Append;
    let (here, there) = (work.policy("here", appended), work.policy("there", appended));
    let mut bytes = Vec::new();
    for delivery in 1..3_u64 {
        let one = append(&here, &options(), std::time::Duration::ZERO).await.unwrap();
        let other = append_on(&cluster(3), &there, &options()).await.unwrap();
        let (one, other) = (one.release.unwrap(), other.release.unwrap());
        let of = |release: &PublishedRelease| -> Vec<String> {
            release.files.iter().map(|file| file.sha256.clone()).collect()
        };
        assert_eq!(of(&other), of(&one));
        assert_eq!(other.sidecar.append, one.sidecar.append);
        assert_eq!(other.sidecar.append.unwrap().appends, delivery);
        assert!(other.sidecar.resources.cluster.is_some());
        bytes.push(of(&other));
        if delivery == 1 {
            std::fs::rename(&late, census.join("late.parquet")).unwrap();
        }
    }
    assert!(bytes[1].starts_with(&bytes[0]) && bytes[1].len() > bytes[0].len(), "{bytes:?}");
    assert!(append_on(&cluster(3), &there, &options()).await.unwrap().release.is_none());
    assert_eq!(work.outputs(), ["here", "there"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_t_be_promised_is_refused_in_the_same_words() {
    let work = Workplace::new(500);
    for (output, change) in [("k", 501), ("p", 400)] {
        let ask = |policy: &mut Policy| match output {
            "k" => policy.privacy.k = change,
            _ => (policy.privacy.k, policy.privacy.p) = (change, change),
        };
        let here = run(&work.policy(output, ask), &options()).await.unwrap_err();
        let there = run_on(&cluster(2), &work.policy(output, ask), &options()).await.unwrap_err();
        assert_eq!((there.kind(), there.to_string()), (here.kind(), here.to_string()));
        assert_eq!(there.kind(), Kind::Infeasible);
    }
    assert!(work.outputs().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_examines_a_release_as_one_process_does() {
    let work = Workplace::new(5_000);
    let limited = |uniqueness: f64, k_map: u64| {
        let table = work.folder.path().join("census").to_str().unwrap().to_owned();
        move |policy: &mut Policy| {
            policy.privacy.guards.insensitive_uniqueness = Some(uniqueness);
            policy.privacy.population = Some(throng_policy::PopulationSettings {
                source: throng_policy::PopulationSource::Table(vec![table.clone()]),
                k_map: Some(k_map),
                delta_min: None,
                delta_max: None,
            });
        }
    };
    let here = run(&work.policy("here", limited(1.0, 2)), &options()).await.unwrap();
    let there = run_on(&cluster(3), &work.policy("there", limited(1.0, 2)), &options()).await.unwrap();
    assert_eq!(serde_json::to_value(&here.sidecar.risk).unwrap(), serde_json::to_value(&there.sidecar.risk).unwrap());
    assert_eq!(here.warnings, there.warnings);
    let exposed = here.sidecar.privacy.insensitive.as_ref().unwrap();
    assert_eq!(Some(exposed), there.sidecar.privacy.insensitive.as_ref());
    for (name, limit) in [("exposed", limited(0.0, 2)), ("few", limited(1.0, 5_001))] {
        let here = run(&work.policy(name, &limit), &options()).await.unwrap_err();
        let there = run_on(&cluster(3), &work.policy(name, &limit), &options()).await.unwrap_err();
        assert_eq!((there.kind(), there.to_string()), (here.kind(), here.to_string()));
        assert_eq!(there.kind(), Kind::Infeasible);
    }
    assert_eq!(work.outputs(), ["here", "there"]);
}
