use super::*;
use crate::columns::ColumnRecoding;
use crate::hierarchy::HierarchySpec;
use crate::metrics::granularity;
use crate::test_tables::{Surveyed, ancestor, interval, ints, maybe_ints, quasi, survey, texts, tree};

fn changes(rows: &Surveyed, blocks: &[&[usize]], k: u64) -> Vec<Option<DistributionShift>> {
    let recoding = rows.recode(blocks);
    let mut marginals = Marginals::new(&rows.table);
    marginals.add(&rows.table);
    marginals.changes(&rows.table, &recoding, k, &[])
}

fn change_of(rows: &Surveyed, blocks: &[&[usize]], k: u64) -> DistributionShift {
    changes(rows, blocks, k).remove(0).unwrap()
}

#[test]
fn values_that_are_shown_as_they_were_have_not_changed() {
    let rows = survey(&[(interval("age"), ints(&[0, 0, 10, 10, 20, 20]))], &[]);
    assert_eq!(change_of(&rows, &[&[0, 1], &[2, 3], &[4, 5]], 2).distance, 0.0);
}

#[test]
fn a_reader_spreads_an_interval_evenly() {
    // Both rows are at the ends of the only interval; a reader spreads them evenly over 20 slices. The end slices have
    // 1/2 in the original and 1/20 in the estimate, the others 0 and 1/20.
    let rows = survey(&[(interval("age"), ints(&[0, 40]))], &[]);
    let found = change_of(&rows, &[&[0, 1]], 2);
    assert!((found.distance - 0.9).abs() < 1e-9, "{found:?}");
    assert!(found.slices.is_empty(), "two rows are too few for a distribution");
}

#[test]
fn a_reader_spreads_a_category_over_the_leaves_below_it() {
    let country = tree(&["France;Europe;*", "Spain;Europe;*", "Italy;Europe;*", "Japan;Asia;*"]);
    let rows = survey(&[(ancestor("country", &country), texts(&["France", "France", "Spain", "Japan"]))], &[]);
    // France 2/4, Spain 1/4, Japan 1/4 became Europe 3/4, which is 1/4 for each of its leaves.
    assert!((change_of(&rows, &[&[0, 1, 2], &[3]], 1).distance - 0.25).abs() < 1e-9);
}

#[test]
fn a_set_is_spread_over_its_members_only() {
    let rows = survey(&[(quasi("job", ColumnRecoding::Set, HierarchySpec::Flat), texts(&["a", "b", "c", "c"]))], &[]);
    // {a, c} of one a and two c: estimated 1.5 each, originally 1 and 2.
    assert!((change_of(&rows, &[&[0, 2, 3], &[1]], 1).distance - 0.125).abs() < 1e-9);
}

#[test]
fn null_alone_is_no_part_of_the_line_and_null_among_numbers_is_anywhere() {
    let ages: Vec<Option<i64>> = [None, None, Some(0), Some(0), Some(40), Some(40)].to_vec();
    let rows = survey(&[(interval("age"), maybe_ints(&ages))], &[]);
    assert_eq!(change_of(&rows, &[&[0, 1], &[2, 3], &[4, 5]], 2).distance, 0.0);
    let found = change_of(&rows, &[&[0, 2], &[1], &[3], &[4, 5]], 1);
    // The zero in a class with null is released as `*`: with its null it is spread over all slices, 2 of 5 rows.
    let expected = (0.5 - (1.0 + 0.1) / 5.0 + (2.1 / 5.0 - 0.5_f64).abs() + 18.0 * 0.1 / 5.0) / 2.0;
    assert!((found.distance - expected).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_column_of_one_value_or_of_stand_ins_has_no_distribution_to_change() {
    let rows = survey(
        &[
            (interval("year"), ints(&[7; 4])),
            (quasi("age", ColumnRecoding::Mean, HierarchySpec::Flat), ints(&[1, 2, 3, 9])),
        ],
        &[],
    );
    assert_eq!(changes(&rows, &[&[0, 1], &[2, 3]], 2), [None, None]);
    let recoding = rows.recode(&[&[0, 1], &[2, 3]]);
    assert_eq!((granularity(&recoding, 0), granularity(&recoding, 1)), (Some([4, 0, 0, 0, 0, 0]), None));
}

#[test]
fn detail_counts_rows_by_what_their_label_loses() {
    // Ages 0 to 100: a class of one value, one that spans 4, one that spans 50, and one of everything.
    let rows = survey(&[(interval("age"), ints(&[7, 7, 10, 14, 20, 70, 0, 100]))], &[]);
    let recoding = rows.recode(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
    assert_eq!(granularity(&recoding, 0), Some([2, 2, 0, 2, 0, 2]));
}

/// A hundred ages of ten people each, and one outlier.
fn many() -> Surveyed {
    let ages: Vec<i64> = (0..1000).map(|row| row % 100).chain([400]).collect();
    survey(&[(interval("age"), ints(&ages))], &[])
}

/// Classes of ten ages each, the outlier in the last.
fn tens() -> Vec<Vec<usize>> {
    (0..10)
        .map(|ten| {
            (0..1001).filter(|row| (row % 100 / 10 == ten && *row < 1000) || (ten == 9 && *row == 1000)).collect()
        })
        .collect()
}

#[test]
fn distributions_are_reported_in_steps_of_at_least_k_rows() {
    let (rows, blocks) = (many(), tens());
    let blocks: Vec<&[usize]> = blocks.iter().map(Vec::as_slice).collect();
    for k in [5, 40] {
        let found = change_of(&rows, &blocks, k);
        let step = k.max(11) as f64;
        assert!(!found.slices.is_empty());
        assert_eq!(found.slices.last().unwrap().end, 1.0);
        for slice in &found.slices {
            for share in [slice.before, slice.after] {
                let steps = share * 1001.0 / step;
                assert!((steps - steps.round()).abs() < 1e-6, "k = {k}: {share} is no multiple of {step} rows");
            }
            assert!(slice.after * 1001.0 >= step - 1e-6, "{slice:?} has less than a step of released rows");
        }
        // The outlier is not visible.
        let far_out = found.slices.iter().filter(|slice| slice.end > 0.5).map(|slice| slice.before).sum::<f64>();
        assert_eq!(far_out, 0.0, "{found:?}");
    }
    assert!(change_of(&rows, &blocks, 200).slices.is_empty(), "fewer than ten steps");
}

#[test]
fn one_row_more_or_less_does_not_show_in_a_joined_slice() {
    let before = [100.0, 1.0, 0.0, 99.0];
    let after = [100.0, 0.5, 0.5, 99.0];
    let with: Vec<DomainSlice> = slices(&before, &after, 10);
    let without: Vec<DomainSlice> = slices(&[100.0, 0.0, 0.0, 100.0], &after, 10);
    assert_eq!(with, without);
    assert_eq!(with.iter().map(|slice| slice.end).collect::<Vec<_>>(), [0.25, 1.0]);
}
