//! `mode = "append"` and `--follow`: more files of one release.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use serde_json::Value;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, data_files, multiset, read, read_file};
use crate::sandbox::{Sandbox, assert_contains, contents};
use crate::tables::write_parquet;

const K: u64 = 4;
const P: u64 = 2;

/// An appended release of the first `rows` people.
fn sandbox(rows: usize) -> Sandbox {
    let sandbox = Sandbox::with(&people(rows), K, P, COLUMNS);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nmode = \"append\"\n"));
    age(&sandbox, "people");
    sandbox
}

/// Adds an input file.
fn arrive(sandbox: &Sandbox, name: &str, rows: &RecordBatch) {
    write_parquet(&sandbox.path(&format!("input/{name}.parquet")), rows);
    age(sandbox, name);
}

/// Sets the time of an input file to the past, so that it no longer counts as being written.
fn age(sandbox: &Sandbox, name: &str) {
    let file = fs::File::options().write(true).open(sandbox.path(&format!("input/{name}.parquet"))).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
}

fn manifest(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng/manifest.json")).unwrap()).unwrap()
}

/// Returns the files of each append: those of one run.
fn appends(sandbox: &Sandbox) -> BTreeMap<String, Vec<PathBuf>> {
    let mut appends: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in data_files(&sandbox.release()) {
        let run = file.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
        appends.entry(run).or_default().push(file);
    }
    appends
}

/// Attacks the files of each append separately, as someone who knows when each row arrived. Every row must occur once.
fn attack(sandbox: &Sandbox, rows: usize) {
    for files in appends(sandbox).into_values() {
        let batches: Vec<RecordBatch> = files.iter().flat_map(|file| read_file(file)).collect();
        let seen = Rows::of(&concat_batches(&batches[0].schema(), &batches).unwrap());
        let count = seen.count(&QUASI, &["diagnosis"]);
        assert!(count.smallest >= K && count.fewest[0] >= P, "{count:?}");
    }
    let numbers = |rows: &RecordBatch| multiset(Rows::of(rows).column("row").to_vec());
    assert_eq!(numbers(&read(&sandbox.release())), numbers(&people(rows)), "every row is released once");
}

fn verify(sandbox: &Sandbox) -> Value {
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()
}

#[test]
fn rows_of_new_files_are_added_and_others_are_left_alone() {
    let sandbox = sandbox(500);
    let all = people(900);
    let first = sandbox.run(&[]);
    assert_eq!((&first["rows"], &first["append"]["new_files"]), (&500.into(), &1.into()), "{first}");
    let before = contents(&sandbox.release());

    arrive(&sandbox, "more", &all.slice(500, 300));
    arrive(&sandbox, "and-more", &all.slice(800, 100));
    let second = sandbox.run(&[]);
    let append = &second["append"];
    assert_eq!((&second["rows"], &append["new_files"], &append["known_files"]), (&400.into(), &2.into(), &1.into()));
    assert_eq!(
        (&append["appends"], &append["total_rows"], &append["total_files"]),
        (&2.into(), &900.into(), &2.into())
    );
    let after = contents(&sandbox.release());
    let is_data = |path: &PathBuf| path.to_str().unwrap().ends_with(".parquet");
    for (path, bytes) in before.iter().filter(|(path, _)| is_data(path)) {
        assert!(after.get(path) == Some(bytes), "a file of the first append was touched");
    }
    assert_eq!((after.keys().filter(|path| is_data(path)).count(), appends(&sandbox).len()), (2, 2));
    attack(&sandbox, 900);
    assert_eq!(verify(&sandbox)["satisfied"], true);

    // The manifest lists all files, and names no input file.
    let manifest = manifest(&sandbox);
    assert_eq!(manifest["files"].as_array().unwrap().len(), 2);
    assert_eq!(manifest["appended"]["files"].as_array().unwrap().len(), 3);
    assert!(!manifest.to_string().contains("people") && !manifest.to_string().contains("more"), "{manifest}");
}

#[test]
fn a_file_is_released_once_and_a_changed_one_is_refused() {
    let sandbox = sandbox(400);
    sandbox.run(&[]);
    let before = contents(&sandbox.path("out"));
    let unchanged = |why: &str| {
        let outcome = sandbox.run(&[]);
        assert_eq!((&outcome["outcome"], &outcome["append"]["new_files"]), (&"unchanged".into(), &0.into()), "{why}");
        assert_eq!(contents(&sandbox.path("out")), before, "{why}");
    };
    unchanged("the same file");
    fs::copy(sandbox.path("input/people.parquet"), sandbox.path("input/copy.parquet")).unwrap();
    unchanged("a copy of it");
    fs::remove_file(sandbox.path("input/people.parquet")).unwrap();
    unchanged("a renamed file");
    write_parquet(&sandbox.path("input/people.parquet"), &people(401));
    assert_contains(&sandbox.run_refused(65, &[]), &["people.parquet has changed", "a file of their own"]);
    fs::remove_file(sandbox.path("input/people.parquet")).unwrap();
    assert_contains(&sandbox.run_refused(78, &["-k", "5"]), &["the policy", "choose another location"]);
    assert_eq!(contents(&sandbox.path("out")), before);
}

