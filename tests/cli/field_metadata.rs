//! What the files of a release say about the role and the form of their columns.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Date32Array, Float64Array, Int64Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::data_files;
use crate::sandbox::Sandbox;
use crate::tables::{strings, table};

/// Returns the metadata of the fields of the only file in a folder, by name.
fn described(folder: &Path) -> BTreeMap<String, String> {
    let files = data_files(folder);
    let described: Vec<BTreeMap<String, String>> = files
        .iter()
        .map(|file| {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
            let of_field = |field: &Arc<arrow::datatypes::Field>| {
                let pairs: BTreeMap<&String, &String> = field.metadata().iter().collect();
                let pairs = pairs.into_iter().map(|(key, value)| format!("{key}={value}"));
                (field.name().clone(), pairs.collect::<Vec<_>>().join(" "))
            };
            reader.schema().fields().iter().map(of_field).collect()
        })
        .collect();
    assert!(described.windows(2).all(|pair| pair[0] == pair[1]), "{described:?}");
    described.into_iter().next().unwrap()
}

/// A table with a column for each form.
fn rows() -> RecordBatch {
    let numbers = |step: i64| Arc::new(Int64Array::from_iter_values((0..120).map(move |row| row * step % 40)));
    let places = || strings((0..120).map(|row| format!("place {}", row % 4)));
    table(vec![
        ("interval", numbers(1)),
        ("bounds", Arc::new(Date32Array::from_iter_values((0..120).map(|row| 19_000 + row % 30)))),
        ("mean", Arc::new(Float64Array::from_iter_values((0..120).map(|row| f64::from(row % 9))))),
        ("median", numbers(7)),
        ("mode", places()),
        ("set", places()),
        ("ancestor", places()),
        ("hidden", places()),
        ("ill", strings((0..120).map(|row| format!("illness {}", row % 6)))),
        ("both", strings((0..120).map(|row| format!("c{}", row % 6)))),
        ("kept", numbers(3)),
        ("dropped", numbers(1)),
    ])
}

const FORMS: &str = r#"
[columns]
interval = { role = "quasi" }
bounds = { role = "quasi", release = "bounds" }
mean = { role = "quasi", release = "mean" }
median = { role = "quasi", release = "median" }
mode = { role = "quasi", release = "mode" }
set = { role = "quasi", release = "set" }
ancestor = { role = "quasi" }
hidden = { role = "identifier" }
ill = { role = "sensitive" }
both = { role = "sensitive", release = "both", categories = [["c0", "c1"], ["c2", "c3"], ["c4", "c5"]] }
kept = { role = "insensitive" }
dropped = { role = "identifier" }
"#;

#[test]
fn every_column_says_its_role_and_its_form() {
    let sandbox = Sandbox::with(&rows(), 4, 2, FORMS);
    sandbox.run(&[]);
    let quasi = |form: &str| format!("throng.form={form} throng.role=quasi");
    let expected = [
        ("interval", quasi("interval")),
        ("bounds_min", format!("throng.column=bounds {}", quasi("bounds"))),
        ("bounds_max", format!("throng.column=bounds {}", quasi("bounds"))),
        ("mean", quasi("mean")),
        ("median", quasi("median")),
        ("mode", quasi("mode")),
        ("set", quasi("set")),
        ("ancestor", quasi("ancestor")),
        ("ill", "throng.form=value throng.role=sensitive".to_owned()),
        ("both", "throng.form=value throng.role=sensitive".to_owned()),
        ("both_category", "throng.column=both throng.form=category throng.role=sensitive".to_owned()),
        ("kept", "throng.form=value throng.role=insensitive".to_owned()),
    ];
    let expected: BTreeMap<String, String> = expected.map(|(name, pairs)| (name.to_owned(), pairs)).into();
    assert_eq!(described(&sandbox.release()), expected);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
}

/// Series, appended files and Delta tables are written by the same writer.
#[test]
fn every_kind_of_release_says_it() {
    let expected = {
        let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
        sandbox.run(&[]);
        described(&sandbox.release())
    };
    assert!(expected.values().all(|pairs| pairs.contains("throng.role=")), "{expected:?}");
    let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
    let policy = std::fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", policy.replace("[output]", "[output]\nformat = \"delta\""));
    sandbox.run(&[]);
    assert_eq!(described(&sandbox.release()), expected, "Delta");
}

/// A release may be the input of another run, whose files say what its own policy says.
#[test]
fn what_a_release_says_is_not_carried_on() {
    let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
    sandbox.run(&[]);
    let first = sandbox.release();
    let names: Vec<String> = described(&first).into_keys().collect();
    let columns = names.iter().map(|name| format!("[columns.{name}]\nrole = \"insensitive\"\n"));
    let second = Sandbox::new();
    let columns: String = columns.collect::<String>().replacen("role = \"insensitive\"", "role = \"quasi\"", 1);
    second.policy(4, 1, &columns);
    second.run(&["--input", &first.display().to_string()]);
    let found = described(&second.release());
    assert_eq!(found.values().filter(|pairs| pairs.contains("throng.role=quasi")).count(), 1, "{found:?}");
    assert_eq!(
        found.values().filter(|pairs| *pairs == "throng.form=value throng.role=insensitive").count(),
        names.len() - 1
    );
}
