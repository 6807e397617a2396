//! Boxes that were formed in one table, looked up in another by what their labels say.

use std::collections::BTreeSet;

use arrow::array::{Array, ArrayRef, AsArray};
use proptest::prelude::*;

use super::*;
use crate::columns::{ColumnRecoding, QuasiSpec};
use crate::hierarchy::{HierarchySpec, MaskSide};
use crate::test_tables::{Surveyed, cases, interval, maybe_ints, maybe_texts, quasi, survey};

/// Age, zip, sex.
type Row = (Option<i64>, Option<u8>, Option<u8>);

const SEXES: [&str; 3] = ["diverse", "female", "male"];

fn specs() -> [QuasiSpec; 3] {
    [
        interval("age"),
        quasi("zip", ColumnRecoding::Ancestor, HierarchySpec::Mask(MaskSide::Right)),
        quasi("sex", ColumnRecoding::Set, HierarchySpec::Flat),
    ]
}

fn surveyed(rows: &[Row]) -> Surveyed {
    let [age, zip, sex] = specs();
    let zips: Vec<Option<String>> = rows.iter().map(|row| row.1.map(|zip| format!("{zip:02}"))).collect();
    let zips: Vec<Option<&str>> = zips.iter().map(Option::as_deref).collect();
    let sexes: Vec<Option<&str>> = rows.iter().map(|row| row.2.map(|sex| SEXES[usize::from(sex)])).collect();
    let ages = maybe_ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>());
    survey(&[(age, ages), (zip, maybe_texts(&zips)), (sex, maybe_texts(&sexes))], &[])
}

fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.as_string::<i32>().value(row))
}

/// Whether labels are true of a row, as a reader of the release decides it.
fn are_true(labels: &[Option<&str>], row: &Row) -> bool {
    let age = match (labels[0], row.0) {
        (None, age) => age.is_none(),
        (Some("*"), _) => true,
        (Some(label), Some(age)) => {
            let ends = label.trim_matches(['[', ']']);
            let (low, high) = ends.split_once('-').unwrap_or((ends, ends));
            (low.parse().unwrap()..=high.parse().unwrap()).contains(&age)
        }
        (Some(_), None) => false,
    };
    let zip = match (labels[1], row.1) {
        (None, zip) => zip.is_none(),
        (Some(label), Some(zip)) => format!("{zip:02}").starts_with(label.trim_end_matches('*')),
        (Some(label), None) => label == "*",
    };
    let sex = match (labels[2], row.2) {
        (None, sex) => sex.is_none(),
        (Some(label), sex) => {
            let own = sex.map_or("null", |sex| SEXES[usize::from(sex)]);
            label.trim_matches(['{', '}']).split(", ").any(|value| value == own)
        }
    };
    age && zip && sex
}

fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let row = (
        prop::option::weighted(0.9, 0..9i64),
        prop::option::weighted(0.9, 0..30u8),
        prop::option::weighted(0.9, 0..3u8),
    );
    prop::collection::vec(row, 2..most)
}

