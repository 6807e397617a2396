use super::*;
use crate::risk::RiskSummary;
use crate::test_tables::{interval, ints, survey};

fn sizes(list: &[u64]) -> ClassSizes {
    list.iter().copied().collect()
}

#[test]
fn a_risk_is_one_over_the_size_of_the_class() {
    let found = sizes(&[2, 5, 11, 12]);
    assert_eq!((found.classes(), found.rows(), found.smallest()), (4, 30, 2));
    assert_eq!(found.highest_risk(), 0.5);
    assert_eq!(found.average_risk(), 4.0 / 30.0);
    // 1/5 is not above 0.2, 1/11 is above 0.09, and 1/12 is not.
    assert_eq!((found.rows_above(0.2), found.rows_above(0.09), found.rows_above(1.0 / 12.0)), (2, 18, 18));
    assert_eq!(found.unique_rows(), 0);
}

#[test]
fn sizes_are_counted_alike_whether_small_or_large() {
    let list: Vec<u64> = (1..200).chain([70, 70, 3, 1_000_000]).collect();
    let mut expected = BTreeMap::new();
    list.iter().for_each(|size| *expected.entry(*size).or_insert(0) += 1);
    assert_eq!(sizes(&list).iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn the_cells_of_a_table_are_its_classes() {
    let people = survey(&[(interval("age"), ints(&[20, 20, 20, 30, 40, 40]))], &[]);
    let mut found = ClassSizes::default();
    found.add_cells(&people.table);
    assert_eq!(found, sizes(&[3, 1, 2]));
}

#[test]
fn nothing_has_no_risk() {
    let nothing = ClassSizes::default();
    assert_eq!((nothing.highest_risk(), nothing.average_risk(), nothing.smallest()), (0.0, 0.0, 0));
    let summary = RiskSummary::of_original(&nothing, &[0.2], 5);
    assert_eq!((summary.highest, summary.uniques, summary.at_risk), (0.0, 0.0, vec![(0.2, 0.0)]));
}

#[test]
fn a_release_is_reported_exactly() {
    let summary = RiskSummary::of_release(&sizes(&[4, 6]), &[0.2]);
    assert_eq!((summary.classes, summary.highest, summary.average), (2, 0.25, 0.2));
    assert_eq!((summary.uniques, summary.at_risk), (0.0, vec![(0.2, 0.4)]));
}

#[test]
fn of_an_original_no_count_below_k_is_reported() {
    // 3 rows are uniques and 7 in all are at risk; with k = 10 both are reported as 10.
    let summary = RiskSummary::of_original(&sizes(&[1, 1, 1, 4, 93]), &[0.2], 10);
    assert_eq!((summary.highest, summary.uniques, summary.at_risk), (1.0, 0.1, vec![(0.2, 0.1)]));
    // Five classes are rounded up to 10, for 100 rows.
    assert_eq!((summary.classes, summary.average), (10, 0.1));
    // The smallest class has 1, 3 or 9 rows: the highest risk is the same.
    for smallest in [1, 3, 9] {
        let summary = RiskSummary::of_original(&sizes(&[smallest, 50]), &[], 10);
        assert_eq!((summary.highest, summary.classes), (1.0, 10), "{smallest}");
    }
    // From k rows on, the size is reported.
    assert_eq!(RiskSummary::of_original(&sizes(&[10, 50]), &[], 10).highest, 0.1);
    // Rounding never exceeds the number of rows.
    assert_eq!(RiskSummary::of_original(&sizes(&[1; 12]), &[], 10).uniques, 1.0);
}
