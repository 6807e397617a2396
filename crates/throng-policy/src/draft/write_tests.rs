use std::path::Path;

use arrow::array::{ArrayRef, Date32Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema};

use super::*;
use crate::draft::role::guess;
use crate::{Overrides, Policy};

fn column(name: &str, values: ArrayRef) -> DraftColumn {
    let mut profile = Profile::new(values.data_type());
    profile.push(&values);
    let guess = guess(name, &profile, values.data_type());
    DraftColumn { name: name.to_owned(), data_type: values.data_type().clone(), profile, guess, same_days_as: None }
}

fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    std::sync::Arc::new(Int64Array::from_iter_values(values))
}

#[test]
fn names_and_locations_can_not_break_out_of_their_place() {
    let name = "a\"]\n[privacy]\nk = 1 # \u{1b}[0m";
    let values = StringArray::from_iter_values((0..100).map(|row| format!("v{}", row % 3)));
    let columns = [column(name, std::sync::Arc::new(values)), column("age", numbers((0..100).map(|row| row % 9)))];
    let text = policy(&["data/${HOME}/x\".parquet".to_owned()], 100, &columns, None);
    let answered = text.replace("p = \"?\"", "p = 1").replace("role = \"?\"", "role = \"quasi\"");
    let policy = Policy::parse(&answered, Path::new("."), &Overrides::default()).unwrap();
    assert_eq!(policy.input.locations, ["data/${HOME}/x\".parquet"]);
    assert_eq!(policy.privacy.k, 5);
    let names: Vec<&str> = policy.columns.by_name.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["age", name]);
}

#[test]
fn no_value_of_the_table_is_in_the_draft() {
    let secret = 918_273_645;
    let ages = numbers((0..200).map(|row| if row == 7 { secret } else { 20 + row % 60 }));
    let ills = (0..200).map(|row| format!("illness-{}", row % 7));
    let zips = (0..200).map(|row| format!("{}", 41_000 + row % 90));
    let columns = [
        column("age", ages),
        column("diagnosis", std::sync::Arc::new(StringArray::from_iter_values(ills))),
        column("zip", std::sync::Arc::new(StringArray::from_iter_values(zips))),
    ];
    let text = policy(&["t.parquet".to_owned()], 200, &columns, None);
    for value in ["illness", "918", "410", "41 "] {
        assert!(!text.contains(value), "{value} is in:\n{text}");
    }
    assert!(text.contains("intervals = [5, 10, 20]"), "{text}");
    assert!(text.contains("mask = \"right\""), "{text}");
}

#[test]
fn numbers_and_dates_are_drafted_as_two_typed_columns() {
    let days = || Date32Array::from_iter_values((0..400).map(|row| 18_000 + 3 * row));
    let of_rows = |name: &str| column(name, numbers((0..400).map(|row| 20 + row % 60)));
    let born = || column("birth_date", std::sync::Arc::new(days()));
    let text = policy(&["t.parquet".to_owned()], 400, &[of_rows("age"), born()], None);
    assert_eq!(text.matches("\nrelease = \"bounds\"\n").count(), 2, "{text}");
    assert_eq!(text.matches("release = \"bounds\"\ncover = \"month\"\n").count(), 1, "{text}");
    let answered = text.replace("p = \"?\"", "p = 1");
    let parsed = Policy::parse(&answered, Path::new("."), &Overrides::default()).unwrap();
    let schema =
        Schema::new(vec![Field::new("age", DataType::Int64, true), Field::new("birth_date", DataType::Date32, true)]);
    let bound = parsed.bind(&schema).unwrap();
    assert_eq!(bound.released_quasi_names(), ["age_min", "age_max", "birth_date_min", "birth_date_max"]);
    // Names that the table has already are not given twice.
    let taken = [of_rows("age"), of_rows("age_max"), born()];
    let text = policy(&["t.parquet".to_owned()], 400, &taken, None);
    assert!(text.contains("[columns.\"age\"]") && text.contains("\nrelease = \"interval\"\n"), "{text}");
}

#[test]
fn a_folder_gets_its_name_from_the_last_part_of_the_location() {
    assert_eq!(stem("s3://bucket/census/2024.parquet"), "2024");
    assert_eq!(stem("data/people/"), "people");
    assert_eq!(stem("data/part-*.parquet"), "table");
    assert_eq!(stem("."), "table");
}
