use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Int64Array, StringArray};
use proptest::prelude::*;

use super::*;

type Row = (u8, u8, u8, u8);

fn columns() -> ExposureColumns {
    let column = |name: &str| (name.to_owned(), DataType::Int64);
    ExposureColumns {
        insensitive: vec![column("a"), column("b")],
        sensitive: vec![column("secret")],
        quasi: vec![column("age")],
    }
}

fn sketch(rows: &[Row]) -> ExposureSketch {
    let mut sketch = ExposureSketch::new(columns(), 7).unwrap();
    let column = |of: &dyn Fn(&Row) -> u8| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| i64::from(of(row)))))
    };
    let arrays = [column(&|row| row.0), column(&|row| row.1), column(&|row| row.2), column(&|row| row.3)];
    sketch.push(&arrays, rows.len()).unwrap();
    sketch
}

/// Share of rows whose key no other row has, row by row.
fn singled_out<K: PartialEq>(rows: &[Row], key: impl Fn(&Row) -> K) -> f64 {
    let alone = rows.iter().filter(|row| rows.iter().filter(|other| key(other) == key(row)).count() == 1).count();
    alone as f64 / rows.len().max(1) as f64
}

/// Lambda of `b` for the secret, over values of at least `k` rows.
fn lambda(rows: &[Row], k: usize) -> Option<f64> {
    let shared: Vec<&Row> =
        rows.iter().filter(|row| rows.iter().filter(|other| other.1 == row.1).count() >= k).collect();
    let most = |of: &[&Row]| {
        let mut counts: HashMap<u8, usize> = HashMap::new();
        of.iter().for_each(|row| *counts.entry(row.2).or_default() += 1);
        counts.into_values().max().unwrap_or(0)
    };
    let without = most(&shared);
    let right: usize =
        (0..=u8::MAX).map(|value| most(&shared.iter().copied().filter(|row| row.1 == value).collect::<Vec<_>>())).sum();
    (shared.len() > without && shared.len() * 20 >= rows.len())
        .then(|| (right - without) as f64 / (shared.len() - without) as f64)
}

proptest! {
    #[test]
    fn shares_are_those_of_a_count_row_by_row(
        rows in prop::collection::vec((0_u8..6, 0_u8..4, 0_u8..3, 0_u8..5), 1..40),
        at in 0_usize..40,
    ) {
        let at = at.min(rows.len());
        let mut merged = sketch(&rows[..at]);
        merged.merge(sketch(&rows[at..]));
        let found = merged.finish(2);
        prop_assert_eq!(&found, &sketch(&rows).finish(2));
        prop_assert!(found.is_exact);
        prop_assert_eq!(found.alone, singled_out(&rows, |row| (row.0, row.1)));
        prop_assert_eq!(found.with_quasi, Some(singled_out(&rows, |row| (row.0, row.1, row.3))));
        prop_assert_eq!(found.columns[0].1, singled_out(&rows, |row| row.0));
        prop_assert_eq!(found.columns[1].1, singled_out(&rows, |row| row.1));
        let determined = found.determined.iter().any(|pair| pair.insensitive == "b");
        prop_assert_eq!(determined, lambda(&rows, 2).is_some_and(|lambda| lambda >= NEARLY_DETERMINED));
    }
}

#[test]
fn a_code_of_the_secret_determines_it_and_a_serial_number_does_not() {
    let rows: Vec<Row> = (0..200).map(|row| (row, row % 5, row % 5, 0)).collect();
    let found = sketch(&rows).finish(10);
    let pairs: Vec<&str> = found.determined.iter().map(|pair| pair.insensitive.as_str()).collect();
    assert_eq!(pairs, ["b"]);
    assert_eq!((found.determined[0].right, found.determined[0].right_without), (1.0, 0.2));
    assert_eq!((found.alone, found.singled_out()), (1.0, 1.0));
    let warnings = found.warnings();
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].contains("`a` 100.0 %, `b` 0.0 %"), "{}", warnings[0]);
    assert!(warnings[1].contains("`b` nearly determines the sensitive `secret`"), "{}", warnings[1]);
}

#[test]
fn a_table_without_rows_exposes_nothing() {
    let found = sketch(&[]).finish(5);
    assert_eq!((found.alone, found.with_quasi, found.determined.len()), (0.0, Some(0.0), 0));
    assert!(found.warnings().is_empty());
}

#[test]
fn large_tables_are_estimated_in_bounded_memory() {
    // Every fourth row is alone, the others are in pairs and more.
    let rows: usize = 400_000;
    let value = |row: usize| if row.is_multiple_of(4) { row } else { 1_000_000 + row / 4 };
    let spec = ExposureColumns { insensitive: vec![("id".into(), DataType::Utf8)], ..ExposureColumns::default() };
    let mut sketch = ExposureSketch::new(spec, 1).unwrap();
    for start in (0..rows).step_by(50_000) {
        let texts: StringArray = (start..start + 50_000).map(|row| Some(value(row).to_string())).collect();
        sketch.push(&[Arc::new(texts)], 50_000).unwrap();
    }
    let found = sketch.finish(5);
    assert!(!found.is_exact);
    assert!((found.alone - 0.25).abs() < 0.01, "{}", found.alone);
    assert!((found.columns[0].1 - 0.25).abs() < 0.03, "{:?}", found.columns);
    assert_eq!(found.with_quasi, None);
    assert!(sketch.size() < 4 << 20, "{} bytes", sketch.size());
}

#[test]
fn sketches_that_travel_as_numbers_are_merged_as_those_at_hand() {
    let spec = || ExposureColumns {
        insensitive: vec![("id".into(), DataType::Int64)],
        sensitive: vec![("secret".into(), DataType::Int64)],
        quasi: vec![("age".into(), DataType::Int64)],
    };
    let part = |rows: std::ops::Range<i64>| {
        let mut sketch = ExposureSketch::new(spec(), 3).unwrap();
        let column = |of: fn(i64) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(rows.clone().map(of))) };
        sketch
            .push(&[column(|row| row / 2), column(|row| row % 7), column(|row| row % 100)], rows.clone().count())
            .unwrap();
        sketch
    };
    // More tuples than are kept, and fewer.
    for rows in [200_000, 3_000] {
        let parts: Vec<ExposureSketch> = (0..4).map(|at| part(rows * at / 4 + at..rows * (at + 1) / 4 + at)).collect();
        let mut sent = ExposureSketch::new(spec(), 3).unwrap();
        for sketch in &parts {
            sent.merge_numbers(&sketch.to_numbers()).unwrap();
        }
        let mut merged = ExposureSketch::new(spec(), 3).unwrap();
        parts.into_iter().for_each(|sketch| merged.merge(sketch));
        assert_eq!(sent.finish(2), merged.finish(2), "{rows}");
        assert_eq!(sent.finish(2).is_exact, rows < 10_000);
    }
    let numbers = part(0..50).to_numbers();
    let mut sketch = ExposureSketch::new(spec(), 3).unwrap();
    assert!(sketch.merge_numbers(&numbers[..numbers.len() - 1]).is_none());
    assert!(sketch.merge_numbers(&[numbers.as_slice(), &[1]].concat()).is_none());
    assert!(sketch.merge_numbers(&[]).is_none());
}
