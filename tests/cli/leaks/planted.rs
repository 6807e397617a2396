//! Plants canaries in every place of an input, and searches for them after its release.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, new_empty_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::search::{Audience, NUMBERS, Seen, leaks, places, published};
use crate::release_files::{Rows, read};
use crate::sandbox::{Ended, Sandbox, names};
use crate::tables::{strings, write_csv, write_ipc};

/// Numbers of rows that are released and suppressed.
const KEPT: i64 = 240;
const SUPPRESSED: i64 = 5;

/// Every place of a canary; the last few are not in the files.
const PLACES: [&str; 20] = [
    "identifier",
    "number",
    "quasi",
    "amount",
    "sensitive",
    "suppressed",
    "suppressedillness",
    "unused",
    "nullslot",
    "schema",
    "field",
    "keyvalue",
    "creator",
    "folder",
    "file",
    "hierarchy",
    "label",
    "policy",
    "secret",
    "environment",
];

const COLUMNS: &str = r#"
# canary-policy of a comment
[columns.person]
role = "identifier"
[columns.number]
role = "identifier"
[columns.zip]
role = "quasi"
hierarchy = "zip.csv"
[columns.amount]
role = "quasi"
hierarchy = { intervals = [5000, 100000] }
nulls = "suppress"
[columns.illness]
role = "sensitive"
[columns.note]
role = "insensitive"
[columns.remark]
role = "insensitive"
"#;

/// Returns a dictionary with an entry that no row refers to.
fn dictionary(entries: Vec<String>, keys: impl Iterator<Item = i32>) -> ArrayRef {
    let unused = entries.into_iter().chain(["canary-unused entry".to_owned()]);
    Arc::new(DictionaryArray::new(Int32Array::from_iter_values(keys), Arc::new(StringArray::from_iter_values(unused))))
}

/// Returns text with nulls whose bytes are still in the buffer.
fn with_hidden_bytes(rows: i64) -> ArrayRef {
    let text = |row: i64| match row {
        row if row >= KEPT => "canary-suppressed remark".to_owned(),
        row if row % 6 == 0 => "canary-nullslot.".to_owned(),
        row => format!("remark {}", row % 4),
    };
    let shown = StringArray::from_iter_values((0..rows).map(text));
    let valid = NullBuffer::from((0..rows).map(|row| row % 6 > 0 || row >= KEPT).collect::<Vec<_>>());
    let (offsets, values, _) = shown.into_parts();
    Arc::new(StringArray::new(offsets, values, Some(valid)))
}

pub fn people() -> RecordBatch {
    let rows = KEPT + SUPPRESSED;
    let amount = |row: i64| (row < KEPT).then_some(NUMBERS[1].1.start + 1 + row * 3 % 997);
    let illnesses = (0..7).map(|of| format!("canary-sensitive {of}")).chain(["canary-suppressedillness.".to_owned()]);
    let illness = |row: i64| if row < KEPT { (row % 7) as i32 } else { 7 };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("person", strings((0..rows).map(|row| format!("canary-identifier {row}")))),
        ("number", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| NUMBERS[0].1.start + row)))),
        ("zip", strings((0..rows).map(|row| format!("canary-quasi {row}")))),
        ("amount", Arc::new(Int64Array::from_iter((0..rows).map(amount)))),
        ("illness", dictionary(illnesses.collect(), (0..rows).map(illness))),
        ("note", dictionary((0..11).map(|of| format!("note {of}")).collect(), (0..rows).map(|row| (row % 11) as i32))),
        ("remark", with_hidden_bytes(rows)),
    ];
    let metadata = |key: &str, value: &str| HashMap::from([(key.to_owned(), value.to_owned())]);
    let field = |(name, column): &(&str, ArrayRef)| {
        Field::new(*name, column.data_type().clone(), true).with_metadata(metadata("comment", "canary-field comment"))
    };
    let schema = Schema::new_with_metadata(
        columns.iter().map(field).collect::<Vec<_>>(),
        metadata("canary-schema key", "canary-schema value"),
    );
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect()).unwrap()
}

