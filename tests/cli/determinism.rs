//! Same rows, policy and seed: same bytes, regardless of the order and the files in which rows arrive.

use std::collections::BTreeMap;
use std::fs;

use arrow::array::RecordBatch;
use sha2::{Digest, Sha256};

use crate::fixture_table::{COLUMNS, KEPT, QUASI, people};
use crate::release_files::{Rows, data_files, multiset, read};
use crate::sandbox::Sandbox;
use crate::tables::{pieces, shuffled, write_csv, write_ipc, write_parquet};

const K: u64 = 5;

/// Returns the data files of a release by name.
fn release_bytes(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let files = data_files(&sandbox.release()).into_iter();
    files.map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&file).unwrap())).collect()
}

fn policy_digest(sandbox: &Sandbox) -> String {
    let metrics = fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&metrics).unwrap()["policy_digest"].as_str().unwrap().to_owned()
}

fn of_parquet(batches: &[RecordBatch], more: &[&str]) -> (BTreeMap<String, Vec<u8>>, String) {
    let sandbox = Sandbox::new();
    for (number, batch) in batches.iter().enumerate() {
        // Names whose order differs from the order of the rows.
        write_parquet(&sandbox.path(&format!("input/{}.parquet", (number * 7 + 3) % 10)), batch);
    }
    sandbox.policy(K, 2, COLUMNS);
    sandbox.run(more);
    (release_bytes(&sandbox), policy_digest(&sandbox))
}

#[test]
fn threads_files_and_the_order_of_rows_do_not_change_a_byte() {
    let people = people(3000);
    let expected = of_parquet(std::slice::from_ref(&people), &["--threads", "1"]);
    assert!(!expected.0.is_empty());
    assert_eq!(of_parquet(std::slice::from_ref(&people), &["--threads", "2"]), expected, "two threads");
    assert_eq!(of_parquet(&pieces(&people, 10), &["--threads", "2"]), expected, "ten files");
    assert_eq!(of_parquet(&[shuffled(&people, 1)], &["--threads", "2"]), expected, "shuffled");
    assert_eq!(of_parquet(&pieces(&shuffled(&people, 2), 10), &["--threads", "3"]), expected, "shuffled in ten files");
}

#[test]
fn a_census_is_released_in_the_same_bytes_with_one_thread_and_with_two() {
    let sandbox = Sandbox::new();
    let generated = ["generate", "census", "--rows", "20000", "-o", "input", "--overwrite"];
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/census.toml");
    let mut releases = Vec::new();
    for (threads, files) in [("1", "1"), ("2", "4")] {
        sandbox.throng(&[&generated[..], &["--files", files]].concat()).done();
        let run = ["run", policy, "--input", "input", "--output", "out/release", "--overwrite", "--threads", threads];
        sandbox.throng(&run).done();
        releases.push(release_bytes(&sandbox));
    }
    assert!(releases[0] == releases[1], "the bytes differ");
}

/// Digests of releases, one line each: name, file, SHA-256.
const DIGESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/files/digests.txt");

/// A code change that must not affect releases is checked against these bytes. After an intended change, run
/// `THRONG_WRITE_DIGESTS=1 cargo test --workspace --test cli releases_have_the_recorded_bytes`.
#[test]
fn releases_have_the_recorded_bytes() {
    let settings: [(&str, &[&str]); 4] = [
        ("balanced", &[]),
        ("fast", &["--budget", "fast"]),
        ("thorough", &["--budget", "thorough", "-k", "7", "-p", "3"]),
        ("seed", &["--seed", "9"]),
    ];
    let mut found = String::new();
    for (name, more) in settings {
        for (file, bytes) in of_parquet(&pieces(&people(3000), 3), more).0 {
            let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            found.push_str(&format!("{name} {file} {digest}\n"));
        }
    }
    if std::env::var_os("THRONG_WRITE_DIGESTS").is_some() {
        fs::write(DIGESTS, found).unwrap();
        return;
    }
    assert_eq!(found, fs::read_to_string(DIGESTS).unwrap());
}