#[test]
fn too_few_new_rows_wait_for_more() {
    let (sandbox, all) = (sandbox(300), people(320));
    sandbox.run(&[]);
    let before = contents(&sandbox.path("out"));
    arrive(&sandbox, "few", &all.slice(300, 2));
    sandbox.run_refused(3, &[]);
    assert_eq!(contents(&sandbox.path("out")), before);
    arrive(&sandbox, "rest", &all.slice(302, 18));
    assert_eq!(sandbox.run(&[])["rows"], 20);
    attack(&sandbox, 320);
    // A file without rows waits like one with too few, and goes with the next one.
    let all = people(350);
    arrive(&sandbox, "none", &all.slice(0, 0));
    assert_contains(&sandbox.run_refused(3, &[]), &["no rows", "wait"]);
    arrive(&sandbox, "more", &all.slice(320, 30));
    assert_eq!(sandbox.run(&[])["rows"], 30);
    attack(&sandbox, 350);
}

#[test]
fn only_an_appended_release_of_the_same_columns_is_appended_to() {
    let sandbox = sandbox(300);
    sandbox.run(&["--overwrite"]);
    assert_contains(&sandbox.run_refused(78, &[]), &["was not made by appending"]);
    fs::remove_dir_all(sandbox.release()).unwrap();
    sandbox.run(&[]);
    let other = people(500).slice(300, 200);
    let hours =
        arrow::compute::cast(other.column_by_name("hours").unwrap(), &arrow::datatypes::DataType::Float32).unwrap();
    let schema = other.schema();
    let columns = schema.fields().iter().map(|field| {
        let column = other.column_by_name(field.name()).unwrap();
        (field.name().clone(), if field.name() == "hours" { hours.clone() } else { column.clone() })
    });
    arrive(&sandbox, "other", &RecordBatch::try_from_iter(columns).unwrap());
    assert_contains(&sandbox.run_refused(65, &[]), &["other columns or types"]);
}

#[test]
fn an_append_that_is_broken_is_found() {
    let sandbox = sandbox(300);
    sandbox.run(&[]);
    arrive(&sandbox, "more", &people(400).slice(300, 100));
    sandbox.run(&[]);
    // The files of the two appends are split differently: all rows together keep the promise, but those of a file do
    // not.
    let mut files: Vec<PathBuf> = data_files(&sandbox.release());
    files.sort();
    let rows =
        files.iter().map(|file| read_file(file)).map(|batches| concat_batches(&batches[0].schema(), &batches).unwrap());
    let rows: Vec<RecordBatch> = rows.collect();
    let whole = concat_batches(&rows[0].schema(), &rows).unwrap();
    let mut manifest = manifest(&sandbox);
    for (file, (at, count)) in files.iter().zip([(0, 1), (1, 399)]) {
        write_parquet(file, &whole.slice(at, count));
        let entries = manifest["files"].as_array_mut().unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let entry = entries.iter_mut().find(|entry| entry["path"] == name).unwrap();
        let sum = Command::new("sha256sum").arg(file).output().unwrap();
        entry["sha256"] = String::from_utf8(sum.stdout).unwrap()[..64].into();
        entry["bytes"] = fs::metadata(file).unwrap().len().into();
        entry["rows"] = count.into();
    }
    fs::write(sandbox.release().join("_throng/manifest.json"), manifest.to_string()).unwrap();
    let found = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]);
    assert_eq!(found.code, Some(4), "{found:?}");
}

