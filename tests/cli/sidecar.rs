//! `_throng/metrics.json` and `_throng/manifest.json` against independent counts.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::fixture_table::{COLUMNS, QUASI, REGIONS, people};
use crate::release_files::{Rows, data_files, read, read_file};
use crate::sandbox::Sandbox;

const K: u64 = 4;

fn document(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_manifest_lists_every_data_file_with_its_rows_size_and_digest() {
    let sandbox = Sandbox::with(&people(500), K, 2, COLUMNS);
    let outcome = sandbox.run(&[]);
    let manifest = document(&sandbox.path("out/release/_throng/manifest.json"));
    assert_eq!(keys(&manifest), ["files", "policy_digest", "run_id", "schema_version", "throng_version"]);
    assert_eq!(manifest["run_id"], outcome["run_id"]);
    let files = manifest["files"].as_array().unwrap();
    let on_disk = data_files(&sandbox.release());
    assert_eq!(files.len(), on_disk.len());
    for (entry, path) in files.iter().zip(&on_disk) {
        let bytes = fs::read(path).unwrap();
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let rows: usize = read_file(path).iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(entry["path"], path.file_name().unwrap().to_str().unwrap());
        assert_eq!(entry["bytes"], bytes.len());
        assert_eq!(entry["sha256"], digest);
        assert_eq!(entry["rows"], rows);
    }
}

#[test]
fn the_metrics_are_those_of_the_released_files() {
    let input = people(500);
    let sandbox = Sandbox::with(&input, K, 2, COLUMNS);
    let outcome = sandbox.run(&["--threads", "2"]);
    let metrics = document(&sandbox.path("out/release/_throng/metrics.json"));
    let manifest = document(&sandbox.path("out/release/_throng/manifest.json"));
    let count = Rows::of(&read(&sandbox.release())).count(&QUASI, &["diagnosis"]);

    assert_eq!(
        keys(&metrics),
        [
            "algorithm",
            "columns",
            "input",
            "output",
            "policy_digest",
            "privacy",
            "resources",
            "risk",
            "run_id",
            "schema_version",
            "throng_version",
            "timing_ms",
            "utility"
        ]
    );
    assert_eq!(metrics["schema_version"], 1);
    assert_eq!(metrics["throng_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(metrics["run_id"], outcome["run_id"]);
    assert_eq!(metrics["policy_digest"], manifest["policy_digest"]);
    assert_eq!(metrics["policy_digest"].as_str().unwrap().len(), 64);

    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let files = data_files(&sandbox.release());
    let bytes = size(&sandbox.path("input/people.parquet"));
    assert_eq!(metrics["input"], serde_json::json!({ "rows": 500, "files": 1, "bytes": bytes }));
    let bytes: u64 = files.iter().map(|file| size(file)).sum();
    let output = serde_json::json!({ "rows": 500, "files": files.len(), "bytes": bytes, "suppressed_rows": 0 });
    assert_eq!(metrics["output"], output);

    let requirements = serde_json::json!([
        { "model": "k-anonymity", "required": K, "achieved": count.smallest },
        { "model": "p-sensitivity", "column": "diagnosis", "required": 2, "achieved": count.fewest[0] },
    ]);
    let privacy = &metrics["privacy"];
    let keys_of_privacy = ["counts", "homogeneity", "insensitive", "requirements", "satisfied", "sensitive"];
    assert_eq!(keys(privacy), keys_of_privacy);
    assert_eq!((&privacy["satisfied"], &privacy["requirements"]), (&true.into(), &requirements));
    assert_eq!(privacy["homogeneity"], 0.0);
    let diversity = &privacy["sensitive"][0];
    assert_eq!(
        keys(diversity),
        ["column", "disclosures", "diversity", "fewest", "largest_share", "look_alikes", "mean", "reading"]
    );
    assert_eq!((&diversity["column"], &diversity["reading"]), (&"diagnosis".into(), &"values".into()));
    assert_eq!((&diversity["fewest"], &diversity["disclosures"]), (&count.fewest[0].into(), &0.into()));
    let mean = diversity["mean"].as_f64().unwrap();
    assert!(mean >= count.fewest[0] as f64 && mean <= 5.0, "{diversity}");

    let utility = &metrics["utility"];
    assert_eq!(
        keys(utility),
        ["avg", "class_sizes", "classes", "columns", "dm", "information_loss", "ncp", "weighted_ncp"]
    );
    assert_eq!(utility["weighted_ncp"], utility["ncp"], "all weights are the same");
    assert_eq!(utility["classes"], count.classes);
    assert_eq!(utility["dm"], count.sum_of_squares);
    assert_near(&utility["avg"], 500.0 / (count.classes as f64 * K as f64));

    let stages = ["cluster", "partition", "publish", "recode", "survey", "total", "verify", "write"];
    assert_eq!(keys(&metrics["timing_ms"]), stages);
    let times = metrics["timing_ms"].as_object().unwrap();
    let total = times["total"].as_u64().unwrap();
    assert!(times.values().all(|time| time.as_u64().unwrap() <= total), "{times:?}");
    assert_eq!(outcome["total_ms"], total);

    assert_eq!(metrics["resources"]["threads"], 2);
    if cfg!(target_os = "linux") {
        assert!(metrics["resources"]["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    }
    let algorithm = &metrics["algorithm"];
    assert_eq!(algorithm["partition"], "mondrian");
    assert_eq!(algorithm["seed"], 0);
    assert!(algorithm["cluster"].is_string() && algorithm["leaves"].as_u64().unwrap() >= 1, "{algorithm}");
}

fn assert_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

/// Returns the share of a column's domain that a label covers, and its height relative to that of the hierarchy.
fn losses(name: &str, label: &str, input: &Rows) -> (f64, f64) {
    let values = || input.column(name).iter().flatten();
    match name {
        "age" => {
            let number = |text: &str| text.parse::<f64>().unwrap();
            let (lowest, highest) = values()
                .map(|age| number(age))
                .fold((f64::MAX, f64::MIN), |(low, high), age| (low.min(age), high.max(age)));
            let ends = label.trim_matches(['[', ']']).split_once('-').unwrap_or((label, label));
            let share = (number(ends.1.trim_end_matches(']')) - number(ends.0)) / (highest - lowest);
            (share, share)
        }
        "sex" => {
            if label.starts_with('{') {
                (1.0, 1.0)
            } else {
                (0.0, 0.0)
            }
        }
        "country" => {
            let countries: usize = REGIONS.iter().map(|(_, countries)| countries.len()).sum();
            match REGIONS.iter().find(|(region, _)| *region == label) {
                Some((_, below)) => (below.len() as f64 / countries as f64, 0.5),
                None if label == "*" => (1.0, 1.0),
                None => (0.0, 0.0),
            }
        }
        "zip" => {
            let codes: std::collections::HashSet<&String> = values().collect();
            let visible = label.trim_end_matches('*');
            let below = codes.iter().filter(|code| code.starts_with(visible)).count();
            let hidden = label.len() - visible.len();
            let share = if hidden == 0 { 0.0 } else { below as f64 / codes.len() as f64 };
            (share, if label == "*" { 1.0 } else { hidden as f64 / 4.0 })
        }
        other => panic!("no such quasi-identifier: {other}"),
    }
}

#[test]
fn ncp_and_information_loss_follow_from_the_released_labels() {
    let input = people(500);
    let sandbox = Sandbox::with(&input, 12, 3, COLUMNS);
    let outcome = sandbox.run(&[]);
    let utility = document(&sandbox.path("out/release/_throng/metrics.json"))["utility"].clone();
    let (input, release) = (Rows::of(&input), Rows::of(&read(&sandbox.release())));
    let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
    for name in QUASI {
        let of_rows = release.column(name).iter().map(|label| losses(name, label.as_deref().unwrap(), &input));
        sums.insert(name, of_rows.fold((0.0, 0.0), |sum, (ncp, height)| (sum.0 + ncp, sum.1 + height)));
    }
    let mut expected_keys = QUASI.to_vec();
    expected_keys.sort_unstable();
    assert_eq!(keys(&utility["columns"]), expected_keys);
    let losing = sums.values().filter(|(ncp, _)| *ncp > 0.0).count();
    assert!(losing >= 3, "{losing} columns lose something, so that little is compared");
    for (name, (ncp, information_loss)) in &sums {
        assert_near(&utility["columns"][name]["ncp"], ncp / 500.0);
        assert_near(&utility["columns"][name]["information_loss"], *information_loss);
    }
    assert_near(&utility["ncp"], sums.values().map(|(ncp, _)| ncp).sum::<f64>() / (500.0 * QUASI.len() as f64));
    assert_near(&utility["information_loss"], sums.values().map(|(_, loss)| loss).sum());
    assert_eq!(outcome["ncp"], utility["ncp"]);
}
