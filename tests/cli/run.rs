//! `throng run`: releases compared with their inputs.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::fixture_table::{COLUMNS, KEPT, QUASI, REGIONS, people};
use crate::label_covers::{Domain, set_covers};
use crate::release_files::{Cell, Rows, data_files, multiset, read, read_file};
use crate::sandbox::{Sandbox, names};
use crate::tables::table;

const K: u64 = 5;
const P: u64 = 2;

fn released(rows: usize) -> (Rows, Rows, Sandbox, Value) {
    let input = people(rows);
    let sandbox = Sandbox::with(&input, K, P, COLUMNS);
    let outcome = sandbox.run(&[]);
    (Rows::of(&input), Rows::of(&read(&sandbox.release())), sandbox, outcome)
}

#[test]
fn every_class_has_k_rows_and_p_sensitive_values() {
    let (_, release, sandbox, outcome) = released(800);
    let count = release.count(&QUASI, &["diagnosis"]);
    assert!(count.smallest >= K, "{count:?}");
    assert!(count.fewest[0] >= P, "{count:?}");
    assert!(count.classes > 20, "the release is coarser than it must be: {} classes", count.classes);
    assert_eq!(outcome["outcome"], "released");
    assert_eq!(outcome["rows"], 800);
    assert_eq!(outcome["suppressed_rows"], 0);
    assert_eq!(outcome["classes"], count.classes);
    assert_eq!(outcome["satisfied"], true);
    assert_eq!(outcome["output"], sandbox.release().to_str().unwrap());
}

#[test]
fn a_release_has_its_files_and_nothing_else() {
    let (_, release, sandbox, _) = released(300);
    assert_eq!(sandbox.out(), ["release"]);
    let found = names(&sandbox.release());
    let (data, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|name| name.starts_with("part-"));
    assert!(!data.is_empty() && data.iter().all(|name| name.ends_with(".parquet")), "{data:?}");
    assert_eq!(rest, ["_SUCCESS", "_throng"]);
    assert_eq!(names(&sandbox.path("out/release/_throng")), ["manifest.json", "metrics.json"]);
    assert_eq!(std::fs::read(sandbox.path("out/release/_SUCCESS")).unwrap(), b"");
    assert_eq!(release.names(), ["row", "age", "sex", "country", "zip", "diagnosis", "hours"]);
}

#[test]
fn kept_columns_come_out_row_by_row_as_they_went_in() {
    let (input, release, _, _) = released(800);
    assert_eq!(multiset(input.tuples(&KEPT)), multiset(release.tuples(&KEPT)));
}

#[test]
fn the_order_of_the_release_is_not_the_order_of_the_input() {
    let (input, release, _, _) = released(800);
    assert_ne!(input.column("row"), release.column("row"));
    let tuples = release.tuples(&QUASI);
    let runs = 1 + tuples.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(runs as u64, release.count(&QUASI, &[]).classes, "the rows of a class lie together");
    let ids: Vec<i64> = release.column("row").iter().map(|id| id.as_ref().unwrap().parse().unwrap()).collect();
    let rising = tuples.windows(2).zip(ids.windows(2)).filter(|(class, id)| class[0] == class[1] && id[0] < id[1]);
    let inside = tuples.windows(2).filter(|class| class[0] == class[1]).count();
    let share = rising.count() as f64 / inside as f64;
    assert!((0.4..0.6).contains(&share), "inside a class rows keep the order of the input: {share}");
}

#[test]
fn every_released_value_covers_the_value_it_replaced() {
    let (input, release, _, _) = released(800);
    let mut ages: Vec<i64> = input.column("age").iter().map(|age| age.as_ref().unwrap().parse().unwrap()).collect();
    ages.sort_unstable();
    let ages = Domain::ascending(ages.iter().map(|age| Some(age.to_string())));
    let region: HashMap<&str, &str> =
        REGIONS.iter().flat_map(|(region, countries)| countries.iter().map(move |c| (*c, *region))).collect();
    let places = release.by("row");
    for row in 0..input.len() {
        let place = places[input.column("row")[row].as_deref().unwrap()];
        let pair = |name: &str| -> (&Cell, &Cell) { (&release.column(name)[place], &input.column(name)[row]) };
        let (label, value) = pair("age");
        assert!(ages.interval_covers(label, value), "age {value:?} is released as {label:?}");
        let (label, value) = pair("sex");
        assert!(set_covers(label, value), "sex {value:?} is released as {label:?}");
        let (label, value) = pair("country");
        let value = value.as_deref().unwrap();
        let above = [value, region[value], "*"];
        assert!(above.contains(&label.as_deref().unwrap()), "country {value} is released as {label:?}");
        let (label, value) = pair("zip");
        assert!(mask_covers(label.as_deref().unwrap(), value.as_deref().unwrap()), "{value:?} as {label:?}");
    }
}

fn mask_covers(label: &str, value: &str) -> bool {
    let visible = label.trim_end_matches('*');
    label == "*" || (label.len() == value.len() && value.starts_with(visible))
}

