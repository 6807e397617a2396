use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::domain::NULL;

/// Distinct tuples with row counts, by brute force.
fn tuples(rows: &[Vec<u32>]) -> CountedTuples {
    let mut counts: Vec<(Vec<u32>, u32)> = Vec::new();
    for row in rows {
        match counts.iter_mut().find(|(known, _)| known == row) {
            Some((_, count)) => *count += 1,
            None => counts.push((row.clone(), 1)),
        }
    }
    let mut tuples = CountedTuples::new(rows.first().map_or(0, Vec::len));
    counts.iter().for_each(|(tuple, rows)| tuples.push(tuple, *rows));
    tuples
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("q{index}")).collect()
}

/// Sizes of the classes that some columns form.
fn sizes(rows: &[Vec<u32>], columns: &[usize]) -> Vec<u64> {
    let mut classes: HashMap<Vec<u32>, u64> = HashMap::new();
    for row in rows {
        *classes.entry(columns.iter().map(|column| row[*column]).collect()).or_default() += 1;
    }
    classes.into_values().collect()
}

/// A table of eleven people: sex and decade of birth, classes of 3, 3, 2, 2 and 1.
#[test]
fn a_table_that_can_be_counted_by_hand() {
    let classes = [([0, 0], 3), ([0, 1], 3), ([1, 0], 2), ([1, 1], 2), ([1, 2], 1)];
    let rows: Vec<Vec<u32>> = classes.iter().flat_map(|(class, count)| vec![class.to_vec(); *count]).collect();
    let risk = Risk::of(&tuples(&rows), &names(2), &[], 0.4).unwrap();
    assert_eq!((risk.rows, risk.classes, risk.uniques), (11, 5, 1));
    assert_eq!((risk.smallest_class, risk.largest_class), (1, 3));
    assert_eq!((risk.highest(), risk.average(), risk.average_class()), (1.0, 5.0 / 11.0, 11.0 / 5.0));
    // Classes of two rows have a risk of 1/2, those of three rows 1/3.
    assert_eq!((risk.rows_at_risk, risk.share_at_risk()), (5, 5.0 / 11.0));
    let bands: Vec<_> = risk.sizes.iter().filter(|band| band.classes > 0).collect();
    let band = |from, to, classes, rows| SizeBand { from, to, classes, rows };
    assert_eq!(bands, [&band(1, Some(1), 1, 1), &band(2, Some(2), 2, 4), &band(3, Some(4), 2, 6)]);
    let [sex, decade] = &risk.columns[..] else { panic!("{risk:?}") };
    assert_eq!((sex.distinct, sex.uniques_alone, sex.classes_without, sex.uniques_without), (2, 0, 3, 1));
    assert_eq!((decade.distinct, decade.uniques_alone, decade.classes_without, decade.uniques_without), (3, 1, 2, 0));
    assert!((sex.share - 0.4).abs() < 1e-12 && (decade.share - 0.6).abs() < 1e-12, "{risk:?}");
}

#[test]
fn a_threshold_is_exceeded_and_not_reached() {
    let rows: Vec<Vec<u32>> = (0..2).flat_map(|class| vec![vec![class]; 4 + class as usize]).collect();
    let risk = Risk::of(&tuples(&rows), &names(1), &[], DEFAULT_THRESHOLD).unwrap();
    assert_eq!(risk.rows_at_risk, 4, "a class of five has a risk of exactly 0.2");
}

#[test]
fn a_table_without_rows_has_no_risk() {
    let risk = Risk::of(&CountedTuples::new(1), &names(1), &[], 0.2).unwrap();
    assert_eq!(
        (risk.rows, risk.highest(), risk.average(), risk.average_class(), risk.share_at_risk()),
        (0, 0.0, 0.0, 0.0, 0.0)
    );
}

