use arrow::array::ArrayRef;
use proptest::prelude::*;

use super::*;
use crate::columns::{Limit, QuasiSpec};
use crate::model::Tally;
use crate::test_tables::{
    ancestor, cases, countries, interval, ints, maybe_ints, maybe_texts, set_partitions, survey, texts,
};

fn limited(spec: QuasiSpec, limit: Limit) -> QuasiSpec {
    QuasiSpec { limit: Some(limit), ..spec }
}

fn k_anonymity(k: u64) -> Privacy {
    Privacy::p_sensitive_k_anonymity(k, 1, 0)
}

fn values(list: &[&str]) -> Limit {
    Limit::Values(list.iter().map(|value| (*value).to_owned()).collect())
}

fn bands(list: &[f64]) -> Limit {
    Limit::Bands(list.into())
}

/// Returns the cells of the classes, and those that are suppressed.
fn cells(regions: FeasibleRegions) -> (Vec<Vec<u32>>, Vec<u32>) {
    (regions.classes, regions.suppressed_cells)
}

#[test]
fn without_limits_everything_is_one_class() {
    let table = survey(&[(interval("age"), ints(&[1, 2, 3]))], &[]).table;
    assert_eq!(cells(FeasibleRegions::of(&table, &k_anonymity(2))), (vec![vec![0, 1, 2]], Vec::new()));
}

#[test]
fn a_level_keeps_subtrees_apart() {
    // Leaves: France, Spain, Italy; Japan, China. Level 1 is the continent.
    let column = texts(&["France", "Spain", "Japan", "Italy"]);
    let table = survey(&[(limited(ancestor("country", &countries()), Limit::Level(1)), column.clone())], &[]).table;
    let allowed = FeasibleRegions::of(&table, &k_anonymity(2));
    assert_eq!(cells(allowed.clone()), (vec![vec![0, 1, 2]], vec![3]));
    assert_eq!(allowed.suppressed_rows(&table), 1);
    // Level 0 allows no generalization, and level 2 everything.
    let table = survey(&[(limited(ancestor("country", &countries()), Limit::Level(0)), column.clone())], &[]).table;
    assert_eq!(FeasibleRegions::of(&table, &k_anonymity(2)).suppressed_cells, [0, 1, 2, 3]);
    let table = survey(&[(limited(ancestor("country", &countries()), Limit::Level(2)), column)], &[]).table;
    assert_eq!(FeasibleRegions::of(&table, &k_anonymity(2)).classes, [[0, 1, 2, 3]]);
}

#[test]
fn a_list_allows_its_highest_value_and_nothing_above_others() {
    let column = texts(&["France", "Spain", "Japan", "China", "Italy", "Italy"]);
    // Europe is allowed, and Spain below it adds nothing. Japan and China are not below any of them.
    let limit = values(&["Europe", "Spain"]);
    let table = survey(&[(limited(ancestor("country", &countries()), limit), column)], &[]).table;
    let allowed = FeasibleRegions::of(&table, &k_anonymity(2));
    assert_eq!(cells(allowed.clone()), (vec![vec![0, 1, 2]], vec![3, 4]));
}

#[test]
fn bands_of_a_number_begin_at_their_borders() {
    let column = ints(&[0, 17, 18, 29, 30, 64, 99]);
    let table = survey(&[(limited(interval("age"), bands(&[18.0, 30.0])), column)], &[]).table;
    assert_eq!(FeasibleRegions::of(&table, &k_anonymity(2)).classes, [vec![0, 1], vec![2, 3], vec![4, 5, 6]]);
}

#[test]
fn a_border_means_the_number_that_is_written() {
    // 0.7 in single precision is below 0.7 in double precision, but has the same text.
    let column: ArrayRef = std::sync::Arc::new(arrow::array::Float32Array::from(vec![0.6, 0.7, 0.8]));
    let table = survey(&[(limited(interval("x"), bands(&[0.7])), column)], &[]).table;
    assert_eq!(FeasibleRegions::of(&table, &k_anonymity(1)).classes, [vec![0], vec![1, 2]]);
}

