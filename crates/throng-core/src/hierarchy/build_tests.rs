use std::sync::Arc;

use arrow::array::{
    Date32Array, Date64Array, Decimal128Array, Float32Array, Int8Array, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};

use super::*;
use crate::test_tables::{countries, floats, ints, texts};

/// Returns the labels from a value up to the root.
fn path(tree: &Tree, position: u32) -> Vec<&str> {
    let up = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
    up.map(|node| tree.label(node)).collect()
}

fn all_paths(spec: &HierarchySpec, values: &ArrayRef) -> Vec<Vec<String>> {
    let (tree, positions) = build_tree(spec, values).unwrap();
    let owned = |position: &u32| path(&tree, *position).into_iter().map(str::to_owned).collect();
    positions.iter().map(owned).collect()
}

fn intervals(origin: f64, widths: &[f64]) -> HierarchySpec {
    HierarchySpec::Intervals { origin, widths: widths.to_vec() }
}

#[test]
fn whole_numbers_get_closed_intervals_of_a_fixed_width() {
    let found = all_paths(&intervals(0.0, &[5.0]), &ints(&[19, 20, 24, 25]));
    assert_eq!(found[0], ["19", "[15-19]", "*"]);
    assert_eq!(found[1], ["20", "[20-24]", "*"]);
    assert_eq!(found[2], ["24", "[20-24]", "*"]);
    assert_eq!(found[3], ["25", "[25-29]", "*"]);
}

#[test]
fn growing_intervals_nest() {
    let found = all_paths(&intervals(0.0, &[5.0, 10.0, 20.0]), &ints(&[3, 7, 12, 38]));
    assert_eq!(found[0], ["3", "[0-4]", "[0-9]", "[0-19]", "*"]);
    assert_eq!(found[1], ["7", "[5-9]", "[0-9]", "[0-19]", "*"]);
    assert_eq!(found[2], ["12", "[10-14]", "[10-19]", "[0-19]", "*"]);
    assert_eq!(found[3], ["38", "[35-39]", "[30-39]", "[20-39]", "*"]);
}

#[test]
fn negative_numbers_fall_below_the_origin() {
    let found = all_paths(&intervals(0.0, &[5.0, 10.0]), &ints(&[-11, -5, -1, 0]));
    assert_eq!(found[0], ["-11", "[-15--11]", "[-20--11]", "*"]);
    assert_eq!(found[1], ["-5", "[-5--1]", "[-10--1]", "*"]);
    assert_eq!(found[2], ["-1", "[-5--1]", "[-10--1]", "*"]);
    assert_eq!(found[3], ["0", "[0-4]", "[0-9]", "*"]);
}

#[test]
fn the_origin_is_a_border_of_every_level() {
    let found = all_paths(&intervals(18.0, &[10.0, 20.0]), &ints(&[17, 18, 28, 38]));
    assert_eq!(found[0], ["17", "[8-17]", "[-2-17]", "*"]);
    assert_eq!(found[1], ["18", "[18-27]", "[18-37]", "*"]);
    assert_eq!(found[2], ["28", "[28-37]", "[18-37]", "*"]);
    assert_eq!(found[3], ["38", "[38-47]", "[38-57]", "*"]);
}

#[test]
fn other_numbers_get_half_open_intervals() {
    let found = all_paths(&intervals(0.0, &[2.5, 5.0]), &floats(&[-0.5, 0.0, 2.49, 2.5, 7.5]));
    assert_eq!(found[0], ["-0.5", "[-2.5-0)", "[-5-0)", "*"]);
    assert_eq!(found[1], ["0.0", "[0-2.5)", "[0-5)", "*"]);
    assert_eq!(found[2], ["2.49", "[0-2.5)", "[0-5)", "*"]);
    assert_eq!(found[3], ["2.5", "[2.5-5)", "[0-5)", "*"]);
    assert_eq!(found[4], ["7.5", "[7.5-10)", "[5-10)", "*"]);
}

#[test]
fn whole_numbers_in_broken_widths_get_half_open_intervals() {
    assert_eq!(all_paths(&intervals(0.0, &[2.5]), &ints(&[2, 3]))[1], ["3", "[2.5-5)", "*"]);
    assert_eq!(all_paths(&intervals(0.5, &[2.0]), &ints(&[2, 3]))[1], ["3", "[2.5-4.5)", "*"]);
}