#[test]
fn k_and_p_of_the_command_line_win() {
    let sandbox = Sandbox::with(&people(400), 3, 1, COLUMNS);
    sandbox.run(&["-k", "20", "-p", "4"]);
    let count = Rows::of(&read(&sandbox.release())).count(&QUASI, &["diagnosis"]);
    assert!(count.smallest >= 20 && count.fewest[0] >= 4, "{count:?}");
}

#[test]
fn a_release_carries_no_metadata_of_the_input() {
    let plain = people(200);
    let tag = |name: &str| std::collections::HashMap::from([(name.to_owned(), "canary-of-the-input".to_owned())]);
    let fields = plain.schema_ref().fields().iter();
    let fields: Vec<Field> = fields.map(|field| field.as_ref().clone().with_metadata(tag("comment"))).collect();
    let schema = Schema::new(fields).with_metadata(tag("pandas"));
    let tagged = RecordBatch::try_new(Arc::new(schema), plain.columns().to_vec()).unwrap();
    let sandbox = Sandbox::with(&tagged, K, P, COLUMNS);
    sandbox.run(&[]);
    for file in data_files(&sandbox.release()) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
        assert!(reader.schema().metadata().is_empty(), "{:?}", reader.schema().metadata());
        assert!(reader.schema().fields().iter().all(|field| !field.metadata().contains_key("comment")));
        let metadata = reader.metadata().file_metadata();
        let keys = metadata.key_value_metadata().into_iter().flatten().map(|pair| pair.key.as_str());
        assert!(keys.into_iter().all(|key| key == "ARROW:schema"), "{metadata:?}");
        assert!(metadata.created_by().unwrap().starts_with("throng "), "{metadata:?}");
    }
}

#[test]
fn suppressed_rows_are_counted_and_no_other_row_is_lost() {
    let ages = Int64Array::from_iter((0..60).map(|row| (row % 6 != 0).then_some(20 + row % 7)));
    let rows = Int64Array::from_iter_values(0..60);
    let input = table(vec![("row", Arc::new(rows)), ("age", Arc::new(ages))]);
    let columns = "[columns.row]\nrole = \"insensitive\"\n[columns.age]\nrole = \"quasi\"\nnulls = \"suppress\"";
    let sandbox = Sandbox::with(&input, 4, 1, columns);
    let outcome = sandbox.run(&[]);
    assert_eq!((&outcome["rows"], &outcome["suppressed_rows"]), (&Value::from(50), &Value::from(10)));
    let release = Rows::of(&read(&sandbox.release()));
    let mut ids: Vec<i64> = release.column("row").iter().map(|id| id.as_ref().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..60).filter(|row| row % 6 != 0).collect::<Vec<_>>());
    assert!(release.column("age").iter().all(Option::is_some));
}

#[test]
fn a_policy_can_leave_unlisted_columns_out() {
    let sandbox = Sandbox::with(&people(200), K, 1, "");
    sandbox.policy(K, 1, "[columns]\ndefault = \"drop\"\n[columns.age]\nrole = \"quasi\"");
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    assert_eq!(Rows::of(&release).names(), ["age"]);
    assert_eq!(release.num_rows(), 200);
    assert_eq!(release.schema().field(0).data_type(), &DataType::Utf8);
}

#[test]
fn a_table_that_is_already_anonymous_is_released_as_it_is() {
    let sexes: StringArray = (0..40).map(|row| Some(["Female", "Male"][row % 2])).collect();
    let sandbox = Sandbox::with(&table(vec![("sex", Arc::new(sexes))]), 20, 1, "[columns.sex]\nrole = \"quasi\"");
    let outcome = sandbox.run(&[]);
    assert_eq!(outcome["ncp"], 0.0);
    let release = read(&sandbox.release());
    let labels = release.column(0).as_any().downcast_ref::<StringArray>().unwrap();
    assert_eq!(multiset(labels.iter().flatten()), HashMap::from([("Female", 20), ("Male", 20)]));
}

#[test]
fn a_policy_says_how_many_rows_a_file_has_and_the_rows_stay_the_same() {
    let (_, _, sandbox, _) = released(800);
    let release = read(&sandbox.release());
    let text = std::fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    for (rows_per_file, expected) in [(300, vec![300, 300, 200]), (799, vec![799, 1]), (800, vec![800])] {
        sandbox.write("policy.toml", text.replace("[output]", &format!("[output]\nrows_per_file = {rows_per_file}")));
        sandbox.run(&["--overwrite"]);
        let files = data_files(&sandbox.release());
        let rows = |file| read_file(file).iter().map(RecordBatch::num_rows).sum::<usize>();
        assert_eq!(files.iter().map(|file| rows(file)).collect::<Vec<_>>(), expected);
        assert_eq!(read(&sandbox.release()), release);
    }
}

#[test]
fn a_run_to_which_nobody_listens_still_publishes() {
    let sandbox = Sandbox::with(&people(200), K, 1, COLUMNS);
    let mut run = sandbox.start(&["run", "policy.toml"]);
    drop((run.stdout.take(), run.stderr.take()));
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(read(&sandbox.release()).num_rows(), 200);
}
