use proptest::prelude::*;

use super::*;
use crate::published::literal_reference::{LiteralRows, leaves, sound_classes, without};
use crate::test_tables::{
    Surveyed, cases, interval, ints, maybe_texts, paper_figure_1, paper_table_1, paper_table_1_corrected, survey, texts,
};

fn greedy_pk(rows: &Surveyed, k: u64, p: u64) -> Vec<Class> {
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, rows.table.sensitive().len());
    sound_classes(&GreedyPk, &rows.table, &privacy)
}

#[test]
fn seeds_are_far_from_each_other() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 30, 31, 60, 61]))], &[]);
    // From 1 the farthest is 61, and from 61 the farthest that is left is 30.
    assert_eq!(greedy_pk(&rows, 2, 1), rows.clusters(&[&[0, 1], &[4, 5], &[2, 3]]));
}

#[test]
fn the_most_diverse_row_comes_before_the_nearest() {
    let ages = ints(&[1, 2, 3, 4]);
    let rows = survey(&[(interval("age"), ages)], &[texts(&["a", "a", "b", "b"])]);
    // 2 is nearer to 1, and 3 is the nearest b. From 1 the farthest is then 4.
    assert_eq!(greedy_pk(&rows, 2, 2), rows.clusters(&[&[0, 2], &[1, 3]]));
    // When p is met the nearest comes, and the last row joins the only class.
    assert_eq!(greedy_pk(&rows, 3, 2), rows.clusters(&[&[0, 1, 2, 3]]));
}

#[test]
fn a_row_that_helps_two_columns_comes_before_one_that_helps_one() {
    let rows = survey(
        &[(interval("age"), ints(&[1, 2, 3, 4]))],
        &[texts(&["a", "b", "b", "a"]), texts(&["x", "x", "y", "y"])],
    );
    assert_eq!(greedy_pk(&rows, 2, 2), rows.clusters(&[&[0, 2], &[1, 3]]));
}

#[test]
fn leftovers_join_the_class_where_the_loss_grows_least() {
    let rows = survey(&[(interval("age"), ints(&[0, 1, 9, 10, 8]))], &[]);
    // {0, 1} and {9, 10}. With 8 the second loses 3 * 2/10 - 2 * 1/10, the first 3 * 8/10 - 2 * 1/10.
    assert_eq!(greedy_pk(&rows, 2, 1), rows.clusters(&[&[0, 1], &[2, 3, 4]]));
}

#[test]
fn table_1_and_its_mended_form() {
    let (quasi, sensitive) = paper_table_1_corrected();
    let rows = survey(&quasi, &sensitive);
    assert_eq!(greedy_pk(&rows, 3, 2), rows.clusters(&[&[0, 1, 2], &[3, 4, 5, 6]]));
    let (quasi, sensitive) = paper_table_1();
    let rows = survey(&quasi, &sensitive);
    // Seed (AIDS, 40,000) takes (Diabetes, 50,000) for both its values, and then spans all ages. The next seed is
    // (Diabetes, 40,000), and the last AIDS costs nothing but its own loss in the first class.
    let classes = greedy_pk(&rows, 3, 2);
    assert_eq!(classes, rows.clusters(&[&[0, 1, 2, 3], &[4, 5, 6]]));
}

#[test]
fn figure_1_becomes_one_class() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &paper_figure_1());
    assert_eq!(greedy_pk(&rows, 2, 2), rows.clusters(&[&[0, 1, 2, 3]]));
}

#[test]
fn null_is_no_sensitive_value() {
    let values = maybe_texts(&[Some("a"), None, None, Some("b")]);
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &[values]);
    assert_eq!(greedy_pk(&rows, 2, 2), rows.clusters(&[&[0, 1, 2, 3]]));
}

/// GreedyPKClustering on single rows.
fn literal(rows: &LiteralRows<'_>) -> Vec<Class> {
    let mut left: Vec<usize> = (0..rows.len()).collect();
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    let mut seed = left.first().copied();
    while let Some(row) = seed {
        let mut cluster = vec![without(&mut left, row)];
        while rows.hom(&cluster) > 0.0 && !left.is_empty() {
            let (_, row, _) = rows.best_match(&left, &[(0, &cluster)]);
            cluster.push(without(&mut left, row));
        }
        while !rows.is_satisfied(&cluster) && !left.is_empty() {
            let row = rows.nearest(&left, &cluster);
            cluster.push(without(&mut left, row));
        }
        if !rows.is_satisfied(&cluster) {
            left.extend(cluster);
            left.sort_unstable();
            break;
        }
        let far = |other: &usize| rows.il(&[row, *other]);
        let farthest = left.iter().copied().rev().max_by(|a, b| far(a).total_cmp(&far(b)));
        seed = farthest.map(|row| rows.commonest(&left, row));
        clusters.push(cluster);
    }
    if !clusters.is_empty() {
        rows.spread(left, &mut clusters);
    }
    rows.classes(&clusters)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn classes_are_sound_and_those_of_the_algorithm_on_rows(leaf in leaves(30)) {
        let found = leaf.classes(&GreedyPk);
        prop_assert_eq!(found, literal(&LiteralRows::new(&leaf.rows.table, &leaf.privacy)));
    }
}
