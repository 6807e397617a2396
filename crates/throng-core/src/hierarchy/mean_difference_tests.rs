use std::sync::Arc;

use arrow::array::{
    Array, Date32Array, Date64Array, Decimal128Array, Float32Array, Int8Array, Time32SecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use proptest::prelude::*;

use super::grid::decimal;
use super::*;
use crate::columns::{ColumnRecoding, Limit};
use crate::hierarchy::HierarchySpec;
use crate::test_tables::{all_shown, cases, floats, ints, maybe_ints, quasi, survey, texts};

/// Builds the tree of values with one row each.
fn even(values: &ArrayRef) -> (Tree, Vec<u32>) {
    mean_difference_tree(values, &vec![1; values.len()]).unwrap()
}

/// Returns the labels from a position up to the root.
fn path(tree: &Tree, position: u32) -> Vec<&str> {
    let up = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
    up.map(|node| tree.label(node)).collect()
}

/// Returns the extents from a position up to the root, multiplied by `times`.
fn extents(tree: &Tree, position: u32, times: f64) -> Vec<f64> {
    let up = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
    up.map(|node| (tree.extent(node) * times * 1e6).round() / 1e6).collect()
}

fn range(values: std::ops::RangeInclusive<i64>) -> ArrayRef {
    ints(&values.collect::<Vec<_>>())
}

#[test]
fn widths_are_once_twice_and_four_times_the_mean_difference() {
    // 39 / 20 is 1.95, and so MD is 2.
    let (tree, positions) = even(&range(0..=39));
    assert_eq!(positions, (0..40).collect::<Vec<_>>());
    assert_eq!(path(&tree, 5), ["5", "[4-5]", "[4-7]", "[0-7]", "*"]);
    assert_eq!(path(&tree, 39), ["39", "[38-39]", "[36-39]", "[32-39]", "*"]);
    assert_eq!(extents(&tree, 5, 39.0), [0.0, 1.0, 3.0, 7.0, 39.0]);
}

#[test]
fn what_lies_two_deviations_away_is_a_tail() {
    // Ten rows of each age from 22 to 62, and one each of 10, 15, 75, 80 and 90: the mean is 42.1 and the deviation 12.4,
    // so that tails begin below 17.3 and above 67. MD is 40 / 20 = 2.
    let values: Vec<i64> = [10, 15].into_iter().chain(22..=62).chain([75, 80, 90]).collect();
    let rows: Vec<u64> = values.iter().map(|age| if (22..=62).contains(age) { 10 } else { 1 }).collect();
    let (tree, positions) = mean_difference_tree(&ints(&values), &rows).unwrap();
    assert_eq!(positions[..3], [0, 0, 1]);
    assert_eq!(positions[42..], [41, 42, 42, 42]);
    assert_eq!(path(&tree, 0), ["<22", "*"]);
    assert_eq!(path(&tree, 1), ["22", "[22-23]", "[22-25]", "[22-29]", "*"]);
    assert_eq!(path(&tree, 41), ["62", "[62-63]", "[62-65]", "[62-69]", "*"]);
    assert_eq!(path(&tree, 42), [">62", "*"]);
    // The column spans 80 years: 12 of them up to 22, and 28 from 62 on.
    assert_eq!(extents(&tree, 0, 80.0), [12.0, 80.0]);
    assert_eq!(extents(&tree, 42, 80.0), [28.0, 80.0]);
    assert_eq!(extents(&tree, 1, 80.0), [0.0, 1.0, 3.0, 7.0, 80.0]);
    // With one row each the mean is 43.3 and the deviation 16.3: from 10.7 to 75.9 all is inside.
    let (tree, positions) = even(&ints(&values));
    assert_eq!(positions[..3], [0, 1, 2]);
    assert_eq!(positions[42..], [42, 43, 44, 44]);
    assert_eq!([0, 44].map(|position| tree.label(tree.leaf_node(position))), ["<15", ">75"]);
}

#[test]
fn a_value_exactly_two_deviations_away_is_inside() {
    // Four rows of 0 and one of 1: the mean is 0.2 and the deviation 0.4. With one row more of 0 the 1 is a tail.
    let (tree, positions) = mean_difference_tree(&ints(&[0, 1]), &[4, 1]).unwrap();
    assert_eq!(path(&tree, positions[1]), ["1", "1", "[0-1]", "[0-3]", "*"]);
    let (tree, positions) = mean_difference_tree(&ints(&[0, 1]), &[5, 1]).unwrap();
    assert_eq!(path(&tree, positions[1]), [">0", "*"]);
    assert_eq!(path(&tree, positions[0]), ["0", "*"]);
    assert_eq!(extents(&tree, 1, 1.0), [1.0, 1.0]);
}

#[test]
fn all_levels_share_an_origin_and_losses_end_with_the_column() {
    // MD is 2, and 3 is rounded down to 2, so that the first intervals begin before the column and lose less.
    let (tree, _) = even(&range(3..=42));
    assert_eq!(path(&tree, 0), ["3", "[2-3]", "[2-5]", "[2-9]", "*"]);
    assert_eq!(extents(&tree, 0, 39.0), [0.0, 0.0, 2.0, 6.0, 39.0]);
    assert_eq!(path(&tree, 39), ["42", "[42-43]", "[42-45]", "[42-49]", "*"]);
    assert_eq!(extents(&tree, 39, 39.0), [0.0, 0.0, 0.0, 0.0, 39.0]);
    let (tree, _) = even(&range(-41..=-2));
    assert_eq!(path(&tree, 0), ["-41", "[-42--41]", "[-42--39]", "[-42--35]", "*"]);
}

#[test]
fn the_least_width_of_whole_numbers_is_one() {
    let (tree, _) = even(&range(1..=5));
    assert_eq!(path(&tree, 2), ["3", "3", "[3-4]", "[1-4]", "*"]);
    assert_eq!(path(&tree, 4), ["5", "5", "[5-6]", "[5-8]", "*"]);
}

#[test]
fn few_values_make_small_trees() {
    let (tree, positions) = even(&ints(&[]));
    assert_eq!((tree.leaf_count(), positions), (1, vec![]));
    for values in [ints(&[7]), floats(&[7.0]), Arc::new(Date32Array::from(vec![7])) as ArrayRef] {
        let (tree, positions) = mean_difference_tree(&values, &[5]).unwrap();
        assert_eq!((path(&tree, 0).len(), positions), (2, vec![0]));
        assert_eq!(extents(&tree, 0, 1.0), [0.0, 1.0]);
    }
    let (tree, positions) = even(&floats(&[1.0, 2.0]));
    assert_eq!(path(&tree, positions[0]), ["1.0", "[1-1.05)", "[1-1.1)", "[1-1.2)", "*"]);
    assert_eq!(path(&tree, positions[1]), ["2.0", "[2-2.05)", "[2-2.1)", "[2-2.2)", "*"]);
    // Both ends are tails around one inner value.
    let (tree, positions) = mean_difference_tree(&floats(&[0.0, 5.0, 10.0]), &[1, 98, 1]).unwrap();
    assert_eq!(positions, [0, 1, 2]);
    assert_eq!([0, 1, 2].map(|position| path(&tree, position)), [["<5.0", "*"], ["5.0", "*"], [">5.0", "*"]]);
    assert_eq!([0, 1, 2].map(|position| extents(&tree, position, 1.0)[0]), [0.5, 0.0, 0.5]);
}

#[test]
fn floats_are_cut_at_two_significant_digits() {
    let quarters: Vec<f64> = (0..=40).map(|quarter| f64::from(quarter) / 4.0).collect();
    let (tree, _) = even(&floats(&quarters));
    assert_eq!(path(&tree, 1), ["0.25", "[0-0.5)", "[0-1)", "[0-2)", "*"]);
    assert_eq!(extents(&tree, 1, 10.0), [0.0, 0.5, 1.0, 2.0, 10.0]);
    // 7.4 / 20 is 0.37, and 100 lies above 270 times that.
    let (tree, _) = even(&floats(&[100.0, 102.0, 105.0, 107.4]));
    assert_eq!(path(&tree, 0), ["100.0", "[99.9-100.27)", "[99.9-100.64)", "[99.9-101.38)", "*"]);
    let thousands: ArrayRef = Arc::new(Float32Array::from((0..=40).map(|at| at as f32 * 5e5).collect::<Vec<_>>()));
    assert_eq!(path(&even(&thousands).0, 3)[1..], ["[1000000-2000000)", "[0-2000000)", "[0-4000000)", "*"]);
    let tenths: Vec<f64> = (0..=60).map(|tenth| f64::from(tenth) / 10.0).collect();
    // MD is 0.3, which no double is.
    let (tree, _) = even(&floats(&tenths));
    assert_eq!(path(&tree, 3)[1], "[0.3-0.6)");
    assert_eq!(path(&tree, 9)[1], "[0.9-1.2)");
    assert_eq!(path(&tree, 8)[1], "[0.6-0.9)");
}

#[test]
fn decimals_are_cut_at_a_unit_of_their_scale() {
    let values: Vec<i128> = (0..=40).map(|tenth| tenth * 10).collect();
    let decimals = |scale: i8| -> ArrayRef {
        Arc::new(Decimal128Array::from(values.clone()).with_precision_and_scale(9, scale).unwrap())
    };
    let (tree, _) = even(&decimals(2));
    assert_eq!(path(&tree, 1), ["0.10", "[0-0.2)", "[0-0.4)", "[0-0.8)", "*"]);
    assert_eq!(extents(&tree, 1, 4.0), [0.0, 0.2, 0.4, 0.8, 4.0]);
    assert_eq!(path(&even(&decimals(0)).0, 39)[1..3], ["[380-400)", "[360-400)"]);
    assert_eq!(path(&even(&decimals(-2)).0, 39)[1], "[38000-40000)");
    assert_eq!([decimal(-5, 3), decimal(-1200, 2), decimal(0, -3)], ["-0.005", "-12", "0"]);
}

#[test]
fn dates_are_cut_at_whole_days() {
    // 101 days from 2020-01-01 on, which is day 18,262. MD is 5 and the origin day 18,260.
    let days = 18_262..=18_362;
    let expected =
        ["[2019-12-30/2020-01-03]", "[2019-12-30/2020-01-08]", "[2019-12-30/2020-01-18]", "*"].map(str::to_owned);
    let columns: [ArrayRef; 4] = [
        Arc::new(Date32Array::from(days.clone().map(|day| day as i32).collect::<Vec<_>>())),
        Arc::new(Date64Array::from(days.clone().map(|day| day * 86_400_000).collect::<Vec<_>>())),
        Arc::new(TimestampSecondArray::from(days.clone().map(|day| day * 86_400).collect::<Vec<_>>())),
        Arc::new(
            TimestampNanosecondArray::from(days.map(|day| day * 86_400_000_000_000).collect::<Vec<_>>())
                .with_timezone("+02:00"),
        ),
    ];
    for column in &columns {
        let (tree, _) = even(column);
        assert_eq!(path(&tree, 0)[1..], expected, "{}", column.data_type());
        assert_eq!(extents(&tree, 20, 100.0), [0.0, 4.0, 9.0, 19.0, 100.0]);
    }
    assert_eq!(path(&even(&columns[0]).0, 0)[0], "2020-01-01");
}

#[test]
fn instants_and_clocks_are_cut_at_their_own_precision() {
    let hours: ArrayRef =
        Arc::new(TimestampMillisecondArray::from((0..=40).map(|hour| hour * 3_600_000).collect::<Vec<_>>()));
    let (tree, _) = even(&hours);
    assert_eq!(path(&tree, 1)[1], "[1970-01-01T00:00:00/1970-01-01T01:00:00]");
    // 10 minutes apart from midnight to 23:20. MD is 70 minutes, and the last interval ends with the day.
    let clock: ArrayRef = Arc::new(Time32SecondArray::from((0..=140).map(|ten| ten * 600).collect::<Vec<_>>()));
    let (tree, _) = even(&clock);
    assert_eq!(path(&tree, 7)[1], "[01:10:00-02:19:00]");
    assert_eq!(path(&tree, 140)[1..4], ["[23:20:00-23:59:00]"; 3]);
}

#[test]
fn every_kind_of_number_and_the_ends_of_types_are_fine() {
    let most = 10_i128.pow(38) - 1;
    let columns: [ArrayRef; 6] = [
        Arc::new(Int8Array::from(vec![-128, 0, 127])),
        Arc::new(UInt64Array::from(vec![0, u64::MAX / 2, u64::MAX])),
        ints(&[i64::MIN, 0, i64::MAX]),
        floats(&[f64::MIN, 0.0, f64::MAX]),
        floats(&[0.0, 1e-300, 2e-300]),
        Arc::new(Decimal128Array::from(vec![-most, 0, most]).with_precision_and_scale(38, 0).unwrap()),
    ];
    for column in &columns {
        let (tree, positions) = even(column);
        assert_eq!(positions, [0, 1, 2]);
        assert!(extents(&tree, 1, 1.0).is_sorted(), "{}", column.data_type());
        let level_1 = extents(&tree, 1, 1.0)[3];
        assert!(level_1 > 0.1 && level_1 < 0.3, "{} {level_1}", column.data_type());
    }
    assert_eq!(path(&even(&columns[0]).0, 0)[1..], ["[-130--118]", "[-130--105]", "[-130--79]", "*"]);
}

#[test]
fn what_has_no_width_is_refused() {
    let expected = BuildError::Type { expected: "numbers, dates or times", found: "Utf8".to_owned() };
    assert_eq!(mean_difference_tree(&texts(&["7"]), &[1]).unwrap_err(), expected);
    // Intervals of 0.2 can't be distinguished at this magnitude.
    let large = floats(&[1e16, 1e16 + 2.0, 1e16 + 4.0]);
    assert_eq!(mean_difference_tree(&large, &[1; 3]).unwrap_err(), BuildError::TooFine);
    // The calendar ends, but the intervals of its last days do not.
    let late: ArrayRef = Arc::new(Date32Array::from((0..40).map(|day| i32::MAX - day).rev().collect::<Vec<_>>()));
    assert_eq!(mean_difference_tree(&late, &[1; 40]).unwrap_err(), BuildError::NoText);
}

#[test]
fn null_beside_the_tree_loses_nothing_alone_and_everything_with_others() {
    let values: Vec<Option<i64>> = (0..40).map(Some).chain([None]).collect();
    let rows =
        survey(&[(quasi("age", ColumnRecoding::Ancestor, HierarchySpec::MeanDifference), maybe_ints(&values))], &[]);
    let domain = &rows.table.quasi()[0].domain;
    let null = domain.null_position().unwrap();
    assert_eq!((null, domain.loss(null, null), domain.loss(39, null)), (40, 0.0, 1.0));
    assert_eq!((domain.loss(4, 5), domain.loss(4, 7)), (1.0 / 39.0, 3.0 / 39.0));
    // A single value and null.
    let rows = survey(
        &[(
            quasi("age", ColumnRecoding::Ancestor, HierarchySpec::MeanDifference),
            maybe_ints(&[Some(3), Some(3), None]),
        )],
        &[],
    );
    let domain = &rows.table.quasi()[0].domain;
    assert_eq!([domain.loss(0, 0), domain.loss(1, 1), domain.loss(0, 1)], [0.0, 0.0, 1.0]);
}

#[test]
fn a_class_shows_its_interval_and_the_values_of_a_tail_are_one() {
    let ages: Vec<i64> = (0..40).flat_map(|age| [age; 9]).chain([100, 120, 120]).collect();
    let rows = survey(&[(quasi("age", ColumnRecoding::Ancestor, HierarchySpec::MeanDifference), ints(&ages))], &[]);
    // The two values of the tail are one cell.
    assert_eq!(rows.table.cell_count(), 41);
    assert_eq!(rows.table.cell_rows(40), 3);
    let blocks: [Vec<usize>; 3] = [(0..18).collect(), (18..360).collect(), (360..363).collect()];
    let recoding = rows.recode(&[&blocks[0], &blocks[1], &blocks[2]]);
    let shown: Vec<String> = all_shown(&recoding, 0).into_iter().flatten().collect();
    assert_eq!(shown, ["[0-1]", "*", ">39"]);
}

#[test]
fn a_limit_keeps_tails_apart_from_the_first_interval() {
    // No low tail, so that the first interval and the root begin at the same position.
    let ages: Vec<i64> = (0..40).flat_map(|age| [age; 9]).chain([100]).collect();
    let mut age = quasi("age", ColumnRecoding::Ancestor, HierarchySpec::MeanDifference);
    let block = |age: &crate::columns::QuasiSpec| {
        let table = survey(&[(age.clone(), ints(&ages))], &[]).table;
        [0, 1, 2, 40].map(|position| table.quasi()[0].domain.block(position))
    };
    age.limit = Some(Limit::Level(1));
    assert_eq!(block(&age), [0, 0, 2, 40]);
    age.limit = Some(Limit::Level(4));
    assert_eq!(block(&age), [0; 4]);
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn labels_cover_their_values_and_tails_are_what_two_deviations_say(
        counted in prop::collection::btree_map(-500_i64..500, 1_u64..40, 1..60),
        far in prop::collection::btree_map(500_i64..5000, 1_u64..3, 0..3),
    ) {
        let (values, rows): (Vec<i64>, Vec<u64>) = counted.into_iter().chain(far).unzip();
        let (tree, positions) = mean_difference_tree(&ints(&values), &rows).unwrap();
        prop_assert!(positions.is_sorted());
        prop_assert_eq!(positions.last().copied(), Some(tree.leaf_count() as u32 - 1));
        // In integers: (v n - s)^2 > 4 (n q - s^2).
        let pairs = || values.iter().zip(&rows).map(|(value, rows)| (i128::from(*value), i128::from(*rows)));
        let n: i128 = pairs().map(|(_, rows)| rows).sum();
        let s: i128 = pairs().map(|(value, rows)| value * rows).sum();
        let q: i128 = pairs().map(|(value, rows)| value * value * rows).sum();
        let is_tail = |value: i64| (i128::from(value) * n - s).pow(2) > 4 * (n * q - s * s);
        let inside: Vec<i64> = values.iter().copied().filter(|value| !is_tail(*value)).collect();
        let (first, last) = (inside[0], inside[inside.len() - 1]);
        let md = ((last - first) as f64 / 20.0).round().max(1.0) as i64;
        let whole = (values[values.len() - 1] - values[0]) as f64;
        for (value, position) in values.iter().zip(&positions) {
            let labels = path(&tree, *position);
            let losses = extents(&tree, *position, 1.0);
            prop_assert!(losses.is_sorted() && losses[losses.len() - 1] == 1.0);
            if is_tail(*value) {
                let expected = if *value < first { format!("<{first}") } else { format!(">{last}") };
                prop_assert_eq!(labels, [expected.as_str(), "*"]);
                continue;
            }
            prop_assert_eq!(labels[0].to_owned(), value.to_string());
            if first == last {
                prop_assert_eq!(labels.len(), 2);
                continue;
            }
            let origin = first.div_euclid(md) * md;
            for (level, width) in [md, 2 * md, 4 * md].into_iter().enumerate() {
                let lower = origin + (value - origin).div_euclid(width) * width;
                let upper = lower + width - 1;
                let label = if lower == upper { lower.to_string() } else { format!("[{lower}-{upper}]") };
                prop_assert_eq!(labels[level + 1], label);
                let shown = upper.min(values[values.len() - 1]) - lower.max(values[0]);
                prop_assert!((losses[level + 1] - shown as f64 / whole).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn floats_lie_in_the_intervals_of_their_labels(
        values in prop::collection::btree_set(-100_000_i32..100_000, 2..60),
        scale in prop::sample::select(vec![1.0, 0.01, 1e-7, 1e9]),
    ) {
        let values: Vec<f64> = values.into_iter().map(|value| f64::from(value) * scale).collect();
        let (tree, positions) = even(&floats(&values));
        for (value, position) in values.iter().zip(positions) {
            let labels = path(&tree, position);
            for label in labels[1..labels.len() - 1].iter() {
                let text = label.trim_start_matches('[').trim_end_matches(')');
                let dash = text[1..].find('-').unwrap() + 1;
                let (lower, upper): (f64, f64) = (text[..dash].parse().unwrap(), text[dash + 1..].parse().unwrap());
                let slack = 1e-12 * value.abs();
                prop_assert!(lower - slack <= *value && *value < upper + slack, "{} in {}", value, label);
            }
        }
    }
}