#[test]
fn the_sidecar_has_the_sums_over_all_appends() {
    let sandbox = sandbox(300);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let policy =
        text.replace("[columns.age]\nrole = \"quasi\"", "[columns.age]\nrole = \"quasi\"\nnulls = \"suppress\"");
    sandbox.write("policy.toml", policy);
    let sidecar = || -> Value {
        serde_json::from_slice(&fs::read(sandbox.release().join("_throng/metrics.json")).unwrap()).unwrap()
    };
    sandbox.run(&[]);
    let first = sidecar();
    assert_eq!((&first["append"]["appends"], &first["append"]["rows"]), (&1.into(), &300.into()));
    // Two of the new rows have no age.
    let more = people(420).slice(300, 120);
    let ages = more.column_by_name("age").unwrap();
    let ages =
        arrow::compute::concat(&[&arrow::array::new_null_array(ages.data_type(), 2), &ages.slice(2, 118)]).unwrap();
    let schema = more.schema();
    let columns = schema.fields().iter().zip(more.columns());
    let columns =
        columns.map(|(field, column)| (field.name(), if field.name() == "age" { &ages } else { column }.clone()));
    arrive(&sandbox, "more", &RecordBatch::try_from_iter(columns).unwrap());
    sandbox.run(&[]);
    let second = sidecar();
    assert_eq!((&second["output"]["rows"], &second["output"]["suppressed_rows"]), (&118.into(), &2.into()), "{second}");
    let sum = |field: &str| first["utility"][field].as_u64().unwrap() + second["utility"][field].as_u64().unwrap();
    let sizes: u64 = data_files(&sandbox.release()).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    let expected = [
        ("appends", 2),
        ("input_files", 2),
        ("rows", 418),
        ("files", 2),
        ("bytes", sizes),
        ("input_rows", 420),
        ("suppressed_rows", 2),
        ("classes", sum("classes")),
    ];
    for (field, number) in expected {
        assert_eq!(second["append"][field], number, "{field} of {second}");
    }
    // Counted from outside: classes of each append.
    let classes = appends(&sandbox).into_values().map(|files| {
        let batches: Vec<RecordBatch> = files.iter().flat_map(|file| read_file(file)).collect();
        Rows::of(&concat_batches(&batches[0].schema(), &batches).unwrap()).count(&QUASI, &["diagnosis"]).classes
    });
    assert_eq!(second["append"]["classes"], classes.sum::<u64>());

    // A release that was begun without totals gets none.
    let mut old = manifest(&sandbox);
    old["appended"].as_object_mut().unwrap().remove("totals");
    fs::write(sandbox.release().join("_throng/manifest.json"), old.to_string()).unwrap();
    arrive(&sandbox, "last", &people(520).slice(420, 100));
    sandbox.run(&[]);
    let third = sidecar();
    assert_eq!((&third["append"]["rows"], third["append"].get("classes")), (&518.into(), None), "{third}");
}

#[test]
fn an_append_counts_units_where_people_have_several_rows() {
    // Each person has three rows.
    let visits = |from: usize, rows: usize| {
        let table = people(from + rows).slice(from, rows);
        let names = crate::tables::strings((from..from + rows).map(|row| format!("person {:05}", row / 3)));
        let schema = table.schema();
        let columns = schema.fields().iter().zip(table.columns());
        let columns =
            columns.map(|(field, column)| (field.name(), if field.name() == "name" { &names } else { column }.clone()));
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let sandbox = sandbox(3);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[privacy]\n", "[privacy]\nunit = \"name\"\n"));
    arrive(&sandbox, "people", &visits(0, 300));
    sandbox.run(&[]);
    arrive(&sandbox, "more", &visits(300, 150));
    sandbox.run(&[]);
    for files in appends(&sandbox).into_values() {
        let batches: Vec<RecordBatch> = files.iter().flat_map(|file| read_file(file)).collect();
        let rows = Rows::of(&concat_batches(&batches[0].schema(), &batches).unwrap());
        let mut units: std::collections::HashMap<_, std::collections::HashSet<i64>> = Default::default();
        for (class, row) in rows.tuples(&QUASI).into_iter().zip(rows.column("row")) {
            let row: i64 = row.as_deref().unwrap().parse().unwrap();
            units.entry(class).or_default().insert((row - 1_000_000) / 3);
        }
        assert!(units.values().all(|units| units.len() as u64 >= K), "a class has rows of too few people");
    }
    // Nine rows of three people are too few.
    arrive(&sandbox, "few", &visits(450, 9));
    sandbox.run_refused(3, &[]);
}

#[test]
fn a_manifest_that_is_lost_damaged_or_older_says_how_to_go_on() {
    let sandbox = sandbox(300);
    let path = sandbox.release().join("_throng/manifest.json");
    sandbox.run(&[]);
    let older = fs::read(&path).unwrap();
    arrive(&sandbox, "more", &people(400).slice(300, 100));
    sandbox.run(&[]);
    let newer = fs::read(&path).unwrap();
    let refused = |parts: &[&str]| {
        let before = contents(&sandbox.path("out"));
        assert_contains(&sandbox.run_refused(78, &[]), parts);
        assert_eq!(contents(&sandbox.path("out")), before);
    };
    fs::remove_file(&path).unwrap();
    refused(&["manifest", "lost", "restore it from a backup"]);
    fs::write(&path, &newer[..100]).unwrap();
    refused(&["manifest", "damaged"]);
    fs::write(&path, &older).unwrap();
    refused(&["manifest", "older than its release"]);
    fs::write(&path, &newer).unwrap();
    assert_eq!(sandbox.run(&[])["outcome"], "unchanged");
    attack(&sandbox, 400);
}

