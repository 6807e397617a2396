use super::*;
use crate::columns::ColumnRecoding;
use crate::hierarchy::HierarchySpec;
use crate::test_tables::{ancestor, floats, interval, ints, maybe_ints, quasi, survey, texts, tree};

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "found {found}, expected {expected}");
}

/// Age from 20 to 60, so that its range is 40; country in a tree with four leaves and height 2:
///
/// ```text
///            *
///        /       \
///     Europe     Asia
///    /  |   \      |
///   F   S    I     J        nobody lives in Italy
/// ```
fn people() -> crate::test_tables::Surveyed {
    let country = tree(&["France;Europe;*", "Spain;Europe;*", "Italy;Europe;*", "Japan;Asia;*"]);
    survey(
        &[
            (interval("age"), ints(&[20, 25, 30, 40, 60, 60])),
            (ancestor("country", &country), texts(&["France", "Spain", "Spain", "Japan", "Japan", "France"])),
        ],
        &[],
    )
}

#[test]
fn two_classes_by_hand() {
    let people = people();
    let recoding = people.recode(&[&[0, 1, 2], &[3, 4, 5]]);
    let utility = Utility::of(&people.table, &recoding, 2);
    // Class 1: ages 20-30 lose 10/40; the common ancestor of France and Spain is Europe: height 1 of 2, 3 leaves of 4.
    // Class 2: ages 40-60 lose 20/40; that of Japan and France is the root: height 2 of 2, 4 leaves of 4. IL = 3 *
    // (10/40 + 1/2) + 3 * (20/40 + 2/2) = 2.25 + 4.5 = 6.75
    near(utility.information_loss, 6.75);
    near(utility.columns[0].information_loss, 3.0 * 0.25 + 3.0 * 0.5);
    near(utility.columns[1].information_loss, 3.0 * 0.5 + 3.0 * 1.0);
    // NCP = age (3 * 0.25 + 3 * 0.5) / 6 = 0.375, country (3 * 0.75 + 3 * 1) / 6 = 0.875, mean 0.625
    near(utility.columns[0].ncp, 0.375);
    near(utility.columns[1].ncp, 0.875);
    near(utility.ncp, 0.625);
    // DM = 3^2 + 3^2; AVG = 6 / (2 * 2)
    assert_eq!((utility.classes, utility.dm), (2, 18));
    near(utility.avg, 1.5);
    assert_eq!(utility.columns[1].name, "country");
}

#[test]
fn three_classes_of_unequal_size_by_hand() {
    let people = people();
    let recoding = people.recode(&[&[0], &[1, 2], &[3, 4, 5]]);
    let utility = Utility::of(&people.table, &recoding, 1);
    // Class 1 has one row and loses nothing. Class 2: ages 25-30 lose 5/40; Spain alone is a leaf and loses nothing.
    // Class 3 as before: 20/40, height 2/2, leaves 4/4.
    // IL  = 0 + 2 * 0.125 + 3 * 1.5 = 4.75
    near(utility.information_loss, 4.75);
    // NCP = age (2 * 0.125 + 3 * 0.5) / 6, country 3 * 1 / 6
    near(utility.columns[0].ncp, 1.75 / 6.0);
    near(utility.columns[1].ncp, 0.5);
    near(utility.ncp, (1.75 / 6.0 + 0.5) / 2.0);
    // DM = 1 + 4 + 9; AVG = 6 / (3 * 1)
    assert_eq!((utility.classes, utility.dm), (3, 14));
    near(utility.avg, 2.0);
}

#[test]
fn one_class_of_the_whole_domain_loses_everything() {
    let people = people();
    let utility = Utility::of(&people.table, &people.recode(&[&[0, 1, 2, 3, 4, 5]]), 3);
    near(utility.ncp, 1.0);
    near(utility.information_loss, 12.0);
    assert_eq!(utility.dm, 36);
    near(utility.avg, 2.0);
}

#[test]
fn a_single_value_loses_nothing_even_as_the_only_leaf_of_its_parent() {
    let people = people();
    // Japan is the only leaf of Asia; the class shows the leaf, whose height is 0.
    let utility = Utility::of(&people.table, &people.recode(&[&[3, 4], &[0, 1, 2, 5]]), 2);
    // Class {40, 60 in Japan}: age 20/40. Class {20, 25, 30, 60 in Europe}: age 40/40, height 1/2, leaves 3/4.
    near(utility.columns[1].information_loss, 4.0 * 0.5);
    near(utility.columns[1].ncp, 4.0 * 0.75 / 6.0);
    near(utility.columns[0].information_loss, 2.0 * 0.5 + 4.0);
}