#[test]
fn parquet_csv_and_arrow_files_of_the_same_rows_give_the_same_bytes() {
    let people = people(600);
    let (expected, _) = of_parquet(std::slice::from_ref(&people), &[]);
    for name in ["people.csv", "people.arrow"] {
        let sandbox = Sandbox::new();
        let path = sandbox.path("input").join(name);
        if name.ends_with("csv") {
            write_csv(&path, &people)
        } else {
            write_ipc(&path, &people)
        }
        sandbox.policy(K, 2, COLUMNS);
        sandbox.run(&[]);
        assert!(release_bytes(&sandbox) == expected, "{name} gives other bytes than Parquet");
    }
}

/// Text encodings, the width of offsets, and the width of generalized integers depend only on the writer.
#[test]
fn the_types_in_which_values_are_stored_do_not_change_a_byte() {
    use arrow::array::{ArrayRef, AsArray};
    use arrow::compute::cast;
    use arrow::datatypes::DataType::{self, Dictionary, Int16, Int32, LargeUtf8, UInt8, Utf8, Utf8View};
    let people = people(600);
    let released = |text: &DataType, number: &DataType| {
        let column = |(field, column): (&std::sync::Arc<arrow::datatypes::Field>, &ArrayRef)| {
            let is_generalized = QUASI.contains(&field.name().as_str());
            let stored = match field.data_type() {
                Utf8 => cast(column, text).unwrap(),
                whole if is_generalized && whole.is_integer() => cast(column, number).unwrap(),
                _ => column.clone(),
            };
            assert_eq!(stored.null_count(), column.null_count());
            (field.name().clone(), stored, true)
        };
        let columns = people.schema_ref().fields().iter().zip(people.columns()).map(column);
        let stored = RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap();
        assert!(stored.columns().iter().any(|column| column.as_string_opt::<i32>().is_some()) == (text == &Utf8));
        let sandbox = Sandbox::new();
        write_ipc(&sandbox.path("input/people.arrow"), &stored);
        sandbox.policy(K, 2, COLUMNS);
        sandbox.run(&[]);
        release_bytes(&sandbox)
    };
    let expected = released(&Utf8, &DataType::Int64);
    for text in [LargeUtf8, Utf8View, Dictionary(Box::new(Int32), Box::new(Utf8))] {
        assert!(released(&text, &DataType::Int64) == expected, "{text} gives other bytes");
    }
    for number in [Int16, Int32, UInt8] {
        assert!(released(&Utf8, &number) == expected, "{number} gives other bytes");
    }
}

#[test]
fn another_seed_gives_another_order_and_other_classes_of_the_same_rows() {
    let sandbox = Sandbox::with(&people(800), K, 2, COLUMNS);
    sandbox.run(&["--budget", "fast", "--seed", "0"]);
    let first = (release_bytes(&sandbox), Rows::of(&read(&sandbox.release())));
    sandbox.run(&["--budget", "fast", "--seed", "1", "--overwrite"]);
    let second = (release_bytes(&sandbox), Rows::of(&read(&sandbox.release())));
    sandbox.run(&["--budget", "fast", "--overwrite"]);
    assert!(release_bytes(&sandbox) == first.0, "seed 0 is the default");
    assert!(first.0 != second.0, "the seed changes nothing");
    assert_ne!(first.1.column("row"), second.1.column("row"));
    assert_ne!(multiset(first.1.tuples(&QUASI)), multiset(second.1.tuples(&QUASI)));
    assert_eq!(multiset(first.1.tuples(&KEPT)), multiset(second.1.tuples(&KEPT)));
}

#[test]
fn more_budget_never_loses_more_and_gives_the_same_bytes_again() {
    let sandbox = Sandbox::with(&people(800), K, 2, COLUMNS);
    let mut losses = Vec::new();
    for budget in ["fast", "balanced", "thorough"] {
        let outcome = sandbox.run(&["--budget", budget, "--overwrite"]);
        let bytes = release_bytes(&sandbox);
        sandbox.run(&["--budget", budget, "--overwrite", "--threads", "1"]);
        assert!(release_bytes(&sandbox) == bytes, "{budget} gives other bytes with one thread");
        losses.push(outcome["ncp"].as_f64().unwrap());
    }
    // Losses are rounded to six digits.
    assert!(losses[1] < losses[0] && losses[2] <= losses[1] + 2e-6, "{losses:?}");
    let timed = sandbox.run(&["--budget", "1ms", "--overwrite"]);
    assert!(timed["ncp"].as_f64().unwrap() <= losses[0] + 2e-6);
}