#[test]
fn intervals_take_every_kind_of_number() {
    let columns: [ArrayRef; 4] = [
        Arc::new(Int8Array::from(vec![-7])),
        Arc::new(UInt64Array::from(vec![7])),
        Arc::new(Float32Array::from(vec![7.5])),
        Arc::new(Decimal128Array::from(vec![750]).with_precision_and_scale(5, 2).unwrap()),
    ];
    let labels = columns.map(|column| all_paths(&intervals(0.0, &[5.0]), &column).remove(0).remove(1));
    assert_eq!(labels, ["[-10--6]", "[5-9]", "[5-10)", "[5-10)"]);
}

#[test]
fn a_border_that_binary_numbers_miss_still_belongs_to_its_interval() {
    // 0.3 / 0.1 is a little less than 3 in binary, and 3 * 0.1 a little more than 0.3.
    let found = all_paths(&intervals(0.0, &[0.1, 0.3]), &floats(&[0.25, 0.3, 0.35, 0.7]));
    assert_eq!(found[0], ["0.25", "[0.2-0.3)", "[0-0.3)", "*"]);
    assert_eq!(found[1], ["0.3", "[0.3-0.4)", "[0.3-0.6)", "*"]);
    assert_eq!(found[2], ["0.35", "[0.3-0.4)", "[0.3-0.6)", "*"]);
    assert_eq!(found[3], ["0.7", "[0.7-0.8)", "[0.6-0.9)", "*"]);
}

#[test]
fn intervals_of_prices_cover_their_values() {
    let prices: Vec<f64> = (-300..300).map(|cents| f64::from(cents) / 100.0).collect();
    let (tree, positions) = build_tree(&intervals(0.0, &[0.05, 0.1, 0.5, 1.5]), &floats(&prices)).unwrap();
    for (price, position) in prices.iter().zip(positions) {
        for label in &path(&tree, position)[1..5] {
            let inside = label.trim_start_matches('[').trim_end_matches(')');
            let dash = inside[1..].find('-').unwrap() + 1;
            let (lower, upper): (f64, f64) = (inside[..dash].parse().unwrap(), inside[dash + 1..].parse().unwrap());
            assert!(lower <= *price && *price < upper, "{price} in {label}");
        }
    }
}

#[test]
fn intervals_of_texts_are_refused() {
    let expected = BuildError::Type { expected: "numbers", found: "Utf8".to_owned() };
    assert_eq!(build_tree(&intervals(0.0, &[5.0]), &texts(&["7"])).unwrap_err(), expected);
}

const PARTS: [DatePart; 5] = [DatePart::Day, DatePart::Month, DatePart::Quarter, DatePart::Year, DatePart::Decade];

#[test]
fn dates_climb_by_parts_of_the_calendar() {
    // Day 19,782 after 1970-01-01 is 2024-02-29.
    let column: ArrayRef = Arc::new(Date32Array::from(vec![0, 19_782]));
    let found = all_paths(&HierarchySpec::DateParts(PARTS.to_vec()), &column);
    assert_eq!(found[0], ["1970-01-01", "1970-01-01", "1970-01", "1970-Q1", "1970", "1970s", "*"]);
    assert_eq!(found[1], ["2024-02-29", "2024-02-29", "2024-02", "2024-Q1", "2024", "2020s", "*"]);
}

#[test]
fn dates_before_1970_keep_their_day() {
    let column: ArrayRef = Arc::new(Date32Array::from(vec![-25_567, -1]));
    let parts = HierarchySpec::DateParts(vec![DatePart::Month, DatePart::Quarter, DatePart::Decade]);
    let found = all_paths(&parts, &column);
    assert_eq!(found[0], ["1900-01-01", "1900-01", "1900-Q1", "1900s", "*"]);
    assert_eq!(found[1], ["1969-12-31", "1969-12", "1969-Q4", "1960s", "*"]);
}

