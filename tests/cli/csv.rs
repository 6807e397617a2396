//! Particularities of CSV: types are inferred, and columns are matched by position.

use crate::release_files::{Rows, read};
use crate::sandbox::Sandbox;

const COLUMNS: &str = "[columns.name]\nrole = \"identifier\"\n[columns.city]\nrole = \"insensitive\"\n\
                       [columns.age]\nrole = \"quasi\"\n";

fn sandbox(columns: &str, files: &[(&str, String)]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.policy(3, 1, columns);
    for (name, text) in files {
        sandbox.write(&format!("input/{name}"), text);
    }
    sandbox
}

#[test]
fn files_whose_columns_changed_places_are_refused() {
    let row = |i: usize| format!("SECRET{i},{},{}\n", 10_000 + i, 20 + i % 2);
    let swapped = |i: usize| format!("{},SECRET{i},{}\n", 10_000 + i, 20 + i % 2);
    let first = format!("name,city,age\n{}", (0..10).map(row).collect::<String>());
    let second = format!("city,name,age\n{}", (10..20).map(swapped).collect::<String>());
    let sandbox = sandbox(COLUMNS, &[("a.csv", first), ("b.csv", second)]);
    let message = sandbox.run_refused(65, &[]);
    assert!(message.contains("column `city` is where `name` was"), "{message}");
}

#[test]
fn a_code_keeps_its_leading_zeros() {
    let row = |i: usize| format!("N{i},{:05},{}\n", 3501 + i, 20 + i % 2);
    let text = format!("name,city,age\n{}", (0..20).map(row).collect::<String>());
    let sandbox = sandbox(COLUMNS, &[("a.csv", text)]);
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    let mut cities: Vec<String> = released.column("city").iter().flatten().cloned().collect();
    cities.sort();
    assert_eq!(cities, (0..20).map(|i| format!("{:05}", 3501 + i)).collect::<Vec<_>>());
    assert!(released.column("age").iter().flatten().all(|age| age == "20" || age == "21"));
}

#[test]
fn times_with_and_without_fractions_are_times_however_they_are_filed() {
    let row = |i: usize, fraction: &str| format!("N{i},2024-01-0{}T10:00:00{fraction},20\n", 1 + i % 3);
    let whole: String = (0..9).map(|i| row(i, "")).collect();
    let broken: String = (9..18).map(|i| row(i, ".500")).collect();
    let columns = COLUMNS.replace("insensitive", "quasi");
    let release = |files: &[(&str, String)]| {
        let sandbox = sandbox(&columns, files);
        sandbox.run(&[]);
        std::fs::read(sandbox.release().join("part-00000.parquet")).unwrap()
    };
    let head = "name,city,age\n";
    let one = release(&[("a.csv", format!("{head}{whole}{broken}"))]);
    let two = release(&[("a.csv", format!("{head}{whole}")), ("b.csv", format!("{head}{broken}"))]);
    assert!(one == two, "the release depends on how the rows are filed");
}
