//! Sensitive values that differ in bytes but not for a reader, and releases that are tampered with by means of them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table, write_parquet};

const COLUMNS: &str = "[columns]\nage.role = \"quasi\"\nillness.role = \"sensitive\"\n";

/// People with these illnesses, in turn.
fn ill(rows: usize, illnesses: &[&str]) -> RecordBatch {
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| 20 + (row / 7) as i64)));
    table(vec![("age", ages), ("illness", strings((0..rows).map(|row| illnesses[row % illnesses.len()])))])
}

#[test]
fn spellings_of_one_illness_are_one_value() {
    let sandbox = Sandbox::with(&ill(90, &["HIV", "HIV ", "hiv"]), 3, 2, COLUMNS);
    let message = sandbox.run_refused(3, &[]);
    assert_contains(&message, &["`illness` has 1 distinct value,", "p = 2", "the highest p that works for it is 1"]);
    for (illnesses, p) in [(["HIV", ""], 2), (["HIV", " \u{200b}"], 2), (["caf\u{e9}", "cafe\u{301}"], 2)] {
        Sandbox::with(&ill(90, &illnesses), 3, p, COLUMNS).run_refused(3, &[]);
    }
    let distinct = "[columns]\nage.role = \"quasi\"\nillness = { role = \"sensitive\", look_alikes = \"distinct\" }\n";
    let sandbox = Sandbox::with(&ill(90, &["HIV", "HIV ", "hiv"]), 3, 3, distinct);
    sandbox.run(&[]);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
}

#[test]
fn check_counts_look_alikes_and_names_none() {
    let sandbox = Sandbox::with(&ill(90, &["Gout", "gout ", "Asthma", "", "asthma"]), 3, 2, COLUMNS);
    let ended = sandbox.throng(&["check", "policy.toml"]);
    assert_contains(
        &ended.stderr,
        &["sensitive `illness`: 4 texts look like 2 values, and 1 text stands for no value", "2 distinct values"],
    );
    assert!(!ended.said().to_lowercase().contains("gout"), "a value is shown: {ended:?}");
    let clean = Sandbox::with(&ill(90, &["Gout", "Asthma"]), 3, 2, COLUMNS).throng(&["check", "policy.toml"]);
    assert!(!clean.stderr.contains("look like"), "{}", clean.stderr);
}

#[test]
fn listed_values_never_count() {
    let missing = "[columns]\nage.role = \"quasi\"\nillness = { role = \"sensitive\", missing = [\"?\", \"n/a\"] }\n";
    Sandbox::with(&ill(90, &["HIV", "?", "N/A"]), 3, 2, missing).run_refused(3, &[]);
    Sandbox::with(&ill(90, &["HIV", "?", "N/A"]), 3, 3, COLUMNS).run(&[]);
    let sandbox = Sandbox::with(&ill(90, &["HIV", "?", "flu"]), 3, 2, missing);
    sandbox.run(&[]);
    // Values are released as they are.
    let released = Rows::of(&read(&sandbox.release()));
    let values: BTreeSet<&str> = released.column("illness").iter().flatten().map(String::as_str).collect();
    assert_eq!(values, BTreeSet::from(["HIV", "?", "flu"]));
    let both = missing.replace("missing", "categories = [[\"a\"], [\"b\"]], missing");
    let sandbox = Sandbox::with(&ill(90, &["HIV", "?"]), 3, 2, &both);
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.illness.missing", "has no use beside `categories`"]);
}

#[test]
fn listed_numbers_never_count() {
    let codes: ArrayRef = Arc::new(Int64Array::from_iter_values((0..90).map(|row| [7, -9, 999][row % 3])));
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..90).map(|row| 20 + row / 7)));
    let input = table(vec![("age", ages), ("illness", codes)]);
    let columns = |more: &str| format!("[columns]\nage.role = \"quasi\"\nillness = {{ role = \"sensitive\"{more} }}\n");
    Sandbox::with(&input, 3, 3, &columns("")).run(&[]);
    Sandbox::with(&input, 3, 2, &columns(", missing = [\"-9\", \"999\"]")).run_refused(3, &[]);
    let sandbox = Sandbox::with(&input, 3, 2, &columns(", missing = [\"-9\"], bands = [100]"));
    sandbox.run(&[]);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
    Sandbox::with(&input, 3, 2, &columns(", missing = [\"999\"], bands = [100]")).run_refused(3, &[]);
}