fn write_planted_parquet(path: &Path, batch: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_created_by("canary-creator of files".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new("canary-keyvalue".to_owned(), "canary-keyvalue".to_owned())]))
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Returns a hierarchy with a region for every zip, and with values that no row has.
fn hierarchy() -> String {
    let line = |row: i64| format!("canary-quasi {row};region {};*\n", row % 5);
    let absent = |row: i64| format!("canary-hierarchy {row};canary-label {};*\n", row % 3);
    (0..KEPT + SUPPRESSED).map(line).chain((0..20).map(absent)).collect()
}

/// Creates a sandbox with all canaries; the extension selects the format.
pub fn sandbox(extension: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("input/canary-folder")).unwrap();
    let path = sandbox.path(&format!("input/canary-folder/canary-file.{extension}"));
    match extension {
        "parquet" => write_planted_parquet(&path, &people()),
        "arrow" => write_ipc(&path, &people()),
        _ => write_csv(&path, &people()),
    }
    sandbox.write("zip.csv", hierarchy());
    let policy = crate::sandbox::policy_text("${PLACE}/canary-folder/", 4, 2, COLUMNS);
    sandbox.write("policy.toml", policy);
    fs::create_dir(sandbox.path("spill")).unwrap();
    sandbox
}

/// Returns a command with secrets in its environment.
pub fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(arguments);
    command.env("PLACE", sandbox.path("input")).env("TMPDIR", sandbox.path("spill"));
    command.env("RUST_BACKTRACE", "1").env("UNRELATED", "canary-environment");
    for name in
        ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY", "GOOGLE_SERVICE_ACCOUNT_KEY"]
    {
        command.env(name, "canary-secret");
    }
    command
}

/// Returns the output of a command. Asserts that no spill files are left.
pub fn said(sandbox: &Sandbox, name: &str, ended: &Ended) -> Vec<Seen> {
    let left = names(&sandbox.path("spill"));
    assert_eq!(left, Vec::<String>::new(), "{name} left spilled rows");
    vec![Seen { name: name.to_owned(), audience: Audience::Operator, bytes: ended.said().into_bytes() }]
}

#[test]
fn canaries_are_found_nowhere_but_where_the_policy_shows_them() {
    for extension in ["parquet", "arrow", "csv"] {
        for format in ["text", "json"] {
            let sandbox = sandbox(extension);
            let run = ["run", "policy.toml", "-vv", "--log-format", format];
            let ended: Ended = command(&sandbox, &run).output().unwrap().into();
            let mut seen = said(&sandbox, "the logs of the run", &ended);
            let outcome = ended.done();
            assert_eq!((&outcome["rows"], &outcome["suppressed_rows"]), (&KEPT.into(), &SUPPRESSED.into()));
            let verify = ["verify", "out/release", "--policy", "policy.toml", "-vv", "--log-format", format];
            let ended: Ended = command(&sandbox, &verify).output().unwrap().into();
            seen.extend(said(&sandbox, "the logs of the verification", &ended));
            assert_eq!(ended.code, Some(0), "{ended:?}");
            seen.extend(published(&sandbox.path("out")));
            assert!(seen.iter().any(|seen| seen.audience == Audience::Documents && seen.bytes.len() > 500));
            assert_eq!(leaks(&seen), Vec::<String>::new(), "{extension}");
            // The search must find the canaries that are allowed.
            let rows = seen.iter().filter(|seen| seen.audience == Audience::Rows);
            let shown: Vec<String> = rows.flat_map(|seen| places(&seen.bytes)).collect();
            assert!(shown.iter().any(|place| place == "sensitive"), "{shown:?}");
        }
    }
}

/// Without this test the search could pass because nothing was planted.
#[test]
fn canaries_are_planted_in_every_place() {
    let sandbox = sandbox("parquet");
    let mut seen = published(&sandbox.path("input"));
    let file = |name: &str| Seen {
        name: name.to_owned(),
        audience: Audience::Documents,
        bytes: fs::read(sandbox.path(name)).unwrap(),
    };
    seen.extend([file("policy.toml"), file("zip.csv")]);
    let hidden = super::planted::sandbox("arrow");
    seen.extend(published(&hidden.path("input")));
    let planted: std::collections::BTreeSet<String> = seen.iter().flat_map(|seen| places(&seen.bytes)).collect();
    let environment = format!("{:?}", command(&sandbox, &[]).get_envs().collect::<Vec<_>>());
    let expected =
        PLACES.map(str::to_owned).into_iter().filter(|place| !environment.contains(&format!("canary-{place}")));
    assert_eq!(planted, expected.collect());
    assert!(["secret", "environment"].iter().all(|place| environment.contains(&format!("canary-{place}"))));
    assert!(PLACES.len() >= 12);
}

