use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use proptest::prelude::*;

use super::*;
use crate::domain::DomainKind;
use crate::test_tables::{ancestor, cases, countries, interval, ints, paper_figure_1, survey, texts, tree};

fn k_anonymity(k: u64) -> Privacy {
    Privacy::p_sensitive_k_anonymity(k, 1, 0)
}

fn cut(mondrian: Mondrian, table: &Table, privacy: &Privacy) -> Vec<Vec<u32>> {
    let leaves = mondrian.partition((0..table.cell_count() as u32).collect(), table, privacy).unwrap();
    leaves.into_iter().map(|leaf| leaf.cells).collect()
}

#[test]
fn strict_cuts_by_hand() {
    // Eight rows. The median cut falls after 4; then after 2 and after 6. Pairs are the smallest leaves that k = 2 allows.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4, 5, 6, 7, 100]))], &[]);
    let leaves = cut(Mondrian::strict(), &rows.table, &k_anonymity(2));
    assert_eq!(leaves, [[0, 1], [2, 3], [4, 5], [6, 7]]);
    // With k = 3 each half has four rows and can't be cut again.
    let leaves = cut(Mondrian::strict(), &rows.table, &k_anonymity(3));
    assert_eq!(leaves, [[0, 1, 2, 3], [4, 5, 6, 7]]);
    assert_eq!(cut(Mondrian::strict(), &rows.table, &k_anonymity(5)).len(), 1);
}

#[test]
fn the_median_counts_rows_and_not_cells() {
    // Six of eight rows are 1, so that the cut nearest to the median falls after the first cell.
    let rows = survey(&[(interval("age"), ints(&[1, 1, 1, 1, 1, 1, 2, 3]))], &[]);
    assert_eq!(cut(Mondrian::strict(), &rows.table, &k_anonymity(2)), [vec![0], vec![1, 2]]);
}

#[test]
fn the_cut_moves_from_the_median_to_where_both_sides_satisfy_the_model() {
    // By age: a a a b a b. The left side has two values from the fourth row on, the right one up to the fifth: the only
    // allowed cut falls after the fourth, though the median is after the third. Neither side can be cut again.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4, 5, 6]))], &[texts(&["a", "a", "a", "b", "a", "b"])]);
    let leaves = cut(Mondrian::strict(), &rows.table, &Privacy::p_sensitive_k_anonymity(2, 2, 1));
    assert_eq!(leaves, [vec![0, 1, 2, 3], vec![4, 5]]);
}

#[test]
fn the_widest_column_is_cut_first_and_weights_widen() {
    let columns = |weight: f64| {
        let mut heavy = interval("y");
        heavy.weight = weight;
        vec![(interval("x"), ints(&[0, 0, 10, 10])), (heavy, ints(&[0, 1, 0, 1]))]
    };
    // Both columns span their whole domain: the first one is cut. Cells are (0,0) (0,1) (10,0) (10,1).
    let rows = survey(&columns(1.0), &[]);
    assert_eq!(cut(Mondrian::strict(), &rows.table, &k_anonymity(2)), [[0, 1], [2, 3]]);
    let rows = survey(&columns(2.0), &[]);
    assert_eq!(cut(Mondrian::strict(), &rows.table, &k_anonymity(2)), [[0, 2], [1, 3]]);
}

#[test]
fn a_column_without_an_allowed_cut_gives_way_to_the_next() {
    // x is wider, and any cut of it leaves one row alone.
    let rows = survey(&[(interval("x"), ints(&[0, 0, 0, 9])), (interval("y"), ints(&[1, 1, 2, 2]))], &[]);
    let mut narrow = interval("y");
    narrow.weight = 0.1;
    let light = survey(&[(interval("x"), ints(&[0, 0, 0, 9])), (narrow, ints(&[1, 1, 2, 2]))], &[]);
    for table in [&rows.table, &light.table] {
        assert_eq!(cut(Mondrian::strict(), table, &k_anonymity(2)), [vec![0], vec![1, 2]]);
    }
}

#[test]
fn categories_are_cut_between_children() {
    // Three rows in Europe and three in Asia; the median of the rows by leaf would also be there. One more in Japan moves
    // the median into Asia, and the cut stays at its border.
    let names = ["France", "Spain", "Italy", "Japan", "Japan", "Japan", "China", "China"];
    let rows = survey(&[(ancestor("country", &countries()), texts(&names))], &[]);
    let leaves = cut(Mondrian::strict(), &rows.table, &k_anonymity(3));
    assert_eq!(leaves, [[0, 1, 2].as_slice(), &[3, 4]]);
    // With k = 2 Asia is cut between its own children, and Europe (three rows) is not.
    let leaves = cut(Mondrian::strict(), &rows.table, &k_anonymity(2));
    assert_eq!(leaves, [[0, 1, 2].as_slice(), &[3], &[4]]);
}

#[test]
fn a_leaf_that_is_small_enough_is_left_to_the_clustering() {
    let rows = survey(&[(interval("age"), ints(&(0..16).collect::<Vec<_>>()))], &[]);
    let sizes = |cells: usize| -> Vec<usize> {
        let mondrian = Mondrian::for_clustering(&k_anonymity(2)).with_leaf_cells(cells);
        cut(mondrian, &rows.table, &k_anonymity(2)).iter().map(Vec::len).collect()
    };
    assert_eq!(sizes(16), [16]);
    assert_eq!(sizes(8), [8, 8]);
    assert_eq!(sizes(5), [4; 4]);
    assert_eq!(sizes(0), [2; 8]);
    assert_eq!(cut(Mondrian::for_clustering(&k_anonymity(2)), &rows.table, &k_anonymity(2)).len(), 1);
}

