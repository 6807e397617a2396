//! Tiny random streams, with every emission checked by brute force.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::anonymize::{ClusterChoice, Method, PartitionChoice};
use crate::cluster::IgnoreProgress;
use crate::model::Privacy;
use crate::partition::FeasibleRegions;
use crate::test_tables::{cases, interval, ints, survey};

#[test]
fn the_oldest_row_is_due_after_as_many_rows_as_allowed() {
    let mut arrivals = Arrivals::new(DelayLimits { rows: Some(16), millis: None });
    assert!(!arrivals.is_due(0) && arrivals.due(0) == 0 && arrivals.room() == Some(16));
    arrivals.push(15, 0);
    assert!(!arrivals.is_due(1_000_000) && arrivals.room() == Some(1) && arrivals.deadline().is_none());
    arrivals.push(1, 0);
    assert!(arrivals.is_due(0) && arrivals.room() == Some(0));
    assert_eq!(arrivals.due(0), 3, "row 0 is due, rows 1 and 2 nearly");
    arrivals.retain(&[3, 9]);
    assert_eq!((arrivals.waiting(), arrivals.room(), arrivals.due(0)), (2, Some(3), 0));
    arrivals.push(3, 0);
    assert!(arrivals.is_due(0));
    assert_eq!(arrivals.due(0), 1);
    assert_eq!(arrivals.arrived(), 19);
}

#[test]
fn the_oldest_row_is_due_after_the_time_allowed() {
    let mut arrivals = Arrivals::new(DelayLimits { rows: None, millis: Some(80) });
    assert!(arrivals.deadline().is_none() && arrivals.room().is_none());
    arrivals.push(2, 100);
    arrivals.push(1, 105);
    arrivals.push(1, 130);
    assert_eq!(arrivals.deadline(), Some(180));
    assert!(!arrivals.is_due(179) && arrivals.is_due(180));
    assert_eq!(arrivals.due(180), 3);
    arrivals.retain(&[3]);
    assert_eq!(arrivals.deadline(), Some(210));
}

#[test]
fn without_limits_no_row_is_ever_due() {
    let mut arrivals = Arrivals::new(DelayLimits::default());
    arrivals.push(1000, 0);
    assert!(!arrivals.is_due(u64::MAX) && arrivals.due(u64::MAX) == 0);
}

/// A row of a stream: quasi-identifier, sensitive value.
type Row = (i64, i64);

/// Runs a stream as the operator does. Returns the classes of each emission, by arrival number, and the suppressed rows.
fn run(rows: &[Row], limit: u64, k: u64, p: u64) -> (Vec<Vec<Vec<usize>>>, u64) {
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
    let method = Method::new(PartitionChoice::Mondrian, ClusterChoice::Search);
    let mut arrivals = Arrivals::new(DelayLimits { rows: Some(limit), millis: None });
    let (mut buffer, mut emissions, mut suppressed) = (Vec::new(), Vec::new(), 0);
    for arrived in 1..=rows.len() {
        buffer.push(arrived - 1);
        arrivals.push(1, 0);
        assert!(buffer.len() as u64 <= limit, "no more rows wait than the limit says");
        let is_end = arrived == rows.len();
        if !arrivals.is_due(0) && !is_end {
            continue;
        }
        let due = if is_end { buffer.len() } else { arrivals.due(0) };
        let column = |value: fn(&Row) -> i64| ints(&buffer.iter().map(|row| value(&rows[*row])).collect::<Vec<_>>());
        let surveyed = survey(&[(interval("age"), column(|row| row.0))], &[column(|row| row.1)]);
        let emission = Emission::of(&surveyed.table, &surveyed.groups, &privacy, due);
        assert_eq!(
            emission.released.len() + emission.waiting.len() + emission.suppressed as usize,
            buffer.len(),
            "every row is in one set"
        );
        assert!(emission.waiting.iter().all(|row| *row as usize >= due), "no row waits beyond its limit");
        suppressed += emission.suppressed;
        if !emission.released.is_empty() {
            let chosen: Vec<usize> = emission.released.iter().map(|row| buffer[*row as usize]).collect();
            let column =
                |value: fn(&Row) -> i64| ints(&chosen.iter().map(|row| value(&rows[*row])).collect::<Vec<_>>());
            let surveyed = survey(&[(interval("age"), column(|row| row.0))], &[column(|row| row.1)]);
            let allowed = FeasibleRegions::of(&surveyed.table, &privacy);
            let leaves = method.leaves(&allowed, &surveyed.table).unwrap();
            let formed = method.classes(&leaves, &surveyed.table, &privacy, &IgnoreProgress);
            let mut rows_of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for (group, row) in surveyed.groups.iter().zip(&chosen) {
                rows_of.entry(*group).or_default().push(*row);
            }
            let classes = formed.classes.iter().map(|class| {
                let portions = class.portions.iter();
                portions
                    .flat_map(|portion| {
                        let rows = rows_of.get_mut(&portion.group).unwrap();
                        rows.split_off(rows.len() - portion.rows as usize)
                    })
                    .collect()
            });
            emissions.push(classes.collect());
        }
        buffer = emission.waiting.iter().map(|row| buffer[*row as usize]).collect();
        arrivals.retain(&emission.waiting);
    }
    assert!(buffer.is_empty(), "the end of the input decides every row");
    (emissions, suppressed)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_class_of_every_emission_satisfies_the_models(
        rows in prop::collection::vec((0..12i64, 0..4i64), 0..60),
        limit in 1..25u64,
        k in 1..6usize,
        p in 1..4usize,
    ) {
        let (emissions, suppressed) = run(&rows, limit, k as u64, p as u64);
        let mut released = BTreeSet::new();
        for (number, classes) in emissions.iter().enumerate() {
            for class in classes {
                prop_assert!(class.len() >= k, "emission {number}");
                let values: BTreeSet<i64> = class.iter().map(|row| rows[*row].1).collect();
                prop_assert!(values.len() >= p, "emission {number}");
                for row in class {
                    prop_assert!(released.insert(*row), "a row is released once");
                }
                let (first, last) = (class.iter().min().unwrap(), class.iter().max().unwrap());
                prop_assert!(last - first < limit as usize, "a class has rows of one buffer");
            }
        }
        prop_assert_eq!(released.len() as u64 + suppressed, rows.len() as u64);
    }
}
