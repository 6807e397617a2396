use super::*;
use crate::columns::ColumnRecoding;
use crate::columns::QuasiSpec;
use crate::hierarchy::HierarchySpec;
use crate::recode::Recoding;
use crate::test_tables::{Surveyed, ancestor, census_or_skip, countries, floats, ints, quasi, survey, texts};

fn number(name: &str) -> QuasiSpec {
    quasi(name, ColumnRecoding::Mean, HierarchySpec::Flat)
}

fn mdav(rows: &Surveyed, k: u64, p: u64) -> Vec<Class> {
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, rows.table.sensitive().len());
    Mdav.cluster(&leaf, &rows.table, &privacy)
}

/// Classic MDAV on the Census data of 1080 rows, all 13 columns as quasi-identifiers: SSE / SST in percent.
#[test]
fn census_loses_what_the_literature_reports() {
    let Some(census) = census_or_skip() else { return };
    let columns: Vec<_> =
        census.iter().enumerate().map(|(index, column)| (number(&format!("c{index}")), floats(column))).collect();
    let rows = survey(&columns, &[]);
    assert_eq!(rows.table.rows(), 1080);
    for (k, expected) in [(3, 5.6922), (4, 7.4947), (5, 9.0884), (10, 14.1559)] {
        let recoding = Recoding::new(&rows.table, &mdav(&rows, k, 1)).unwrap();
        let ratios = (0..13).map(|column| recoding.squared_errors(column).unwrap().ratio());
        let percent = 100.0 * ratios.sum::<f64>() / 13.0;
        assert!((percent - expected).abs() < 0.01, "k = {k}: {percent}");
    }
}

#[test]
fn classes_form_at_both_ends() {
    // The mean is 11.3: 22 is the farthest row, and 1 is the farthest from 22. The three remaining rows are a class.
    let rows = survey(&[(number("x"), ints(&[1, 2, 3, 10, 11, 12, 20, 21, 22]))], &[]);
    assert_eq!(mdav(&rows, 3, 1), rows.clusters(&[&[8, 7, 6], &[0, 1, 2], &[3, 4, 5]]));
}

#[test]
fn the_last_rows_are_a_class_around_the_farthest_and_a_class_of_the_others() {
    // Five rows are at least 2k and fewer than 3k; the mean is 4.8.
    let rows = survey(&[(number("x"), ints(&[0, 1, 2, 10, 11]))], &[]);
    assert_eq!(mdav(&rows, 2, 1), rows.clusters(&[&[4, 3], &[0, 1, 2]]));
    // Five rows are fewer than 2k.
    assert_eq!(mdav(&rows, 3, 1), rows.clusters(&[&[0, 1, 2, 3, 4]]));
}

#[test]
fn rows_pair_up_along_the_column_that_matters_less() {
    let pairs = |weights: [f64; 2]| {
        let column = |name, weight| QuasiSpec { weight, ..number(name) };
        let rows = survey(
            &[(column("x", weights[0]), ints(&[0, 0, 1, 1])), (column("y", weights[1]), ints(&[0, 1000, 0, 1000]))],
            &[],
        );
        let found = mdav(&rows, 2, 1);
        [rows.clusters(&[&[0, 1], &[2, 3]]), rows.clusters(&[&[0, 2], &[1, 3]])].map(|expected| found == expected)
    };
    // Raw distances would pair rows of the same y with either weight.
    assert_eq!(pairs([2.0, 1.0]), [true, false]);
    assert_eq!(pairs([1.0, 2.0]), [false, true]);
}

#[test]
fn numbers_and_categories_are_weighed_against_each_other() {
    let found = |weight: f64| {
        let country = QuasiSpec { weight, ..ancestor("c", &countries()) };
        let names = texts(&["France", "Japan", "France", "Japan"]);
        let rows = survey(&[(number("x"), ints(&[20, 20, 70, 70])), (country, names)], &[]);
        let found = mdav(&rows, 2, 1);
        [rows.clusters(&[&[0, 1], &[2, 3]]), rows.clusters(&[&[0, 2], &[1, 3]])].map(|expected| found == expected)
    };
    assert_eq!(found(0.9), [true, false]);
    assert_eq!(found(1.1), [false, true]);
}

#[test]
fn neighbours_in_the_hierarchy_share_a_class() {
    let names = texts(&["France", "Japan", "Italy", "China", "Spain"]);
    let rows = survey(&[(ancestor("c", &countries()), names)], &[]);
    let mut found = mdav(&rows, 2, 1);
    found.sort_by(|a, b| a.portions.cmp(&b.portions));
    assert_eq!(found, rows.clusters(&[&[0, 2, 4], &[1, 3]]));
}

#[test]
fn equal_rows_are_shared_out() {
    let rows = survey(&[(number("x"), ints(&[5; 7]))], &[]);
    assert_eq!(mdav(&rows, 3, 1), rows.clusters(&[&[0, 1, 2], &[3, 4, 5, 6]]));
    assert_eq!(mdav(&rows, 2, 1), rows.clusters(&[&[0, 1], &[2, 3], &[4, 5, 6]]));
    let rows = survey(&[(number("x"), ints(&[5; 7]))], &[texts(&["a", "a", "b", "b", "b", "c", "a"])]);
    // Each class takes the most frequent values that remain: a and b, a and b, a and b, and a single c.
    assert_eq!(mdav(&rows, 2, 2), rows.clusters(&[&[0, 2, 5], &[1, 3], &[6, 4]]));
}

#[test]
fn seeds_of_h1_are_farthest_from_the_mean_of_the_rows_left() {
    // The mean is 6.2: 13 comes first, and takes the nearest a, which is 1. The mean of the rest is 5.75: 0 takes the b
    // of 2. The b of 10 and 11 are left, and closer to 7 than to 1.
    let rows = survey(&[(number("x"), ints(&[0, 1, 2, 10, 11, 13]))], &[texts(&["a", "a", "b", "b", "b", "b"])]);
    assert_eq!(mdav(&rows, 2, 2), rows.clusters(&[&[5, 1, 3, 4], &[0, 2]]));
    // With three rows per class the nearest row to 13 comes along; then 10 is farthest from 4.
    assert_eq!(mdav(&rows, 3, 2), rows.clusters(&[&[5, 1, 4], &[3, 0, 2]]));
}
