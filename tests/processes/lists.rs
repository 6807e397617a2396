//! Sensitive columns of lists on a cluster: the same bytes as in one process.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use serde_json::Value;
use tempfile::TempDir;

use crate::bucket::{Bucket, server};
use crate::cluster::Cluster;
use crate::process::Process;

const FILES: i64 = 3;
const ROWS: i64 = 3_000;

/// Stays of patients, with up to four diagnoses each; some lists are empty, and some are null.
fn stays(from: i64, to: i64) -> RecordBatch {
    let names = ["I10", "E11", "J45", "C50", "B20", "F32", "K21"];
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in from..to {
        (0..row % 5).for_each(|number| lists.values().append_value(names[((row * 31 + number * 17) % 7) as usize]));
        lists.append(row % 41 != 0);
    }
    let numbers = |of: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((from..to).map(of))) as ArrayRef;
    let regions = StringArray::from_iter_values((from..to).map(|row| ["north", "south", "east"][(row % 3) as usize]));
    RecordBatch::try_from_iter([
        ("patient", numbers(|row| row / 3)),
        ("age", numbers(|row| row * 37 % 90)),
        ("region", Arc::new(regions)),
        ("diagnoses", Arc::new(lists.finish())),
    ])
    .unwrap()
}

/// Returns the same rows with narrower integers.
fn narrow(rows: &RecordBatch) -> RecordBatch {
    let schema = rows.schema();
    let column = |(field, column): (&Arc<Field>, &ArrayRef)| {
        let is_wide = field.data_type() == &DataType::Int64;
        let column = if is_wide { cast(column, &DataType::Int16).unwrap() } else { Arc::clone(column) };
        (field.name().clone(), column)
    };
    RecordBatch::try_from_iter(schema.fields().iter().zip(rows.columns()).map(column)).unwrap()
}

fn policy(privacy: &str, model: &str) -> String {
    format!(
        "version = 1\n[input]\nlocation = \"input\"\n[output]\nlocation = \"output\"\nrows_per_file = 700\n\
         [privacy]\nk = 6\np = 3\n{privacy}\n[columns]\npatient.role = \"identifier\"\nage.role = \"quasi\"\n\
         region.role = \"quasi\"\ndiagnoses = {{ role = \"sensitive\", {model} }}\n"
    )
}

/// Returns the digests of the files of a release.
fn digests(manifest: &[u8]) -> Vec<String> {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    let digest = |file: &Value| file["sha256"].as_str().unwrap().to_owned();
    manifest["files"].as_array().unwrap().iter().map(digest).collect()
}

#[test]
fn lists_of_sensitive_values_have_the_bytes_of_one_process() {
    let Some(server) = server() else { return };
    let bucket = Bucket::new(server, "lists");
    for file in 0..FILES {
        let border = |file: i64| ROWS * file / FILES;
        let rows = stays(border(file), border(file + 1));
        // The columns of one file are narrower than those of the others.
        bucket.put(&format!("stays/{file}.parquet"), &if file == 1 { narrow(&rows) } else { rows });
    }
    let cluster = Cluster::start(&bucket, 2);
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, privacy, model) in [
        ("elements", "", "p = 3"),
        ("shares", "", "p = 2, max_share = 0.6"),
        ("units", "unit = \"patient\"", "p = 2, max_share = 0.7"),
    ] {
        std::fs::write(path("policy.toml"), policy(privacy, model)).unwrap();
        let here = ["run", &path("policy.toml"), "--input", &bucket.path("stays"), "--output", &path(name)];
        let ended = Process::start(&here, &[]).wait();
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let there = ["run", &path("policy.toml"), "--input", &bucket.url("stays"), "--output", &bucket.url(name)];
        let there = [&there[..], &["--shuffle-partitions", "3"]].concat();
        let ended = cluster.client(&there);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let expected = digests(&std::fs::read(folder.path().join(name).join("_throng/manifest.json")).unwrap());
        assert!(expected.len() > 3, "{name}: {} files", expected.len());
        assert_eq!(digests(&bucket.get(&format!("{name}/_throng/manifest.json")).unwrap()), expected, "{name}");
        let metrics: Value =
            serde_json::from_slice(&bucket.get(&format!("{name}/_throng/metrics.json")).unwrap()).unwrap();
        assert_eq!(metrics["privacy"]["satisfied"], true, "{name}: {metrics}");
    }
    // An infeasible promise is refused on the cluster as in one process: no class can have eight elements with different
    // carriers.
    std::fs::write(path("policy.toml"), policy("", "p = 8")).unwrap();
    let there = ["run", &path("policy.toml"), "--input", &bucket.url("stays"), "--output", &bucket.url("refused")];
    let refused = cluster.client(&there);
    let here = ["run", &path("policy.toml"), "--input", &bucket.path("stays"), "--output", &path("refused")];
    assert_eq!(refused.code, Process::start(&here, &[]).wait().code, "{refused:?}");
    assert!(matches!(refused.code, Some(3 | 78)), "{refused:?}");
    assert_eq!(bucket.list("refused"), Vec::<String>::new());
}