#[test]
fn a_new_column_is_refused_until_the_policy_names_it() {
    let sandbox = sandbox(300);
    sandbox.run(&[]);
    let before = contents(&sandbox.path("out"));
    let more = people(400).slice(300, 100);
    let schema = more.schema();
    let columns = schema.fields().iter().map(|field| field.name().clone()).zip(more.columns().iter().cloned());
    let added = ("shoe_size".to_owned(), more.column_by_name("age").unwrap().clone());
    arrive(&sandbox, "more", &RecordBatch::try_from_iter(columns.chain([added])).unwrap());
    assert_contains(&sandbox.run_refused(78, &[]), &["shoe_size"]);
    assert_eq!(contents(&sandbox.path("out")), before);
    arrive(&sandbox, "more", &more);
    sandbox.run(&[]);
    attack(&sandbox, 400);
}

#[test]
fn of_two_appends_at_once_both_follow_each_other_or_one_is_refused() {
    let sandbox = sandbox(1_000);
    sandbox.run(&[]);
    arrive(&sandbox, "more", &people(2_000).slice(1_000, 1_000));
    let started = [sandbox.start(&["run", "policy.toml"]), sandbox.start(&["run", "policy.toml"])];
    let ended = started.map(|run| crate::sandbox::Ended::from(run.wait_with_output().unwrap()));
    let added = ended.iter().filter(|ended| ended.code == Some(0) && ended.json()["outcome"] == "released").count();
    assert_eq!(added, 1, "{ended:?}");
    for ended in ended.iter().filter(|ended| ended.code != Some(0)) {
        assert_contains(&ended.refused(75), &["another run published to", "its release stands"]);
    }
    assert_eq!(sandbox.run(&[])["outcome"], "unchanged");
    attack(&sandbox, 2_000);
    assert_eq!(verify(&sandbox)["satisfied"], true);
}

#[cfg(unix)]
#[test]
fn an_append_that_is_killed_leaves_the_old_state_or_the_new_one() {
    let sandbox = sandbox(2_000);
    sandbox.run(&[]);
    let mut rows = 2_000;
    for (number, delay) in [0, 30, 60, 90, 120, 180, 240, 360].into_iter().enumerate() {
        arrive(
            &sandbox,
            &format!("more-{number}"),
            &people(2_000 + 200 * (number + 1)).slice(2_000 + 200 * number, 200),
        );
        let mut run = sandbox.start(&["run", "policy.toml"]);
        std::thread::sleep(Duration::from_millis(delay));
        run.kill().unwrap();
        run.wait().unwrap();
        let standing = manifest(&sandbox);
        let listed = |field: &str| {
            standing["files"].as_array().unwrap().iter().map(|file| file[field].as_u64().unwrap()).sum::<u64>()
        };
        let now = listed("rows");
        assert!(now >= rows && now <= 2_000 + 200 * (number as u64 + 1), "{now} rows after {rows}");
        assert_eq!(read(&sandbox.release()).num_rows() as u64, now);
        rows = now;
    }
    sandbox.throng(&["run", "policy.toml"]).done();
    attack(&sandbox, 3_600);
    assert_eq!(verify(&sandbox)["satisfied"], true);
}

#[cfg(unix)]
#[test]
fn follow_appends_new_files_until_it_is_asked_to_end() {
    let (sandbox, all) = (sandbox(300), people(900));
    let mut run = sandbox.start(&["run", "policy.toml", "--follow", "--poll", "50ms"]);
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["rows"], 300);
    arrive(&sandbox, "second", &all.slice(300, 200));
    assert_eq!(next()["append"]["total_rows"], 500);
    // A file that is still being written is deferred; so are too few rows.
    arrive(&sandbox, "third", &all.slice(500, 2));
    write_parquet(&sandbox.path("input/fourth.parquet"), &all.slice(502, 398));
    let start = Instant::now();
    let fourth = next();
    assert_eq!((&fourth["rows"], &fourth["append"]["total_rows"]), (&400.into(), &900.into()), "{fourth}");
    assert!(start.elapsed() > Duration::from_millis(1_500), "it was taken while it could still be written");
    assert!(Command::new("kill").args(["-TERM", &run.id().to_string()]).status().unwrap().success());
    let last = next();
    assert_eq!((&last["outcome"], &last["appends"], &last["rows"]), (&"stopped".into(), &3.into(), &900.into()));
    assert_eq!(run.wait().unwrap().code(), Some(0));
    attack(&sandbox, 900);
}

#[test]
fn follow_needs_a_release_that_is_appended_to() {
    let sandbox = Sandbox::with(&people(50), K, P, COLUMNS);
    let refused = sandbox.throng(&["run", "policy.toml", "--follow"]).refused(2);
    assert_contains(&refused, &["mode = \"append\""]);
    let refused = sandbox.throng(&["run", "policy.toml", "--poll", "1s"]).refused(2);
    assert_contains(&refused, &["--follow"]);
}
