use proptest::prelude::*;

use super::*;
use crate::test_tables::{ancestor, cases, countries, interval, ints, maybe_ints, paper_figure_1, survey, texts};

fn k_anonymity(k: u64) -> Privacy {
    Privacy::p_sensitive_k_anonymity(k, 1, 0)
}

fn split(basic: &BasicMondrian, table: &Table, privacy: &Privacy) -> Vec<Vec<u32>> {
    let leaves = basic.partition((0..table.cell_count() as u32).collect(), table, privacy).unwrap();
    assert!(leaves.iter().all(|leaf| leaf.cover.is_none()));
    leaves.into_iter().map(|leaf| leaf.cells).collect()
}

fn strict(table: &Table, k: u64) -> Vec<Vec<u32>> {
    split(&BasicMondrian::strict(), table, &k_anonymity(k))
}

#[test]
fn numbers_are_halved_at_the_lower_median() {
    // Seven rows: the fourth is the median and goes left. Then 2 of 1..4 and 6 of 5..7, so that 7 would be alone.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4, 5, 6, 7]))], &[]);
    assert_eq!(strict(&rows.table, 2), [vec![0, 1], vec![2, 3], vec![4, 5, 6]]);
    assert_eq!(strict(&rows.table, 1).len(), 7);
    assert_eq!(strict(&rows.table, 4).len(), 1);
}

#[test]
fn the_median_counts_rows_and_its_threshold_never_moves() {
    // Four of six rows are 1, which is the median.
    let rows = survey(&[(interval("age"), ints(&[1, 1, 1, 1, 2, 3]))], &[]);
    assert_eq!(strict(&rows.table, 2), [vec![0], vec![1, 2]]);
    // The median is the largest value, so that nothing is above it, though a cut after 1 would be allowed.
    let rows = survey(&[(interval("age"), ints(&[1, 1, 2, 2, 2]))], &[]);
    assert_eq!(strict(&rows.table, 2), [[0, 1]]);
}

#[test]
fn null_is_the_smallest_number() {
    let rows = survey(&[(interval("age"), maybe_ints(&[Some(5), None, Some(7), None]))], &[]);
    assert_eq!(strict(&rows.table, 2), [vec![0], vec![1, 2]]);
}

#[test]
fn a_category_is_split_into_all_children_at_once_or_not_at_all() {
    // Europe has four rows and Asia two, then Europe two in France, one in Spain and one in Italy.
    let names = ["France", "France", "Spain", "Italy", "Japan", "China"];
    let rows = survey(&[(ancestor("country", &countries()), texts(&names))], &[]);
    // With k = 2 the continents are separated. Spain and Italy are too small, and so Europe is not split, though France
    // alone against the other two would be allowed.
    assert_eq!(strict(&rows.table, 2), [vec![0, 1, 2], vec![3, 4]]);
    assert_eq!(strict(&rows.table, 3), [[0, 1, 2, 3, 4]]);
    assert_eq!(strict(&rows.table, 1).len(), 5);
}

#[test]
fn children_without_rows_are_no_sides() {
    // No row is in Asia, so the lowest common ancestor of the leaf is Europe, and none in Italy.
    let rows = survey(&[(ancestor("country", &countries()), texts(&["France", "France", "Spain", "Spain"]))], &[]);
    assert_eq!(strict(&rows.table, 2), [[0], [1]]);
}

#[test]
fn the_largest_weighted_spread_is_split_first() {
    let columns = |weight: f64| {
        let mut heavy = interval("y");
        heavy.weight = weight;
        vec![(interval("x"), ints(&[0, 0, 10, 10])), (heavy, ints(&[0, 1, 0, 1]))]
    };
    // Both columns span their whole domain, and ties go to the first. Cells are (0,0) (0,1) (10,0) (10,1).
    let even = survey(&columns(1.0), &[]).table;
    assert_eq!(strict(&even, 2), [[0, 1], [2, 3]]);
    let heavy = survey(&columns(2.0), &[]).table;
    assert_eq!(strict(&heavy, 2), [[0, 2], [1, 3]]);
    // Explicit weights override those of the policy.
    let given =
        |weights: &[f64]| split(&BasicMondrian::strict().with_weights(weights.to_vec()), &heavy, &k_anonymity(2));
    assert_eq!(given(&[1.0, 1.0]), [[0, 1], [2, 3]]);
    assert_eq!(given(&[3.0]), [[0, 1], [2, 3]]);
    assert_eq!(given(&[1.0]), [[0, 2], [1, 3]]);
}