#[test]
fn null_stays_among_nulls_unless_the_root_is_allowed() {
    let column = maybe_ints(&[None, Some(1), Some(2), None]);
    let table = survey(&[(limited(interval("age"), bands(&[100.0])), column)], &[]).table;
    assert_eq!(FeasibleRegions::of(&table, &k_anonymity(2)).classes, [vec![0], vec![1, 2]]);
    let column = || maybe_texts(&[None, Some("France"), Some("Spain")]);
    let table = survey(&[(limited(ancestor("c", &countries()), Limit::Level(1)), column())], &[]).table;
    assert_eq!(cells(FeasibleRegions::of(&table, &k_anonymity(2))), (vec![vec![0, 1]], vec![2]));
    let table = survey(&[(limited(ancestor("c", &countries()), Limit::Level(2)), column())], &[]).table;
    assert_eq!(FeasibleRegions::of(&table, &k_anonymity(2)).classes, [[0, 1, 2]]);
}

#[test]
fn a_limit_that_does_not_fit_is_refused_by_column() {
    for (spec, column) in [
        (limited(interval("age"), Limit::Level(1)), ints(&[1])),
        (limited(ancestor("c", &countries()), bands(&[1.0])), texts(&["France"])),
    ] {
        let error = crate::test_tables::try_survey(&[(spec, column)], &[]).unwrap_err();
        assert!(matches!(error, crate::CoreError::Limit { .. }), "{error}");
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// [Campan 2010, Properties 1 to 4], against every subset and every partition of up to five rows.
    #[test]
    fn out_is_the_least_that_must_go(
        rows in prop::collection::vec((0_usize..5, 0_i64..40, 0_i64..3), 1..6),
        k in 1_u64..4,
        p in 1_u64..3,
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let country: ArrayRef = texts(&rows.iter().map(|row| names[row.0]).collect::<Vec<_>>());
        let age = ints(&rows.iter().map(|row| row.1).collect::<Vec<_>>());
        let quasi = [
            (limited(ancestor("country", &countries()), Limit::Level(1)), country),
            (limited(interval("age"), bands(&[20.0])), age),
        ];
        let surveyed = survey(&quasi, &[ints(&rows.iter().map(|row| row.2).collect::<Vec<_>>())]);
        let table = &surveyed.table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        let allowed = FeasibleRegions::of(table, &privacy);
        let cell_of_row: Vec<u32> = surveyed.groups.iter()
            .map(|group| (0..table.cell_count() as u32).find(|cell| table.groups(*cell).contains(group)).unwrap())
            .collect();
        let is_out = |row: usize| allowed.suppressed_cells.contains(&cell_of_row[row]);
        // A block of rows is a releasable class if it crosses no limit and satisfies the model.
        let continent = |row: usize| rows[row].0 < 3;
        let is_class = |block: &[usize]| {
            let same = block.iter().all(|row| {
                continent(*row) == continent(block[0]) && (rows[*row].1 < 20) == (rows[block[0]].1 < 20)
            });
            let tally: Tally = surveyed.cluster(block.iter().copied()).tally(table);
            same && privacy.is_satisfied(&tally)
        };
        let can_be_released = |subset: &[usize]| {
            set_partitions(subset.len()).iter().any(|partition| {
                let blocks = partition.iter().map(|block| block.iter().map(|at| subset[*at]).collect::<Vec<_>>());
                blocks.into_iter().all(|block| is_class(&block))
            })
        };
        for bits in 1_u32..1 << rows.len() {
            let subset: Vec<usize> = (0..rows.len()).filter(|row| bits & (1 << row) != 0).collect();
            if subset.iter().any(|row| is_out(*row)) {
                prop_assert!(!can_be_released(&subset), "a set with rows of OUT could be released: {:?}", subset);
            }
        }
        let rest: Vec<usize> = (0..rows.len()).filter(|row| !is_out(*row)).collect();
        prop_assert!(rest.is_empty() || can_be_released(&rest), "{:?} can't be released", rest);
        let suppressed = (0..rows.len()).filter(|row| is_out(*row)).count() as u64;
        prop_assert_eq!(allowed.suppressed_rows(table), suppressed);
    }
}