#[test]
fn a_column_with_one_value_loses_nothing() {
    let rows = survey(
        &[
            (interval("year"), ints(&[2024; 4])),
            (quasi("sex", ColumnRecoding::Ancestor, HierarchySpec::Flat), texts(&["f"; 4])),
        ],
        &[],
    );
    let utility = Utility::of(&rows.table, &rows.recode(&[&[0, 1, 2, 3]]), 4);
    assert_eq!((utility.ncp, utility.information_loss, utility.avg), (0.0, 0.0, 1.0));
}

#[test]
fn null_mixed_with_numbers_loses_everything_and_alone_nothing() {
    let rows = survey(&[(interval("age"), maybe_ints(&[None, None, Some(1), Some(2), Some(5)]))], &[]);
    // Classes {null}, {1, 2} with (2-1)/4, {5}; then {null, 1} with 1, and {2, 5}, the whole released range.
    near(Utility::of(&rows.table, &rows.recode(&[&[0, 1], &[2, 3], &[4]]), 1).information_loss, 2.0 * 0.25);
    near(Utility::of(&rows.table, &rows.recode(&[&[0, 1, 2], &[3, 4]]), 1).information_loss, 3.0 * 1.0 + 2.0 * 1.0);
}

#[test]
fn a_set_loses_the_share_of_its_values() {
    let rows = survey(&[(quasi("job", ColumnRecoding::Set, HierarchySpec::Flat), texts(&["a", "b", "c", "d"]))], &[]);
    // {a, d} are 2 of 4 values; the flat tree has height 1, so that IL counts each of these rows fully.
    let utility = Utility::of(&rows.table, &rows.recode(&[&[0, 3], &[1], &[2]]), 1);
    near(utility.ncp, 2.0 * 0.5 / 4.0);
    near(utility.information_loss, 2.0);
}

#[test]
fn weights_guide_the_search_and_do_not_change_the_measures() {
    let mut heavy = interval("age");
    heavy.weight = 7.0;
    let rows = survey(&[(heavy, floats(&[0.0, 0.5, 2.0]))], &[]);
    near(Utility::of(&rows.table, &rows.recode(&[&[0, 1], &[2]]), 1).ncp, 2.0 * 0.25 / 3.0);
}

#[test]
fn the_widest_range_of_numbers_is_still_measured() {
    let rows = survey(&[(interval("x"), floats(&[f64::MIN, 0.0, f64::MAX]))], &[]);
    near(Utility::of(&rows.table, &rows.recode(&[&[0, 1], &[2]]), 1).ncp, 2.0 * 0.5 / 3.0);
}

#[test]
fn merged_clusters_are_measured_as_one_class() {
    let rows = survey(&[(interval("age"), ints(&[1, 1, 9, 9]))], &[]);
    // Two clusters of {1, 9} have the same label [1-9].
    let utility = Utility::of(&rows.table, &rows.recode(&[&[0, 2], &[1, 3]]), 2);
    assert_eq!((utility.classes, utility.dm, utility.avg), (1, 16, 2.0));
}

#[test]
fn empty_measures_are_zero() {
    assert_eq!((avg(0, 0, 3), avg(5, 1, 0), dm(&[])), (0.0, 0.0, 0));
    assert_eq!(dm(&[u64::MAX, 2]), u64::MAX);
}

#[test]
fn what_clusters_would_lose_is_what_their_classes_lose() {
    let rows = people();
    for blocks in [&[&[0_usize, 1, 2][..], &[3, 4, 5]][..], &[&[0, 1, 2, 3, 4, 5]]] {
        let covers_range = blocks.len() == 1;
        let clusters = rows.clusters(blocks);
        let (sum, count) = estimated_ncp(&rows.table, &clusters);
        let found = Utility::of(&rows.table, &rows.recode(blocks), 2);
        assert_eq!(count, rows.table.rows());
        // Intervals are relative to the released range, which the estimate does not know yet.
        let predicted = sum / count as f64;
        assert!(predicted <= found.ncp + 1e-9, "{predicted} > {}", found.ncp);
        assert!(!covers_range || (predicted - found.ncp).abs() < 1e-9, "{predicted} is not {}", found.ncp);
    }
}
