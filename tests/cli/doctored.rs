//! Releases that are tampered with after publication, in every way that we could think of: `throng verify` rejects each.
//!
//! *Crude* changes leave the manifest as it was, which lists digests. *Forged* ones rewrite it, so that only the values, or the
//! sidecar next to them, can reveal the change.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Int64Type};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, data_files, read, read_file};
use crate::sandbox::{Ended, Sandbox, contents};
use crate::tables::{shuffled, strings, table, write_parquet};

const K: u64 = 5;

/// A release of three files, and a copy of its bytes to restore it from.
struct Published {
    sandbox: Sandbox,
    files: Vec<(std::path::PathBuf, Vec<u8>)>,
}

impl Published {
    fn new(batch: &RecordBatch, columns: &str) -> Self {
        let sandbox = Sandbox::with(batch, K, 2, columns);
        let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
        sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nrows_per_file = 200\n"));
        sandbox.run(&[]);
        let files = contents(&sandbox.release()).into_iter().collect();
        let published = Self { sandbox, files };
        published.verify().done();
        published
    }

    fn verify(&self) -> Ended {
        self.sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"])
    }

    /// Restores the release.
    fn restore(&self) {
        fs::remove_dir_all(self.sandbox.release()).unwrap();
        for (path, bytes) in &self.files {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Tampers with the release, which must then be rejected with one of these codes; restores it afterwards.
    fn refuses(&self, what: &str, codes: &[i32], doctor: impl FnOnce(&Path)) {
        doctor(&self.sandbox.release());
        let ended = self.verify();
        assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{what}: {ended:?}");
        assert!(!ended.stdout.contains("\"satisfied\":true"), "{what}: {ended:?}");
        self.restore();
    }

    /// Replaces the rows, with a matching manifest and an unchanged sidecar.
    fn refuses_rows(&self, what: &str, codes: &[i32], change: impl FnOnce(RecordBatch) -> RecordBatch) {
        self.refuses(what, codes, |release| {
            let rows = change(read(release));
            rewrite(release, &rows, None);
        });
    }
}

/// Writes all rows into the first file, removes the others, and forges the manifest.
fn rewrite(release: &Path, rows: &RecordBatch, metadata: Option<KeyValue>) {
    let files = data_files(release);
    files[1..].iter().for_each(|file| fs::remove_file(file).unwrap());
    let properties = WriterProperties::builder().set_key_value_metadata(metadata.map(|entry| vec![entry])).build();
    let file = fs::File::create(&files[0]).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    forge(release);
}

/// Writes a manifest that matches the data files.
fn forge(release: &Path) {
    edit(&release.join("_throng/manifest.json"), |manifest| {
        let entries = data_files(release).into_iter().map(|file| {
            let sum = Command::new("sha256sum").arg(&file).output().unwrap();
            let sha256 = String::from_utf8(sum.stdout).unwrap()[..64].to_owned();
            let rows: usize = read_file(&file).iter().map(RecordBatch::num_rows).sum();
            let path = file.file_name().unwrap().to_str().unwrap();
            json!({ "path": path, "rows": rows, "bytes": fs::metadata(&file).unwrap().len(), "sha256": sha256 })
        });
        manifest["files"] = entries.collect();
    });
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let before = document.clone();
    change(&mut document);
    assert_ne!(document, before, "nothing was changed");
    fs::write(path, serde_json::to_vec(&document).unwrap()).unwrap();
}

fn texts_of(rows: &RecordBatch, name: &str) -> Vec<String> {
    let column = cast(rows.column_by_name(name).unwrap(), &DataType::Utf8).unwrap();
    column.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_owned()).collect()
}

fn with_column(rows: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let schema = rows.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let mut columns: Vec<(&str, ArrayRef)> = names.zip(rows.columns().iter().cloned()).collect();
    match columns.iter_mut().find(|(known, _)| *known == name) {
        Some(place) => place.1 = column,
        None => columns.push((name, column)),
    }
    table(columns)
}

/// Changes the text of one row of a class of exactly k rows.
fn with_text(rows: &RecordBatch, column: &str, change: impl Fn(&str) -> String) -> RecordBatch {
    let counted = Rows::of(rows);
    let tuples = counted.tuples(&QUASI);
    let size = |row: usize| tuples.iter().filter(|tuple| **tuple == tuples[row]).count() as u64;
    let victim = (0..rows.num_rows()).find(|row| size(*row) == K).unwrap();
    let mut texts = texts_of(rows, column);
    let changed = change(&texts[victim]);
    assert_ne!(changed, texts[victim]);
    texts[victim] = changed;
    with_column(rows, column, strings(texts))
}

/// Replaces the sensitive values, row by row.
fn with_values(rows: &RecordBatch, column: &str, values: &[&str]) -> RecordBatch {
    with_column(rows, column, strings((0..rows.num_rows()).map(|row| values[row % values.len()])))
}

#[test]
fn crude_changes_are_refused() {
    let published = Published::new(&people(600), COLUMNS);
    let first = |release: &Path| data_files(release)[0].clone();
    published.refuses("a byte is flipped", &[4], |release| {
        let mut bytes = fs::read(first(release)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(first(release), bytes).unwrap();
    });
    published.refuses("a file is cut", &[4], |release| {
        let bytes = fs::read(first(release)).unwrap();
        fs::write(first(release), &bytes[..bytes.len() - 9]).unwrap();
    });
    published.refuses("a file is empty", &[4], |release| fs::write(first(release), "").unwrap());
    published.refuses("rows are in another order", &[4], |release| {
        write_parquet(&first(release), &shuffled(&read_file(&first(release))[0], 3));
    });
    published.refuses("a file is removed", &[4], |release| fs::remove_file(first(release)).unwrap());
    published.refuses("two files are exchanged", &[4], |release| {
        let files = data_files(release);
        let bytes = [0, 1].map(|at| fs::read(&files[at]).unwrap());
        fs::write(&files[0], &bytes[1]).unwrap();
        fs::write(&files[1], &bytes[0]).unwrap();
    });
    published.refuses("a file is renamed", &[4], |release| {
        fs::rename(first(release), release.join("part-99999.parquet")).unwrap();
    });
    for name in ["raw.parquet", "raw.csv", "raw.arrow", "zip=A000/part.parquet", "below/raw.parquet"] {
        published.refuses(name, &[4], |release| {
            fs::create_dir_all(release.join(name).parent().unwrap()).unwrap();
            write_parquet(&release.join(name), &people(10));
        });
    }
}

#[test]
fn documents_that_were_changed_are_refused() {
    let published = Published::new(&people(600), COLUMNS);
    let manifest = |release: &Path| release.join("_throng/manifest.json");
    let sidecar = |release: &Path| release.join("_throng/metrics.json");
    published.refuses("the manifest lists a file twice", &[4], |release| {
        edit(&manifest(release), |document| {
            let again = document["files"][0].clone();
            document["files"].as_array_mut().unwrap().push(again);
        });
    });
    published.refuses("a file is gone from release and manifest", &[4], |release| {
        fs::remove_file(&data_files(release)[2]).unwrap();
        forge(release);
    });
    published.refuses("a file was added to release and manifest", &[4], |release| {
        fs::copy(&data_files(release)[0], release.join("part-7.parquet")).unwrap();
        forge(release);
    });
    published.refuses("the manifest counts other rows", &[4], |release| {
        edit(&manifest(release), |document| document["files"][0]["rows"] = 1_000_000.into());
    });
    published.refuses("the manifest refers to the outside", &[4], |release| {
        edit(&manifest(release), |document| document["files"][0]["path"] = "../../input/people.parquet".into());
    });
    published.refuses("the manifest is no document", &[4], |release| fs::write(manifest(release), "{").unwrap());
    published.refuses("the manifest lists nothing", &[4], |release| {
        edit(&manifest(release), |document| document["files"] = json!([]));
    });
    published.refuses("the manifest is of another run", &[4], |release| {
        edit(&manifest(release), |document| document["run_id"] = "0".into());
    });
    type Claim = (&'static str, fn(&mut Value));
    let claims: [Claim; 6] = [
        ("more rows", |document| document["output"]["rows"] = 601.into()),
        ("fewer classes", |document| document["utility"]["classes"] = 3.into()),
        ("a larger k", |document| document["privacy"]["requirements"][0]["achieved"] = 100.into()),
        ("a larger p", |document| document["privacy"]["requirements"][1]["achieved"] = 8.into()),
        ("another policy", |document| document["policy_digest"] = "0".into()),
        ("that it does not hold", |document| document["privacy"]["satisfied"] = false.into()),
    ];
    for (what, change) in claims {
        published.refuses(what, &[4], |release| edit(&sidecar(release), change));
    }
    published.refuses("the sidecar is no document", &[4], |release| fs::write(sidecar(release), "[]").unwrap());
    // Without the sidecar nothing is claimed, so it can't contradict a policy with different requirements.
    fs::remove_file(sidecar(&published.sandbox.release())).unwrap();
    published.verify().done();
    published.restore();
    for roles in [["--quasi", "age", "-k", "5"], ["--quasi", "age,sex,country,zip", "-k", "2"]] {
        published.sandbox.throng(&[&["verify", "out/release"], &roles[..]].concat()).done();
    }
}

#[test]
fn labels_that_only_look_the_same_are_refused() {
    let published = Published::new(&people(600), COLUMNS);
    type Relabel = (&'static str, fn(&str) -> String);
    let labels: [Relabel; 8] = [
        ("a space behind", |text| format!("{text} ")),
        ("a space before", |text| format!(" {text}")),
        ("a no-break space", |text| format!("{text}\u{a0}")),
        ("a character without width", |text| format!("{text}\u{200b}")),
        ("a mark that combines", |text| format!("{text}\u{301}")),
        ("a full-width letter", |text| text.replacen('A', "\u{ff21}", 1) + "\u{ff21}"),
        ("a soft hyphen", |text| format!("{text}\u{ad}")),
        ("another case", |text| format!("{}a", text.to_lowercase())),
    ];
    for (what, change) in labels {
        published.refuses_rows(what, &[4], |rows| with_text(&rows, "country", change));
    }
    let ages: [Relabel; 4] = [
        ("a number with a fraction", |text| format!("{text}.0")),
        ("a number with a sign", |text| format!("+{text}")),
        ("another hyphen", |text| format!("{}\u{2013}", text.replace('-', "\u{2013}"))),
        ("an interval of one", |text| format!("[{text}-{text}]")),
    ];
    for (what, change) in ages {
        published.refuses_rows(what, &[4], |rows| with_text(&rows, "age", change));
    }
    published.refuses_rows("a label is missing", &[4], |rows| {
        let mut texts: Vec<Option<String>> = texts_of(&rows, "age").into_iter().map(Some).collect();
        texts[0] = None;
        with_column(&rows, "age", Arc::new(texts.into_iter().collect::<StringArray>()))
    });
    published.refuses_rows("one row more in a class", &[4], |rows| {
        concat_batches(&rows.schema(), &[rows.clone(), rows.slice(0, 1)]).unwrap()
    });
    published.refuses_rows("every row twice", &[4], |rows| {
        concat_batches(&rows.schema(), &[rows.clone(), rows.clone()]).unwrap()
    });
    published.refuses_rows("one class less", &[4], |rows| {
        let tuples = Rows::of(&rows).tuples(&QUASI).into_iter().map(|tuple| format!("{tuple:?}")).collect::<Vec<_>>();
        let end = tuples.iter().position(|tuple| *tuple != tuples[0]).unwrap();
        rows.slice(end, rows.num_rows() - end)
    });
    published.refuses_rows("two classes as one", &[4], |rows| {
        let stars = || strings(vec!["*"; rows.num_rows()]);
        QUASI.iter().fold(rows.clone(), |rows, name| with_column(&rows, name, stars()))
    });
    published.refuses_rows("the input", &[4], |_| people(600));
    published.refuses_rows("a column more", &[4], |rows| with_values(&rows, "name", &["Ada", "Bob"]));
    published.refuses_rows("a column less", &[65], |rows| {
        let kept = (0..rows.num_columns()).filter(|at| rows.schema().field(*at).name() != "zip");
        rows.project(&kept.collect::<Vec<_>>()).unwrap()
    });
    published.refuses_rows("no rows", &[4, 65], |rows| rows.slice(0, 0));
    published.refuses("a note in the metadata of a file", &[4], |release| {
        let rows = read(release);
        rewrite(release, &rows, Some(KeyValue::new("note".to_owned(), "Ada has flu".to_owned())));
    });
}

#[test]
fn values_that_only_look_different_are_refused() {
    let published = Published::new(&people(600), COLUMNS);
    let alike: [&[&str]; 7] = [
        &["flu"],
        &["flu", "FLU", "Flu"],
        &["flu", "flu ", " flu", "flu\u{a0}"],
        &["flu", ""],
        &["caf\u{e9}", "cafe\u{301}"],
        &["\u{fb01}t", "fit"],
        &["flu", "flu\u{200b}"],
    ];
    for values in alike {
        published.refuses_rows(&format!("{values:?}"), &[4], |rows| with_values(&rows, "diagnosis", values));
    }
    published.refuses_rows("missing values", &[4], |rows| {
        let values = (0..rows.num_rows()).map(|row| (row % 2 == 0).then_some("flu"));
        with_column(&rows, "diagnosis", Arc::new(values.collect::<StringArray>()))
    });
    let numbers: [[f64; 2]; 4] = [[0.0, -0.0], [f64::NAN, -f64::NAN], [1.0, f64::NAN], [2.5, 2.5]];
    for pair in numbers {
        published.refuses_rows(&format!("{pair:?}"), &[4], |rows| {
            let values = (0..rows.num_rows()).map(|row| pair[row % 2]);
            with_column(&rows, "diagnosis", Arc::new(Float64Array::from_iter_values(values)))
        });
    }
}

/// Illnesses with an even distribution, salaries and lists of drugs.
fn patients(rows: usize) -> RecordBatch {
    let people = people(rows);
    let salaries: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| row * 7919 % 60_000)));
    let lists = (0..rows as i64).map(|row| Some(vec![Some(row % 5), Some(5 + row * 31 % 7)]));
    let drugs: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let illnesses = strings((0..rows).map(|row| format!("illness {}", row * 7919 % 6)));
    let people = with_column(&people, "diagnosis", illnesses);
    with_column(&with_column(&people, "salary", salaries), "drugs", drugs)
}

#[test]
fn models_beyond_p_are_recomputed() {
    let columns = COLUMNS
        .replace("[columns.diagnosis]\nrole = \"sensitive\"", "[columns.diagnosis]\nrole = \"sensitive\"\nMODEL")
        + "[columns.salary]\nrole = \"sensitive\"\nbands = [0, 20000, 40000]\n[columns.drugs]\nrole = \"sensitive\"\nmax_share = 0.9\n";
    for model in [
        "max_share = 0.5",
        "t = 0.5",
        "entropy_l = 2",
        "recursive = { c = 3.0, l = 2 }",
        "beta = 3.0",
        "delta_disclosure = 2.5",
    ] {
        let published = Published::new(&patients(600), &columns.replace("MODEL", model));
        // Two values in every class, as p requires, and nearly everyone has the first.
        published.refuses_rows(model, &[4], |rows| {
            let counted = Rows::of(&rows);
            let tuples = counted.tuples(&QUASI);
            let is_first = |row: usize| row == 0 || tuples[row] != tuples[row - 1];
            let values = (0..rows.num_rows()).map(|row| if is_first(row) { "illness 1" } else { "illness 0" });
            with_column(&rows, "diagnosis", strings(values))
        });
        if model.starts_with("max_share") {
            published.refuses_rows("different numbers of one band", &[4], |rows| {
                let salaries = (0..rows.num_rows() as i64).map(|row| 20_000 + row);
                with_column(&rows, "salary", Arc::new(Int64Array::from_iter_values(salaries)))
            });
            published.refuses_rows("one drug in all lists", &[4], |rows| {
                let lists = (0..rows.num_rows() as i64).map(|row| Some(vec![Some(99), Some(row)]));
                with_column(&rows, "drugs", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)))
            });
            published.refuses_rows("empty lists", &[4], |rows| {
                let lists = (0..rows.num_rows()).map(|_| Some(Vec::<Option<i64>>::new()));
                with_column(&rows, "drugs", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)))
            });
        }
    }
}