#[test]
fn one_column_alone_is_all_of_the_risk_but_for_one_class() {
    let rows: Vec<Vec<u32>> = (0..10).map(|value| vec![value]).collect();
    let risk = Risk::of(&tuples(&rows), &names(1), &[], 0.2).unwrap();
    assert_eq!((risk.columns[0].classes_without, risk.columns[0].uniques_without), (1, 0));
    assert!((risk.columns[0].share - 0.9).abs() < 1e-12);
}

#[test]
fn nulls_of_a_sensitive_column_count_for_nothing() {
    // Three classes: two values; one value and null; null only.
    let rows = vec![vec![0, 0], vec![0, 1], vec![1, 0], vec![1, NULL], vec![2, NULL], vec![2, NULL]];
    let risk = Risk::of(&tuples(&rows), &names(1), &["s".to_owned()], 0.2).unwrap();
    let expected = SensitiveRisk { name: "s".to_owned(), distinct: 2, fewest: 0, uniform_classes: 2, uniform_rows: 4 };
    assert_eq!(risk.sensitive, [expected]);
}

proptest! {
    #[test]
    fn every_figure_is_what_plain_counting_finds(
        rows in prop::collection::vec((0_u32..4, 0_u32..3, 0_u32..6, 0_u32..3), 1..60),
        large in prop::bool::ANY,
    ) {
        // Codes this large do not pack into 64 bits and take the fallback path.
        let spread = |value: u32| if large { value * 1_000_000_000 } else { value };
        let rows: Vec<Vec<u32>> = rows
            .iter()
            .map(|(a, b, c, s)| vec![spread(*a), if *b == 2 { NULL } else { spread(*b) }, spread(*c % 4), *s])
            .collect();
        let risk = Risk::of(&tuples(&rows), &names(3), &["s".to_owned()], 0.3).unwrap();
        let classes = sizes(&rows, &[0, 1, 2]);
        let uniques = |sizes: &[u64]| sizes.iter().filter(|rows| **rows == 1).count() as u64;
        prop_assert_eq!(risk.rows, rows.len() as u64);
        prop_assert_eq!(risk.classes, classes.len() as u64);
        prop_assert_eq!(risk.uniques, uniques(&classes));
        prop_assert_eq!(risk.smallest_class, *classes.iter().min().unwrap());
        prop_assert_eq!(risk.largest_class, *classes.iter().max().unwrap());
        prop_assert_eq!(risk.rows_at_risk, classes.iter().filter(|rows| **rows <= 3).sum::<u64>());
        let mean = rows.iter().map(|row| {
            let alike = rows.iter().filter(|other| other[..3] == row[..3]).count();
            1.0 / alike as f64
        }).sum::<f64>() / rows.len() as f64;
        prop_assert!((risk.average() - mean).abs() < 1e-12);
        prop_assert_eq!(risk.sizes.iter().map(|band| band.rows).sum::<u64>(), risk.rows);
        for (column, found) in risk.columns.iter().enumerate() {
            let others: Vec<usize> = (0..3).filter(|other| *other != column).collect();
            let (alone, without) = (sizes(&rows, &[column]), sizes(&rows, &others));
            prop_assert_eq!((found.distinct, found.uniques_alone), (alone.len() as u64, uniques(&alone)));
            prop_assert_eq!((found.classes_without, found.uniques_without), (without.len() as u64, uniques(&without)));
            prop_assert!((0.0..=1.0).contains(&found.share) && found.uniques_without <= risk.uniques);
        }
        let mut by_class: HashMap<&[u32], Vec<u32>> = HashMap::new();
        rows.iter().for_each(|row| by_class.entry(&row[..3]).or_default().push(row[3]));
        let distinct = |values: &[u32]| {
            let mut values = values.to_vec();
            values.sort_unstable();
            values.dedup();
            values.len() as u64
        };
        prop_assert_eq!(risk.sensitive[0].fewest, by_class.values().map(|values| distinct(values)).min().unwrap());
        let uniform = by_class.values().filter(|values| distinct(values) == 1);
        prop_assert_eq!(risk.sensitive[0].uniform_rows, uniform.map(|values| values.len() as u64).sum::<u64>());
    }
}