#[test]
fn a_column_without_an_allowed_split_gives_way_to_the_next() {
    // x is first, and its median split leaves one row alone.
    let rows = survey(&[(interval("x"), ints(&[0, 0, 0, 9])), (interval("y"), ints(&[1, 1, 2, 2]))], &[]);
    assert_eq!(strict(&rows.table, 2), [vec![0], vec![1, 2]]);
}

#[test]
fn every_side_satisfies_the_whole_model() {
    // Halves of a a | b b have one value each; halves of a b | a b have both.
    let table = |illness: &[&str]| survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &[texts(illness)]).table;
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    assert_eq!(split(&BasicMondrian::strict(), &table(&["a", "a", "b", "b"]), &privacy), [[0, 1, 2, 3]]);
    assert_eq!(split(&BasicMondrian::strict(), &table(&["a", "b", "a", "b"]), &privacy), [[0, 1], [2, 3]]);
    let figure = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &paper_figure_1());
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 3);
    assert_eq!(split(&BasicMondrian::strict(), &figure.table, &privacy), [[0, 1, 2, 3]]);
}

#[test]
fn a_leaf_that_is_small_enough_is_left_to_the_clustering() {
    let rows = survey(&[(interval("age"), ints(&(0..16).collect::<Vec<_>>()))], &[]);
    let sizes = |basic: BasicMondrian| -> Vec<usize> {
        split(&basic, &rows.table, &k_anonymity(2)).iter().map(Vec::len).collect()
    };
    assert_eq!(sizes(BasicMondrian::for_clustering()), [16]);
    assert_eq!(sizes(BasicMondrian::for_clustering().with_leaf_cells(8)), [8, 8]);
    assert_eq!(sizes(BasicMondrian::strict().with_leaf_cells(7)), [4; 4]);
    assert_eq!(sizes(BasicMondrian::strict().with_leaf_cells(0)), [2; 8]);
}

/// Returns the positions of cells in one column, sorted.
fn positions(cells: &[u32], table: &Table, column: usize) -> Vec<u32> {
    let mut positions: Vec<u32> = cells.iter().map(|cell| table.positions(*cell)[column]).collect();
    positions.sort_unstable();
    positions
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn leaves_satisfy_the_model_hold_every_cell_once_and_can_not_be_split_again(
        rows in prop::collection::vec((0_i64..12, 0_usize..5, 0_u8..3), 1..60),
        k in 1_u64..6,
        p in 1_u64..3,
        leaf_cells in 1_usize..8,
        weights in prop::collection::vec(0.1_f64..10.0, 2),
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let illness: Vec<String> = rows.iter().map(|row| row.2.to_string()).collect();
        let table = survey(
            &[
                (interval("age"), ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>())),
                (ancestor("c", &countries()), texts(&rows.iter().map(|row| names[row.1]).collect::<Vec<_>>())),
            ],
            &[texts(&illness.iter().map(String::as_str).collect::<Vec<_>>())],
        )
        .table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        let satisfied = |cells: &[u32]| privacy.is_satisfied_by(&table, cells.iter().copied());
        let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
        prop_assume!(satisfied(&cells));
        let basic = BasicMondrian::strict().with_leaf_cells(leaf_cells).with_weights(weights);
        let leaves = split(&basic, &table, &privacy);
        prop_assert!(leaves.iter().all(|leaf| satisfied(leaf)));
        let mut all = leaves.concat();
        all.sort_unstable();
        prop_assert_eq!(all, cells);
        for leaf in leaves.iter().filter(|leaf| leaf.len() > leaf_cells) {
            // The rows of the leaf one by one give its median.
            let by_row = |cell: &u32| vec![table.positions(*cell)[0]; table.cell_rows(*cell) as usize];
            let mut ages: Vec<u32> = leaf.iter().flat_map(by_row).collect();
            ages.sort_unstable();
            let median = ages[(ages.len() - 1) / 2];
            let (low, high): (Vec<u32>, Vec<u32>) = leaf.iter().partition(|cell| table.positions(**cell)[0] <= median);
            prop_assert!(high.is_empty() || !satisfied(&low) || !satisfied(&high));
            // Positions 0 to 2 are in Europe. Leaves that span both continents are split there, others by country.
            let countries = positions(leaf, &table, 1);
            let side = |position: u32| match countries[0] < 3 && countries[countries.len() - 1] >= 3 {
                true => u32::from(position >= 3),
                false => position,
            };
            let mut sides: Vec<u32> = countries.iter().map(|position| side(*position)).collect();
            sides.dedup();
            let of_side = |at: u32| -> Vec<u32> {
                leaf.iter().copied().filter(|cell| side(table.positions(*cell)[1]) == at).collect()
            };
            prop_assert!(sides.len() == 1 || sides.iter().any(|at| !satisfied(&of_side(*at))));
        }
    }
}