#[test]
fn a_doctored_night_of_a_series_is_refused() {
    let columns = COLUMNS.replace("[columns.row]\nrole = \"insensitive\"\n", "[columns.row]\nrole = \"identifier\"\n");
    let sandbox =
        Sandbox::with(&people(600), K, 2, &format!("unit = \"row\"\n[series]\nledger = \"ledger\"\n{columns}"));
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nmode = \"series\"\n"));
    sandbox.run(&[]);
    let files = contents(&sandbox.release()).into_iter().collect();
    let published = Published { sandbox, files };
    let verify = ["verify", "out/release", "--policy", "policy.toml", "--ledger"];
    published.sandbox.throng(&verify).done();
    // Two rows of different classes exchange their values: k and p hold, but the ledger reveals it.
    let release = published.sandbox.release();
    let rows = read(&release);
    let mut values = texts_of(&rows, "diagnosis");
    let other = (1..values.len()).rev().find(|row| values[*row] != values[0]).unwrap();
    values.swap(0, other);
    rewrite(&release, &with_column(&rows, "diagnosis", strings(values)), None);
    let ended = published.sandbox.throng(&verify);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    published.restore();
    published.refuses("one label of a night", &[4], |release| {
        let rows = with_text(&read(release), "age", |text| format!("{text} "));
        rewrite(release, &rows, None);
    });
}

