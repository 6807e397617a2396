//! Large inputs of every kind: many columns, many leaves, long policies, one row group for everything.

use std::fmt::Write;
use std::fs::{self, File};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Ended, Sandbox, assert_contains, names, policy_text};
use crate::tables::{strings, table, write_csv, write_parquet};

#[test]
fn five_thousand_columns_are_dropped_by_default() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20));
    let extra: Vec<String> = (0..5000).map(|number| format!("measure_{number}")).collect();
    let mut columns = vec![("age", numbers.clone())];
    columns.extend(extra.iter().map(|name| (name.as_str(), numbers.clone())));
    let input = table(columns);
    let role = "[columns.age]\nrole = \"quasi\"\n";
    for name in ["people.parquet", "people.csv"] {
        let sandbox = Sandbox::new();
        let path = sandbox.path("input").join(name);
        if name.ends_with("csv") {
            write_csv(&path, &input)
        } else {
            write_parquet(&path, &input)
        }
        sandbox.policy(5, 1, &format!("[columns]\ndefault = \"drop\"\n{role}"));
        assert_eq!(sandbox.run(&[])["rows"], 20);
        assert_eq!(Rows::of(&read(&sandbox.release())).names(), ["age"]);
    }
    // By default each of them is an error, reported once for all.
    let sandbox = Sandbox::with(&input, 5, 1, role);
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["`measure_0`", "default = \"drop\""]);
}

/// Returns the lines of a hierarchy with `leaves` values in a hundred groups.
fn hierarchy(leaves: usize) -> String {
    (0..leaves).fold(String::new(), |mut text, leaf| {
        writeln!(text, "code {leaf};group {};*", leaf % 100).unwrap();
        text
    })
}

#[test]
fn a_hierarchy_of_a_hundred_thousand_leaves_is_fine() {
    let codes = strings((0..600).map(|row| format!("code {}", row * 157)));
    let input = table(vec![("code", codes)]);
    let sandbox = Sandbox::with(&input, 3, 1, "[columns.code]\nrole = \"quasi\"\nhierarchy = \"codes.csv\"");
    sandbox.write("codes.csv", hierarchy(100_000));
    assert_eq!(sandbox.run(&[])["rows"], 600);
    let release = Rows::of(&read(&sandbox.release()));
    let count = release.count(&["code"], &[]);
    assert!(count.smallest >= 3 && count.classes >= 50, "{count:?}");
    // The last line is validated like the first.
    sandbox.write("codes.csv", hierarchy(100_000) + "code 5;group 5;*\n");
    let message = sandbox.run_refused(78, &["--overwrite"]);
    assert_contains(&message, &["columns.code.hierarchy", "line 100001", "repeats the value of line 6"]);
}

#[test]
fn a_policy_of_ten_megabytes_is_read() {
    const MEGABYTES: usize = 10 << 20;
    let codes = strings((0..60).map(|row| format!("code {row}")));
    let sandbox = Sandbox::with(&table(vec![("code", codes)]), 3, 1, "");
    let lines = hierarchy(MEGABYTES / 20);
    let policy =
        policy_text("input/", 3, 1, &format!("[columns.code]\nrole = \"quasi\"\nhierarchy.lines = '''\n{lines}'''\n"));
    assert!(policy.len() > MEGABYTES, "{}", policy.len());
    sandbox.write("policy.toml", policy);
    assert_eq!(sandbox.run(&[])["rows"], 60);
}

#[test]
fn long_policies_that_are_none_are_refused() {
    let sandbox = Sandbox::with(&people(30), 3, 1, COLUMNS);
    let sound = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let nested = format!("{sound}\n[columns.deep]\nrole = {}", "[".repeat(10 << 20));
    let many = (0..100_000).fold(sound.clone(), |mut text, number| {
        writeln!(text, "[columns.c{number}]\nrole = \"identifier\"").unwrap();
        text
    });
    let dotted = format!("{sound}\n[columns.{}]\nrole = \"quasi\"", vec!["a"; 100_000].join("."));
    for (text, says) in [
        (nested, "policy.toml:"),
        (many, "no such column"),
        (dotted, "policy.toml:"),
        ("x".repeat(10 << 20), "policy.toml:"),
        ("\u{0}".repeat(10 << 20), "policy.toml:"),
    ] {
        sandbox.write("policy.toml", text);
        let message = sandbox.run_refused(78, &[]);
        assert_contains(&message, &[says]);
        assert!(message.len() < 100_000, "a message of {} bytes", message.len());
    }
}

#[test]
fn one_row_group_of_all_rows_is_read_within_little_memory() {
    const ROWS: usize = 200_000;
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("spill")).unwrap();
    let input = people(ROWS);
    let properties = WriterProperties::builder().set_max_row_group_row_count(None).build();
    let file = File::create(sandbox.path("input/people.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, input.schema(), Some(properties)).unwrap();
    writer.write(&input).unwrap();
    assert_eq!(writer.close().unwrap().num_row_groups(), 1);
    sandbox.policy(5, 2, COLUMNS);
    let mut command = sandbox.command(&["run", "policy.toml", "--memory-limit", "160MiB"]);
    let ended: Ended = command.env("TMPDIR", sandbox.path("spill")).output().unwrap().into();
    assert_eq!(ended.done()["rows"], ROWS);
    let count = Rows::of(&read(&sandbox.release())).count(&QUASI, &["diagnosis"]);
    assert!(count.rows == ROWS as u64 && count.smallest >= 5 && count.fewest[0] >= 2, "{:?}", count.sizes.first());
    assert_eq!(names(&sandbox.path("spill")), Vec::<String>::new());
}