#[test]
fn timestamps_of_every_unit_fall_on_the_same_day() {
    // One second before 1970 and 2024-02-29 23:59:59.
    let seconds = [-1_i64, 1_709_251_199];
    let scaled = |factor: i64| seconds.iter().map(|second| second * factor).collect::<Vec<_>>();
    let columns: [ArrayRef; 6] = [
        Arc::new(TimestampSecondArray::from(scaled(1))),
        Arc::new(TimestampMillisecondArray::from(scaled(1_000))),
        Arc::new(TimestampMicrosecondArray::from(scaled(1_000_000))),
        Arc::new(TimestampNanosecondArray::from(scaled(1_000_000_000))),
        Arc::new(TimestampMicrosecondArray::from(scaled(1_000_000)).with_timezone("+05:00")),
        Arc::new(Date64Array::from(scaled(1_000))),
    ];
    for column in columns {
        let found = all_paths(&HierarchySpec::DateParts(vec![DatePart::Day, DatePart::Quarter]), &column);
        assert_eq!(found[0][1..], ["1969-12-31", "1969-Q4", "*"], "{}", column.data_type());
        assert_eq!(found[1][1..], ["2024-02-29", "2024-Q1", "*"], "{}", column.data_type());
    }
}

#[test]
fn quarters_begin_in_january_april_july_and_october() {
    let days: Vec<i32> = (1..=12)
        .map(|month| {
            let day = NaiveDate::from_ymd_opt(2023, month, 15).unwrap();
            (day - NaiveDate::from_ymd_opt(1970, 1, 1).unwrap()).num_days() as i32
        })
        .collect();
    let column: ArrayRef = Arc::new(Date32Array::from(days));
    let found = all_paths(&HierarchySpec::DateParts(vec![DatePart::Quarter]), &column);
    let quarters: Vec<&str> = found.iter().map(|path| path[1].as_str()).collect();
    assert_eq!(
        quarters,
        ["Q1", "Q1", "Q1", "Q2", "Q2", "Q2", "Q3", "Q3", "Q3", "Q4", "Q4", "Q4"].map(|q| match q {
            "Q1" => "2023-Q1",
            "Q2" => "2023-Q2",
            "Q3" => "2023-Q3",
            _ => "2023-Q4",
        })
    );
}

#[test]
fn date_parts_of_numbers_are_refused() {
    let expected = BuildError::Type { expected: "dates or timestamps", found: "Int64".to_owned() };
    assert_eq!(build_tree(&HierarchySpec::DateParts(PARTS.to_vec()), &ints(&[1])).unwrap_err(), expected);
}

#[test]
fn a_right_mask_hides_the_end_of_a_code() {
    let found = all_paths(&HierarchySpec::Mask(MaskSide::Right), &texts(&["41075", "41099", "42099"]));
    assert_eq!(found[1], ["41099", "4109*", "410**", "41***", "4****", "*"]);
    let (tree, at) = build_tree(&HierarchySpec::Mask(MaskSide::Right), &texts(&["41075", "41099", "42099"])).unwrap();
    assert_eq!(tree.label(tree.common_ancestor(at[0], at[1])), "410**");
    assert_eq!(tree.label(tree.common_ancestor(at[0], at[2])), "4****");
}

#[test]
fn a_left_mask_hides_the_beginning_of_a_code() {
    let found = all_paths(&HierarchySpec::Mask(MaskSide::Left), &texts(&["199", "299"]));
    assert_eq!(found[0], ["199", "*99", "**9", "*"]);
    assert_eq!(found[1], ["299", "*99", "**9", "*"]);
}

#[test]
fn codes_of_unequal_length_share_what_a_level_leaves_visible() {
    let codes = texts(&["4", "41", "4109", "41099"]);
    let right = all_paths(&HierarchySpec::Mask(MaskSide::Right), &codes);
    assert_eq!(right[0], ["4", "4*", "4**", "4***", "4****", "*"]);
    assert_eq!(right[1], ["41", "41*", "41**", "41***", "4****", "*"]);
    assert_eq!(right[2], ["4109", "4109*", "410**", "41***", "4****", "*"]);
    assert_eq!(right[3], ["41099", "4109*", "410**", "41***", "4****", "*"]);
    let left = all_paths(&HierarchySpec::Mask(MaskSide::Left), &texts(&["99", "1099", "9"]));
    assert_eq!(left[0], ["99", "*99", "**99", "***9", "*"]);
    assert_eq!(left[1], ["1099", "*099", "**99", "***9", "*"]);
    assert_eq!(left[2], ["9", "*9", "**9", "***9", "*"]);
}