#[test]
fn figure_1_is_one_leaf() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &paper_figure_1());
    let leaves = cut(Mondrian::strict(), &rows.table, &Privacy::p_sensitive_k_anonymity(2, 2, 3));
    assert_eq!(leaves, [[0, 1, 2, 3]]);
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn leaves_satisfy_the_model_and_share_out_the_cells(
        rows in prop::collection::vec((0_i64..12, 0_usize..5, 0_u8..4, 0_u8..3), 1..80),
        k in 1_u64..7,
        p in 1_u64..4,
        leaf_cells in 1_usize..20,
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let sensitive = |value: fn(&(i64, usize, u8, u8)) -> u8| -> ArrayRef {
            Arc::new(rows.iter().map(|row| Some(value(row).to_string())).collect::<StringArray>())
        };
        let table = survey(
            &[
                (interval("age"), ints(&rows.iter().map(|row| row.0).collect::<Vec<_>>())),
                (ancestor("c", &countries()), texts(&rows.iter().map(|row| names[row.1]).collect::<Vec<_>>())),
            ],
            &[sensitive(|row| row.2), sensitive(|row| row.3)],
        )
        .table;
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 2);
        let cells = 0..table.cell_count() as u32;
        prop_assume!(privacy.is_satisfied(&Tally::of_cells(&table, cells.clone())));
        for mondrian in [Mondrian::strict(), Mondrian::strict().with_leaf_cells(leaf_cells)] {
            let leaves = cut(mondrian, &table, &privacy);
            for leaf in &leaves {
                prop_assert!(privacy.is_satisfied(&Tally::of_cells(&table, leaf.iter().copied())));
            }
            let mut all: Vec<u32> = leaves.concat();
            all.sort_unstable();
            prop_assert_eq!(all, cells.clone().collect::<Vec<_>>());
        }
    }

    /// Leaves may have one cell less than the table, so that exactly one cut is made.
    #[test]
    fn no_cut_runs_through_a_subtree_where_one_between_children_is_allowed(
        picks in prop::collection::vec(0_usize..9, 1..40),
        k in 1_u64..6,
    ) {
        let lines =
            ["a;A;U;*", "b;A;U;*", "c;B;U;*", "d;B;U;*", "e;B;U;*", "f;C;V;*", "g;C;V;*", "h;D;V;*", "i;D;V;*"];
        let column = texts(&picks.iter().map(|pick| &lines[*pick][..1]).collect::<Vec<_>>());
        let table = survey(&[(ancestor("c", &tree(&lines)), column)], &[]).table;
        let cells = table.cell_count() as u32;
        prop_assume!(picks.len() as u64 >= k && cells > 1);
        let DomainKind::Category(tree) = table.quasi()[0].domain.kind() else { panic!("a category") };
        let node = tree.common_ancestor(table.positions(0)[0], table.positions(cells - 1)[0]);
        let child = |cell: u32| {
            let leaf = tree.leaf_node(table.positions(cell)[0]);
            std::iter::successors(Some(leaf), |above| tree.parent(*above)).find(|above| tree.parent(*above) == Some(node))
        };
        // Cells are in the order of the leaves. A cut before this cell lies between children, and leaves k rows on both sides.
        let rows = |cells: std::ops::Range<u32>| cells.map(|cell| table.cell_rows(cell)).sum::<u64>();
        let is_allowed =
            |cell: u32| child(cell) != child(cell - 1) && rows(0..cell) >= k && rows(cell..cells) >= k;
        let leaves = cut(Mondrian::strict().with_leaf_cells(cells as usize - 1), &table, &k_anonymity(k));
        if (1..cells).any(is_allowed) {
            prop_assert_eq!(leaves.len(), 2);
            prop_assert!(leaves[0].iter().all(|left| leaves[1].iter().all(|right| child(*left) != child(*right))));
        }
    }
}

#[test]
fn where_no_border_between_children_is_allowed_any_other_will_do() {
    // Europe has two rows, and k = 3 needs one more from Asia on its side.
    let names = ["France", "France", "Japan", "China", "China", "China"];
    let rows = survey(&[(ancestor("country", &countries()), texts(&names))], &[]);
    assert_eq!(cut(Mondrian::strict(), &rows.table, &k_anonymity(3)), [[0, 1].as_slice(), &[2]]);
}

#[test]
fn a_leaf_that_no_threshold_can_part_is_parted_value_by_value() {
    // All a are young and all b old: each cut of the ages leaves a side with one value.
    let ages: Vec<i64> = (1..=8).collect();
    let rows = survey(&[(interval("age"), ints(&ages))], &[texts(&["a", "a", "a", "a", "b", "b", "b", "b"])]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 2, 1);
    let leaves = cut(Mondrian::for_clustering(&privacy).with_leaf_cells(4), &rows.table, &privacy);
    assert_eq!(leaves, [[0, 1, 4, 5], [2, 3, 6, 7]]);
    // Leaves of strict Mondrian do not overlap.
    assert_eq!(cut(Mondrian::strict(), &rows.table, &privacy).len(), 1);
}