#[test]
fn a_doctored_delta_table_is_refused() {
    let sandbox = Sandbox::with(&people(600), K, 2, COLUMNS);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nformat = \"delta\"\nrows_per_file = 200\n"));
    sandbox.run(&[]);
    let files = contents(&sandbox.release()).into_iter().collect();
    let published = Published { sandbox, files };
    let verify = || published.sandbox.throng(&["verify", "delta+out/release", "--policy", "policy.toml"]);
    verify().done();
    let parquet = |release: &Path| -> Vec<std::path::PathBuf> {
        data_files(release).into_iter().filter(|file| file.extension().is_some_and(|end| end == "parquet")).collect()
    };
    let refuses = |what: &str, doctor: &dyn Fn(&Path)| {
        doctor(&published.sandbox.release());
        let ended = verify();
        assert!(matches!(ended.code, Some(4 | 65 | 66)), "{what}: {ended:?}");
        published.restore();
    };
    refuses("a file is removed", &|release| fs::remove_file(&parquet(release)[0]).unwrap());
    refuses("a file is cut", &|release| {
        let bytes = fs::read(&parquet(release)[0]).unwrap();
        fs::write(&parquet(release)[0], &bytes[..bytes.len() / 2]).unwrap();
    });
    refuses("a file has other labels", &|release| {
        let file = &parquet(release)[0];
        write_parquet(file, &with_text(&read_file(file)[0], "age", |text| format!("{text} ")));
    });
    refuses("the log adds the input", &|release| {
        let log = release.join("_delta_log/00000000000000000000.json");
        fs::copy(published.sandbox.path("input/people.parquet"), release.join("raw.parquet")).unwrap();
        let lines = fs::read_to_string(&log).unwrap();
        let added = lines.lines().find(|line| line.contains("\"add\"")).unwrap();
        let mut added: Value = serde_json::from_str(added).unwrap();
        added["add"]["path"] = "raw.parquet".into();
        added["add"]["size"] = fs::metadata(release.join("raw.parquet")).unwrap().len().into();
        fs::write(&log, format!("{lines}{added}\n")).unwrap();
    });
}
