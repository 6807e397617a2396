use super::*;
use crate::test_tables::{Surveyed, interval, ints, maybe_texts, survey, texts};

fn privacy(rows: &Surveyed, k: u64, p: u64) -> Privacy {
    Privacy::p_sensitive_k_anonymity(k, p, rows.table.sensitive().len())
}

/// Grows a class from the cell of a seed in a table whose cells are the leaf.
fn grow(rows: &Surveyed, privacy: &Privacy, seed: usize) -> Option<Class> {
    let leaf: Vec<u32> = (0..rows.table.cell_count() as u32).collect();
    let space = EuclideanEmbedding::new(&leaf, &rows.table);
    UnassignedPoints::new(&space, privacy).grow(seed).map(ClassMembers::into_class)
}

#[test]
fn growth_is_by_distance_from_the_seed() {
    // From 13, the nearest a is 1. The nearest row to the seed is then 11; to the mean of 1 and 13 it would be 10.
    let rows = survey(&[(interval("x"), ints(&[0, 1, 2, 10, 11, 13]))], &[texts(&["a", "a", "b", "b", "b", "b"])]);
    assert_eq!(grow(&rows, &privacy(&rows, 3, 2), 5), Some(rows.cluster([5, 1, 4])));
}

#[test]
fn a_row_helps_when_it_brings_a_value_to_any_column_that_is_short() {
    let rows = survey(
        &[(interval("x"), ints(&[0, 1, 2, 3, 4, 5]))],
        &[texts(&["a", "a", "a", "b", "b", "c"]), texts(&["x", "x", "y", "y", "x", "x"])],
    );
    // 1 brings nothing new. 2 brings y, though the first column gains nothing; 3 then brings b.
    assert_eq!(grow(&rows, &privacy(&rows, 2, 2), 0), Some(rows.cluster([0, 2, 3])));
}

#[test]
fn a_column_that_is_not_short_any_more_does_not_count() {
    let rows =
        survey(&[(interval("x"), ints(&[0, 1, 2, 3]))], &[texts(&["a", "b", "c", "c"]), texts(&["x", "x", "x", "y"])]);
    // With 1 the first column has its two values; the c of 2 is new and not needed.
    assert_eq!(grow(&rows, &privacy(&rows, 2, 2), 0), Some(rows.cluster([0, 1, 3])));
}

#[test]
fn a_seed_without_a_value_is_in_its_class() {
    let rows =
        survey(&[(interval("x"), ints(&[0, 1, 2, 9]))], &[maybe_texts(&[Some("a"), Some("a"), Some("b"), None])]);
    assert_eq!(grow(&rows, &privacy(&rows, 2, 2), 3), Some(rows.cluster([3, 2, 1])));
}

#[test]
fn a_cell_gives_a_row_that_helps_and_then_of_its_commonest_value() {
    let rows = survey(&[(interval("x"), ints(&[0, 0, 0, 0, 0, 5, 5]))], &[texts(&["a", "b", "b", "b", "c", "d", "e"])]);
    // First a b, then the first of the values that help and are equally rare; the fourth row is another b.
    assert_eq!(grow(&rows, &privacy(&rows, 3, 2), 0), Some(rows.cluster([1, 0, 2])));
    assert_eq!(grow(&rows, &privacy(&rows, 4, 3), 0), Some(rows.cluster([1, 0, 4, 2])));
}

#[test]
fn what_cannot_be_completed_is_given_back() {
    let rows = survey(&[(interval("x"), ints(&[0, 1, 2]))], &[texts(&["a", "b", "b"])]);
    let leaf = [0, 1, 2];
    let space = EuclideanEmbedding::new(&leaf, &rows.table);
    let too_much = privacy(&rows, 2, 3);
    let mut unassigned = UnassignedPoints::new(&space, &too_much);
    assert!(unassigned.grow(0).is_none());
    assert_eq!((unassigned.tally().rows(), unassigned.tally().distinct(0)), (3, 2));
    assert_eq!(unassigned.cells().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(unassigned.take_rest().into_class(), rows.cluster([0, 1, 2]));
    assert_eq!((unassigned.tally().rows(), unassigned.cells().count()), (0, 0));
}

#[test]
fn rows_that_are_taken_are_gone() {
    let rows = survey(&[(interval("x"), ints(&[0, 0, 1, 7, 8]))], &[]);
    let leaf = [0, 1, 2, 3];
    let space = EuclideanEmbedding::new(&leaf, &rows.table);
    let privacy = privacy(&rows, 2, 1);
    let mut unassigned = UnassignedPoints::new(&space, &privacy);
    assert_eq!(unassigned.grow(1).map(ClassMembers::into_class), Some(rows.cluster([2, 0])));
    // One of the two rows at 0 remains.
    assert_eq!(unassigned.cells().collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(unassigned.mean(), space.mean(&[(0, 1), (2, 1), (3, 1)]));
    assert_eq!(unassigned.farthest(&unassigned.mean()), Some(0));
    assert_eq!(unassigned.nearest(&unassigned.mean()), Some(2));
}