#[test]
fn a_mask_counts_characters_and_not_bytes() {
    let found = all_paths(&HierarchySpec::Mask(MaskSide::Right), &texts(&["äö", "äü"]));
    assert_eq!(found, [["äö", "ä*", "*"], ["äü", "ä*", "*"]]);
}

#[test]
fn a_mask_of_one_character_or_none_is_flat() {
    assert_eq!(all_paths(&HierarchySpec::Mask(MaskSide::Right), &texts(&["a", "b"])), [["a", "*"], ["b", "*"]]);
    assert_eq!(all_paths(&HierarchySpec::Mask(MaskSide::Left), &texts(&[""])), [["", "*"]]);
}

#[test]
fn labels_of_a_mask_of_a_length_do_not_depend_on_the_other_codes() {
    for side in [MaskSide::Right, MaskSide::Left] {
        let spec = HierarchySpec::MaskOfLength { side, length: 4 };
        let all = texts(&["1234", "12", "123456", "12345"]);
        let paths = all_paths(&spec, &all);
        for (alone, path) in ["1234", "12", "123456", "12345"].iter().zip(&paths) {
            assert_eq!(&all_paths(&spec, &texts(&[alone]))[0], path, "{side:?}");
        }
        assert_eq!(all_paths(&spec, &texts(&["1234"])), all_paths(&HierarchySpec::Mask(side), &texts(&["1234"])));
    }
    let right = HierarchySpec::MaskOfLength { side: MaskSide::Right, length: 4 };
    assert_eq!(all_paths(&right, &texts(&["12"])), [["12", "12*", "12**", "1***", "*"]]);
    assert_eq!(all_paths(&right, &texts(&["123456"])), [["123456", "123*", "12**", "1***", "*"]]);
}

#[test]
fn all_missing_values_are_counted() {
    let spec = HierarchySpec::Tree(Arc::new(countries()));
    let values = texts(&["Atlantis", "France", "Lemuria", "Mu"]);
    let error = build_tree(&spec, &values).unwrap_err();
    assert_eq!(error, BuildError::Missing { count: 3 });
    assert!(!error.to_string().contains("Atlantis"));
}

#[test]
fn an_inner_node_is_no_value() {
    let spec = HierarchySpec::Tree(Arc::new(countries()));
    assert_eq!(build_tree(&spec, &texts(&["Europe"])).unwrap_err(), BuildError::Missing { count: 1 });
}

#[test]
fn a_tree_finds_numbers_by_their_text() {
    let tree = Tree::from_paths(&[vec!["1", "odd", "*"], vec!["2", "even", "*"], vec!["3", "odd", "*"]]).unwrap();
    let (_, positions) = build_tree(&HierarchySpec::Tree(Arc::new(tree)), &ints(&[1, 2, 3])).unwrap();
    assert_eq!(positions, [0, 2, 1]);
}

#[test]
fn a_rule_without_values_is_a_bare_root() {
    for spec in [HierarchySpec::Flat, HierarchySpec::Mask(MaskSide::Right), HierarchySpec::DateParts(vec![])] {
        let values: ArrayRef = Arc::new(Date32Array::from(Vec::<i32>::new()));
        let (tree, positions) = build_tree(&spec, &values).unwrap();
        assert!(positions.is_empty());
        assert_eq!(tree.node_count(), 1);
    }
}

#[test]
fn numbers_that_can_not_be_distinguished_at_the_width_are_refused() {
    let large = ints(&[9_007_199_254_740_993, 9_007_199_254_740_997]);
    assert_eq!(build_tree(&intervals(0.0, &[2.0, 4.0]), &large).unwrap_err(), BuildError::TooFine);
    let close = floats(&[1e13 + 0.25, 1e13 + 0.5, 1e13 + 0.75]);
    assert_eq!(build_tree(&intervals(0.0, &[0.25]), &close).unwrap_err(), BuildError::TooFine);
}

#[test]
fn a_free_text_is_no_code_to_be_masked() {
    let long = texts(&["41099", &"x".repeat(20_000)]);
    let error = build_tree(&HierarchySpec::Mask(MaskSide::Right), &long).unwrap_err();
    assert_eq!(error, BuildError::TooLong { longest: 20_000 });
}