#[test]
fn every_class_has_p_values_that_a_reader_can_distinguish() {
    let mut draws = Draws::new(11);
    let spellings = ["HIV", "hiv", " HIV", "Flu", "flu", "FLU\u{a0}", "gout", "Gout", "", "asthma"];
    let rows = 1500;
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 20 + draws.below(60) as i64)));
    let zips = strings((0..rows).map(|_| format!("{:02}", draws.below(30))));
    let illnesses = strings((0..rows).map(|_| spellings[draws.below(10) as usize]));
    let input = table(vec![("age", ages), ("zip", zips), ("illness", illnesses)]);
    let columns = format!("{COLUMNS}zip = {{ role = \"quasi\", hierarchy = {{ mask = \"right\" }} }}\n");
    let sandbox = Sandbox::with(&input, 5, 3, &columns);
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    let mut classes: HashMap<Vec<&Option<String>>, BTreeSet<String>> = HashMap::new();
    for (tuple, illness) in released.tuples(&["age", "zip"]).into_iter().zip(released.column("illness")) {
        let seen = illness.as_ref().unwrap().replace('\u{a0}', " ").trim().to_lowercase();
        let values = classes.entry(tuple).or_default();
        if !seen.is_empty() {
            values.insert(seen);
        }
    }
    assert!(classes.len() > 20 && classes.values().all(|values| values.len() >= 3), "{classes:?}");
    let metrics = fs::read_to_string(sandbox.release().join("_throng/metrics.json")).unwrap();
    assert_contains(&metrics, &["\"look_alikes\": \"merged\""]);
}

/// Verifies a table of ages and illnesses from outside, and returns the exit code and the message.
fn verified(batch: &RecordBatch, more: &[&str]) -> (Option<i32>, String) {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("release.parquet"), batch);
    let arguments = ["verify", "release.parquet", "--quasi", "age", "-k", "3", "--sensitive", "illness"];
    let ended = sandbox.throng(&[&arguments[..], more].concat());
    (ended.code, ended.stderr)
}

#[test]
fn verify_refuses_a_release_whose_diversity_is_only_spelled() {
    let ages: ArrayRef = Arc::new(Int64Array::from(vec![30, 30, 30]));
    let of = |illnesses: [&str; 3]| table(vec![("age", Arc::clone(&ages)), ("illness", strings(illnesses))]);
    assert_eq!(verified(&of(["HIV", "flu", "gout"]), &["-p", "3"]).0, Some(0));
    assert_eq!(verified(&of(["HIV", "hiv", "HIV "]), &["-p", "2"]).0, Some(4));
    assert_eq!(verified(&of(["HIV", "", "HIV"]), &["-p", "2"]).0, Some(4));
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, f64::NAN]));
    assert_eq!(verified(&table(vec![("age", ages), ("illness", numbers)]), &["-p", "2"]).0, Some(4));
}

#[test]
fn verify_compares_cells_of_csv_as_a_reader_sees_them() {
    let verify = |cells: [&str; 4]| {
        let sandbox = Sandbox::new();
        sandbox.write("release.csv", format!("age,illness\n{}", cells.map(|cell| format!("{cell},flu\n")).concat()));
        sandbox.throng(&["verify", "release.csv", "--quasi", "age", "-k", "2"]).code
    };
    assert_eq!(verify(["25", "25", "26", "26"]), Some(0));
    for pair in [["25.0", "25"], ["1e1", "10"], ["25.10", "25.1"], ["-0", "0"], ["true", "TRUE"]] {
        assert_eq!(verify([pair[0], pair[1], "26", "26"]), Some(4), "{pair:?}");
    }
    let large = ["9007199254740993.0", "9007199254740992.0"];
    assert_eq!(verify([large[0], large[1], "1.5", "1.5"]), Some(4));
    // Sensitive numbers are compared by value: two spellings are not diverse.
    let sandbox = Sandbox::new();
    sandbox.write("release.csv", "age,illness\n30,25.0\n30,25\n30,2.5e1\n");
    let arguments = ["verify", "release.csv", "--quasi", "age", "-k", "3", "--sensitive", "illness", "-p", "2"];
    assert_eq!(sandbox.throng(&arguments).code, Some(4));
}