#[test]
fn what_is_released_is_what_was_asked_for() {
    let sandbox = sandbox("parquet");
    let ended: Ended = command(&sandbox, &["run", "policy.toml"]).output().unwrap().into();
    ended.done();
    let release = Rows::of(&read(&sandbox.release()));
    assert_eq!(release.names(), ["zip", "amount", "illness", "note", "remark"]);
    let count = release.count(&["zip", "amount"], &["illness"]);
    assert!(count.rows == KEPT as u64 && count.smallest >= 4 && count.fewest[0] >= 2, "{count:?}");
}

#[test]
fn failures_on_planted_files_tell_nothing() {
    let sandbox = sandbox("parquet");
    let file = "input/canary-folder/canary-file.parquet";
    let select = |what: &str| format!("SELECT {what} FROM '{file}'");
    let (cast, divide) = (select("CAST(person AS BIGINT)"), select("1 / (number - number)"));
    let (stamp, missing) = (select("to_timestamp(zip)"), select("nothing"));
    let arrow = select("arrow_cast(illness, 'Int8')");
    let release = format!("CREATE VIEW v AS {}; SELECT * FROM anonymize('v', 'lacking.toml')", select("*"));
    let lacking = fs::read_to_string(sandbox.path("policy.toml")).unwrap().replace("zip.csv", "lacking.csv");
    sandbox.write("lacking.toml", lacking);
    sandbox.write("lacking.csv", "elsewhere;region 1;*\nanywhere;region 2;*\n");
    let mut seen = Vec::new();
    let failing: [(&[&str], i32); 12] = [
        (&["run", "policy.toml", "-k", "1000"], 3),
        (&["check", "policy.toml", "-k", "9", "-p", "8"], 3),
        (&["run", "lacking.toml"], 65),
        (&["check", "lacking.toml"], 65),
        (&["plan", "lacking.toml"], 65),
        (&["verify", file, "--quasi", "zip,amount", "--sensitive", "illness", "-k", "4", "-p", "2"], 4),
        (&["sql", "-c", &cast], 65),
        (&["sql", "-c", &divide], 65),
        (&["sql", "-c", &stamp], 65),
        (&["sql", "-c", &missing], 2),
        (&["sql", "-c", &arrow], 65),
        (&["sql", "-c", &release], 65),
    ];
    for (arguments, code) in failing {
        for format in ["text", "json"] {
            let arguments = [arguments, &["-vv", "--log-format", format]].concat();
            let ended: Ended = command(&sandbox, &arguments).output().unwrap().into();
            assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
            seen.extend(said(&sandbox, &arguments.join(" "), &ended));
        }
    }
    assert_eq!(leaks(&seen), Vec::<String>::new());
    assert_eq!(sandbox.out(), Vec::<String>::new());
}

/// A batch without rows still has a schema with metadata.
#[test]
fn an_empty_part_brings_nothing_either() {
    let sandbox = sandbox("parquet");
    let whole = people();
    let columns = whole.columns().iter().map(|column| new_empty_array(column.data_type())).collect();
    let empty = RecordBatch::try_new_with_options(whole.schema(), columns, &RecordBatchOptions::new()).unwrap();
    write_planted_parquet(&sandbox.path("input/canary-folder/empty.parquet"), &empty);
    let ended: Ended = command(&sandbox, &["run", "policy.toml", "-vv"]).output().unwrap().into();
    let mut seen = said(&sandbox, "the logs", &ended);
    ended.done();
    seen.extend(published(&sandbox.path("out")));
    assert_eq!(leaks(&seen), Vec::<String>::new());
}