/// Classes of two neighbours each.
fn pairs(rows: usize) -> Vec<Vec<usize>> {
    (0..rows / 2).map(|pair| (2 * pair..if 2 * pair + 3 >= rows { rows } else { 2 * pair + 2 }).collect()).collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_row_finds_a_box_whose_labels_are_true_of_it_and_misses_none(
        tables in prop::collection::vec(rows(24), 1..4),
        later in rows(30),
        most in 2..40usize,
    ) {
        let mut boxes = PublishedBoxes::new(most);
        let mut known: BTreeSet<Vec<Option<String>>> = BTreeSet::new();
        for rows in &tables {
            let surveyed = surveyed(rows);
            let classes = pairs(rows.len());
            let recoding = surveyed.recode(&classes.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let numbers = boxes.add(surveyed.table.quasi(), &recoding).unwrap();
            prop_assert!(numbers.iter().all(Option::is_some));
            for class in 0..numbers.len() as u32 {
                let label = |at: usize| text(&recoding.columns()[at].columns[0].1, recoding.label(class, at) as usize);
                known.insert((0..3).map(|at| label(at).map(str::to_owned)).collect());
            }
        }
        prop_assert_eq!(boxes.len(), known.len(), "boxes are compared by what a reader sees");
        let before = boxes.len();
        boxes.forget().unwrap();
        prop_assert_eq!(boxes.len(), if before > most { most - most / 4 } else { before });
        let left = boxes.labels(&(0..boxes.len() as u32).collect::<Vec<_>>());
        let label = |labels: &[u32], at: usize| text(&left.columns[at][0], labels[at] as usize).map(str::to_owned);
        let left = left.label_of.chunks(3).map(|labels| (0..3).map(|at| label(labels, at)).collect());
        let left: BTreeSet<Vec<Option<String>>> = left.collect();
        prop_assert!(left.len() == boxes.len() && left.is_subset(&known));
        let known = left;
        let surveyed = surveyed(&later);
        let placed = boxes.in_table(&surveyed.table).unwrap();
        for (row, group) in later.iter().zip(&surveyed.groups) {
            let cell = surveyed.table.cell_of(*group);
            let is_there = known.iter().any(|labels| {
                are_true(&labels.iter().map(Option::as_deref).collect::<Vec<_>>(), row)
            });
            match placed.tightest(surveyed.table.positions(cell)) {
                None => prop_assert!(!is_there, "{:?} in {:?}", row, known),
                Some((number, _)) => {
                    let BoxLabels { columns, label_of } = boxes.labels(&[number]);
                    let labels: Vec<Option<&str>> =
                        (0..3).map(|at| text(&columns[at][0], label_of[at] as usize)).collect();
                    prop_assert!(are_true(&labels, row), "{:?} in {:?}", row, labels);
                }
            }
        }
    }
}

#[test]
fn the_tightest_box_is_found_among_many() {
    let ends = |seed: u64, at: u64| (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at * 77) >> 40) as u32 % 50;
    // The last column has so many labels that its boxes are compared one by one.
    let labels = |many: u64, positions: u32| {
        let label = |number: u64| {
            let lo = ends(number, 1) % positions;
            let range = (lo, (lo + ends(number, 2) % 12).min(positions - 1));
            let listed = (number.is_multiple_of(5) && range.0 < range.1).then(|| [range.0, range.1].into());
            PlacedLabel { range, listed, loss: f64::from(range.1 - range.0) }
        };
        (0..many).map(label).collect::<Vec<_>>()
    };
    for (positions, boxes, many) in [(50_u32, 5_000_u64, 400_usize), (40, 130, 400), (1 << 15, 20_000, 9_000)] {
        let wide = |label: &mut PlacedLabel, number: usize| {
            let lo = number as u32 * (positions / 50).max(1) % positions + number as u32 / 50 % (positions / 50).max(1);
            (label.range, label.listed) = ((lo, (lo + positions / 3).min(positions - 1)), None);
        };
        let mut last = labels(many as u64, positions.min(50));
        last.iter_mut()
            .enumerate()
            .filter(|(number, _)| number % 2 == 0)
            .for_each(|(number, label)| wide(label, number));
        let columns = vec![(labels(60, 50), 50), (labels(90, 50), 50), (last, positions as usize)];
        let counts = [60, 90, many as u64];
        let label_of: Vec<u32> = (0..3 * boxes)
            .map(|at| ((at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % counts[at as usize % 3]) as u32)
            .collect();
        let losses: Vec<f64> = label_of
            .chunks(3)
            .map(|of_box| of_box.iter().zip(&columns).map(|(label, column)| column.0[*label as usize].loss).sum())
            .collect();
        let index = BoxIndex::new(columns.clone(), &label_of, &losses);
        let mut found = 0;
        for seed in 0..300 {
            let point = [ends(seed, 5), ends(seed, 6), ends(seed, 7) * (positions / 50).max(1) % positions];
            let has = |number: &u32| {
                label_of[*number as usize * 3..][..3].iter().zip(&columns).zip(point).all(|((label, column), at)| {
                    let PlacedLabel { range, listed, .. } = &column.0[*label as usize];
                    range.0 <= at && at <= range.1 && listed.as_ref().is_none_or(|listed| listed.contains(&at))
                })
            };
            let least = (0..losses.len() as u32)
                .filter(has)
                .map(|number| (losses[number as usize], number))
                .min_by(|a, b| a.partial_cmp(b).unwrap());
            found += usize::from(least.is_some());
            assert_eq!(index.tightest(&point), least.map(|(loss, number)| (number, loss)));
        }
        assert!(found > 50, "{found}");
    }
}
