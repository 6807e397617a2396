use proptest::prelude::*;

use super::*;
use crate::columns::ColumnRecoding;
use crate::hierarchy::HierarchySpec;
use crate::test_tables::{ancestor, cases, countries, interval, ints, quasi, survey, texts};

fn k_anonymity(k: u64) -> Privacy {
    Privacy::p_sensitive_k_anonymity(k, 1, 0)
}

fn all_cells(table: &Table) -> Vec<u32> {
    (0..table.cell_count() as u32).collect()
}

fn cells_of(leaves: Vec<Leaf>) -> Vec<Vec<u32>> {
    leaves.into_iter().map(|leaf| leaf.cells).collect()
}

/// x halves into 0 and 9..10, y into 0 and 10; the rows are (0,0) (0,10) (9,0) (10,10).
fn square(weights: [f64; 2]) -> Table {
    let [mut x, mut y] = [interval("x"), interval("y")];
    (x.weight, y.weight) = (weights[0], weights[1]);
    survey(&[(x, ints(&[0, 0, 9, 10])), (y, ints(&[0, 10, 0, 10]))], &[]).table
}

#[test]
fn the_column_whose_trial_loses_least_comes_first() {
    // First x: leaves {(0,0) (0,10)} and {(9,0) (10,10)} lose 2 * (0 + 1) + 2 * (0.1 + 1) = 4.2.
    // First y: leaves {(0,0) (9,0)} and {(0,10) (10,10)} lose 2 * (0.9 + 0) + 2 * (1 + 0) = 3.8.
    let table = square([1.0, 1.0]);
    assert_eq!(Mdr::priorities(&all_cells(&table), &table, &k_anonymity(2)).unwrap(), [1, 0]);
    // y gets the weight 10 and x the weight 1, so that y is split first; without priorities ties go to x.
    let leaves = |partition: &dyn PartitionMethod, table: &Table| {
        cells_of(partition.partition(all_cells(table), table, &k_anonymity(2)).unwrap())
    };
    assert_eq!(leaves(&Mdr::strict(), &table), [[0, 2], [1, 3]]);
    assert_eq!(leaves(&BasicMondrian::strict(), &table), [[0, 1], [2, 3]]);
    // The loss of a trial uses the weights of the policy: 2 * (3 * 0) + 2 * (3 * 0.1) + 4 = 4.6 against 3 * 3.8 = 11.4.
    let table = square([3.0, 1.0]);
    assert_eq!(Mdr::priorities(&all_cells(&table), &table, &k_anonymity(2)).unwrap(), [0, 1]);
    assert_eq!(leaves(&Mdr::strict(), &table), [[0, 1], [2, 3]]);
}

#[test]
fn a_column_of_high_priority_goes_before_a_wider_one() {
    // Both domains span 10 years, and of the rows (0,0) (0,4) (3,3) (3,10) x spans 0.3 and y 1.
    // First x: 2 * 0.4 + 2 * 0.7 = 2.2. First y, which halves after 3: 2 * (0.3 + 0.3) + 2 * (0.3 + 0.6) = 3.
    // So x weighs 10 * 0.3 against 1. With weights 2 and 1 it would be 0.6 against 1.
    let columns = [(interval("x"), ints(&[0, 0, 3, 3, 10])), (interval("y"), ints(&[0, 4, 3, 10, 5]))];
    let table = survey(&columns, &[]).table;
    assert_eq!(Mdr::priorities(&[0, 1, 2, 3], &table, &k_anonymity(2)).unwrap(), [0, 1]);
    let leaves = Mdr::strict().partition(vec![0, 1, 2, 3], &table, &k_anonymity(2)).unwrap();
    assert_eq!(cells_of(leaves), [[0, 1], [2, 3]]);
}

#[test]
fn weights_of_very_many_columns_stay_finite() {
    let column = |index: i64| (interval(&format!("c{index}")), ints(&[0, index % 2, 1, 1]));
    let table = survey(&(0..400).map(column).collect::<Vec<_>>(), &[]).table;
    let leaves = Mdr::strict().partition(all_cells(&table), &table, &k_anonymity(1)).unwrap();
    assert_eq!(leaves.len(), table.cell_count());
}

#[test]
fn equal_trials_keep_the_order_of_the_columns() {
    let columns = [(interval("x"), ints(&[0, 0, 10, 10])), (interval("y"), ints(&[0, 10, 0, 10]))];
    let table = survey(&columns, &[]).table;
    assert_eq!(Mdr::priorities(&all_cells(&table), &table, &k_anonymity(2)).unwrap(), [0, 1]);
}

#[test]
fn priorities_do_not_depend_on_the_size_of_the_leaves() {
    let table = square([1.0, 1.0]);
    let leaves = |mdr: Mdr| cells_of(mdr.partition(all_cells(&table), &table, &k_anonymity(1)).unwrap());
    assert_eq!(leaves(Mdr::strict().with_leaf_cells(2)).len(), 2);
    assert_eq!(leaves(Mdr::strict().with_leaf_cells(0)).len(), 4);
    assert_eq!(leaves(Mdr::for_clustering()), [[0, 1, 2, 3]]);
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn leaves_satisfy_the_model_and_hold_every_cell_once(
        rows in prop::collection::vec((0_i64..90, 0_usize..5, 0_u8..3), 1..80),
        k in 1_u64..8,
        p in 1_u64..3,
        leaf_cells in 1_usize..8,
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let illness: Vec<String> = rows.iter().map(|row| row.2.to_string()).collect();
        let age = quasi("age", ColumnRecoding::Ancestor, HierarchySpec::MeanDifference);
        let table = survey(
            &[
                (age, ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>())),
                (ancestor("c", &countries()), texts(&rows.iter().map(|row| names[row.1]).collect::<Vec<_>>())),
            ],
            &[texts(&illness.iter().map(String::as_str).collect::<Vec<_>>())],
        )
        .table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        prop_assume!(privacy.is_satisfied_by(&table, all_cells(&table)));
        let leaves = Mdr::strict().with_leaf_cells(leaf_cells).partition(all_cells(&table), &table, &privacy).unwrap();
        prop_assert!(leaves.iter().all(|leaf| privacy.is_satisfied_by(&table, leaf.cells.iter().copied())));
        let mut all = cells_of(leaves).concat();
        all.sort_unstable();
        prop_assert_eq!(all, all_cells(&table));
    }
}