#[test]
fn verify_refuses_files_with_metadata_of_unknown_origin() {
    let batch = ill(21, &["flu", "gout"]);
    let write = |sandbox: &Sandbox, entries: Vec<KeyValue>| {
        let file = fs::File::create(sandbox.path("release.parquet")).unwrap();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(entries)).build();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    let sandbox = Sandbox::new();
    let arguments = ["verify", "release.parquet", "--quasi", "age", "-k", "3"];
    write(&sandbox, vec![KeyValue::new("pandas".to_owned(), "{}".to_owned())]);
    assert_eq!(sandbox.throng(&arguments).code, Some(0));
    write(&sandbox, vec![KeyValue::new("names".to_owned(), "Jane Doe has HIV".to_owned())]);
    let ended = sandbox.throng(&arguments);
    assert_contains(
        &ended.refused(4),
        &["release.parquet has an entry of key-value metadata that no known writer makes"],
    );
    assert!(!ended.said().contains("Jane"), "{ended:?}");
}

/// The Arrow schema in a file has metadata of its own.
#[test]
fn verify_refuses_fields_with_metadata_of_unknown_origin() {
    let sandbox = Sandbox::new();
    let arguments = ["verify", "release.parquet", "--quasi", "age", "-k", "3"];
    let verify = |of_field: &[(&str, &str)], of_schema: &[(&str, &str)]| {
        let map = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let plain = ill(21, &["flu", "gout"]);
        let fields = plain.schema_ref().fields().iter().map(|field| match field.name().as_str() {
            "age" => field.as_ref().clone().with_metadata(map(of_field)),
            _ => field.as_ref().clone(),
        });
        let schema = Schema::new(fields.collect::<Vec<_>>()).with_metadata(map(of_schema));
        let batch = RecordBatch::try_new(Arc::new(schema), plain.columns().to_vec()).unwrap();
        let file = fs::File::create(sandbox.path("release.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        sandbox.throng(&arguments)
    };
    let ours = [("throng.role", "quasi"), ("throng.form", "interval")];
    assert_eq!(verify(&ours, &[("pandas", "{}")]).code, Some(0));
    let refused = |of_field: &[(&str, &str)], of_schema: &[(&str, &str)]| {
        let ended = verify(of_field, of_schema);
        assert_contains(&ended.refused(4), &["an entry of key-value metadata that no known writer makes"]);
        assert!(!ended.said().contains("Jane"), "{ended:?}");
    };
    refused(&[("comment", "Jane Doe is 21")], &[]);
    refused(&[], &[("names", "Jane Doe is 21")]);
    // Nor under the keys of Throng.
    refused(&[("throng.role", "Jane Doe is 21")], &[]);
    refused(&[("throng.form", "Jane Doe is 21")], &[]);
    refused(&[("throng.column", "Jane Doe is 21")], &[]);
    refused(&[("throng.note", "Jane Doe is 21")], &[]);
    // Nor under those of types whose parameters may list values.
    refused(&[("_PL_ENUM_VALUES2", "8;Jane Doe")], &[]);
    let parameters = ("ARROW:extension:metadata", "{\"patient\": \"Jane Doe\"}");
    refused(&[("ARROW:extension:name", "hospital.patient"), parameters], &[]);
    let known = [("ARROW:extension:name", "arrow.bool8"), ("ARROW:extension:metadata", "")];
    assert_eq!(verify(&known, &[]).code, Some(0));
    assert_eq!(verify(&[("_PL_CATEGORICAL", "lexical")], &[]).code, Some(0));
}
