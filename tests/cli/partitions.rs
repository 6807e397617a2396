//! Folders that hold values of a column, such as `year=2024/`.

use std::fs;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains, policy_text};
use crate::tables::{write_csv, write_parquet};

/// A table in folders of years and cities, with a policy that keeps the years.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (index, folder) in ["year=2023/city=N%2FA", "year=2024/city=Rome", "year=2024/city=__HIVE_DEFAULT_PARTITION__"]
        .into_iter()
        .enumerate()
    {
        let folder = sandbox.path("input").join(folder);
        fs::create_dir_all(&folder).unwrap();
        write_parquet(&folder.join("people.parquet"), &people(150).slice(50 * index, 50));
    }
    sandbox
}

const KEPT: &str = "[columns.year]\nrole = \"insensitive\"\n[columns.city]\nrole = \"insensitive\"\n";

#[test]
fn values_of_folders_are_columns_that_a_policy_must_name() {
    let sandbox = sandbox();
    sandbox.policy(3, 1, COLUMNS);
    assert_contains(&sandbox.run_refused(78, &[]), &["`year`", "`city`"]);
    sandbox.policy(3, 1, &format!("{COLUMNS}{KEPT}"));
    sandbox.run(&[]);
    let batch = read(&sandbox.release());
    assert_eq!(batch.schema().field_with_name("year").unwrap().data_type().to_string(), "Int64");
    let released = Rows::of(&batch);
    assert_eq!(batch.num_rows(), 150);
    for (row, (year, city)) in
        released.column("row").iter().zip(released.column("year").iter().zip(released.column("city")))
    {
        let (year, city) = (year.as_deref(), city.as_deref());
        match (row.as_ref().unwrap().parse::<i64>().unwrap() - 1_000_000) / 50 {
            0 => assert_eq!((year, city), (Some("2023"), Some("N/A"))),
            1 => assert_eq!((year, city), (Some("2024"), Some("Rome"))),
            _ => assert_eq!((year, city), (Some("2024"), None)),
        }
    }
    let counted = sandbox.throng(&[
        "sql",
        "--format",
        "csv",
        "-c",
        "SELECT year, count(*) AS n FROM 'input/' GROUP BY year ORDER BY year",
    ]);
    assert_contains(&counted.stdout, &["2023,50", "2024,100"]);
}

#[test]
fn a_partition_column_may_be_a_quasi_identifier_and_verify_sees_it() {
    let sandbox = sandbox();
    let columns = format!("{COLUMNS}[columns.year]\nrole = \"quasi\"\n[columns.city]\nrole = \"identifier\"\n");
    sandbox.policy(3, 1, &columns);
    sandbox.run(&[]);
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
    // A release in folders has their columns too: one that the policy does not release is refused.
    fs::create_dir_all(sandbox.path("apart/secret=1")).unwrap();
    let file = fs::read_dir(sandbox.release())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "parquet"));
    fs::copy(file.unwrap(), sandbox.path("apart/secret=1/part.parquet")).unwrap();
    assert_contains(&sandbox.throng(&["verify", "apart", "--policy", "policy.toml"]).refused(4), &["`secret`"]);
}

#[test]
fn folders_and_files_that_contradict_each_other_are_refused() {
    let sandbox = sandbox();
    sandbox.policy(3, 1, &format!("{COLUMNS}{KEPT}"));
    let more = sandbox.path("input/year=2025/town=Rome");
    fs::create_dir_all(&more).unwrap();
    write_parquet(&more.join("people.parquet"), &people(50));
    let said = sandbox.run_refused(65, &[]);
    assert_contains(&said, &["`year`, `city`", "`year`, `town`"]);
    assert!(!said.contains("Rome"), "{said}");
    fs::remove_dir_all(sandbox.path("input/year=2025")).unwrap();
    write_parquet(&sandbox.path("input/people.parquet"), &people(50));
    assert_contains(&sandbox.run_refused(65, &[]), &["no column"]);
    fs::remove_file(sandbox.path("input/people.parquet")).unwrap();
    let age = sandbox.path("ages/age=30");
    fs::create_dir_all(&age).unwrap();
    write_parquet(&age.join("people.parquet"), &people(50));
    assert_contains(&sandbox.run_refused(65, &["--input", "ages"]), &["column `age`", "folders"]);
    // A damaged file is named without the values of its folders.
    sandbox.write("input/year=2024/city=Rome/people.parquet", "no Parquet at all");
    let said = sandbox.run_refused(65, &[]);
    assert_contains(&said, &["year=…/city=…/people.parquet"]);
    assert!(!said.contains("Rome") && !said.contains("2024"), "{said}");
}

#[test]
fn codes_and_dates_keep_their_meaning_in_every_format() {
    let sandbox = Sandbox::new();
    for (month, day) in [("01", "2024-01-31"), ("12", "2024-12-24")] {
        let folder = sandbox.path(&format!("csv/month={month}/day={day}"));
        fs::create_dir_all(&folder).unwrap();
        write_csv(&folder.join("people.csv"), &people(50));
    }
    let kept = "[columns.month]\nrole = \"insensitive\"\n[columns.day]\nrole = \"insensitive\"\n";
    sandbox.write("policy.toml", policy_text("csv/", 3, 1, &format!("{COLUMNS}{kept}")));
    sandbox.run(&[]);
    let batch = read(&sandbox.release());
    let kind = |name: &str| batch.schema().field_with_name(name).unwrap().data_type().to_string();
    assert!(kind("month").starts_with("Utf8"), "{}", kind("month"));
    assert_eq!(kind("day"), "Date32");
    let months = Rows::of(&batch);
    assert_eq!(months.column("month").iter().filter(|cell| cell.as_deref() == Some("01")).count(), 50);
}

#[test]
fn one_folder_is_a_table_without_its_column() {
    let sandbox = sandbox();
    sandbox.policy(3, 1, COLUMNS);
    sandbox.run(&["--input", "input/year=2024/city=Rome/"]);
}
