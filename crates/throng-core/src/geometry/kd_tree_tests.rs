use super::*;
use crate::test_tables::{interval, ints, survey};

/// A tree over points of a plane.
fn plane(points: &[(i64, i64)], leaf: usize) -> (LossSpace, Vec<f32>, KdTree) {
    let (x, y): (Vec<i64>, Vec<i64>) = points.iter().copied().unzip();
    let rows = survey(&[(interval("x"), ints(&x)), (interval("y"), ints(&y))], &[]);
    let (axes, places) = LossSpace::new(&rows.table, 0..rows.table.cell_count() as u32);
    let tree = KdTree::new(&axes, &places, (0..rows.table.cell_count() as u32).collect(), leaf);
    (axes, places, tree)
}

fn points(count: i64) -> Vec<(i64, i64)> {
    (0..count).map(|point| (point * 37 % 101, point * 59 % 103)).collect()
}

#[test]
fn parts_are_full_but_for_the_last_one() {
    for leaf in [1, 3, 8] {
        let (_, _, tree) = plane(&points(100), leaf);
        let sizes: Vec<usize> = tree.leaves().into_iter().map(|part| tree.places(part).len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 100);
        assert!(sizes[..sizes.len() - 1].iter().all(|size| *size == leaf), "{sizes:?}");
        let mut all = tree.order().to_vec();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn the_nearest_boxes_come_first_and_all_of_them_come_once() {
    let (axes, places, tree) = plane(&points(100), 4);
    let at = &places[17 * axes.stride()..][..axes.stride()];
    let mut visited = Vec::new();
    tree.visit_nearest(
        &axes,
        at,
        |_| true,
        |part| {
            visited.push(part);
            true
        },
    );
    let losses: Vec<f32> = visited.iter().map(|part| axes.loss_to(at, tree.ranges(*part))).collect();
    assert!(losses.is_sorted() && losses[0] == 0.0, "{losses:?}");
    visited.sort_unstable();
    assert_eq!(visited, tree.leaves());
}

#[test]
fn parts_that_are_not_wanted_are_left_out_and_enough_is_enough() {
    let (axes, places, tree) = plane(&points(100), 4);
    let at = &places[..axes.stride()];
    let unwanted = tree.halves(0).unwrap()[1];
    let half = tree.range(unwanted);
    let mut visited = 0;
    tree.visit_nearest(
        &axes,
        at,
        |part| part != unwanted,
        |part| {
            assert!(tree.range(part).end <= half.start);
            visited += 1;
            visited < 5
        },
    );
    assert_eq!(visited, 5);
}

#[test]
fn equal_places_are_one_part() {
    let (axes, _, tree) = plane(&[(1, 1)], 4);
    assert_eq!((tree.len(), tree.leaves()), (1, vec![0]));
    let none = KdTree::new(&axes, &[], Vec::new(), 4);
    none.visit_nearest(&axes, &[0.0; 4], |_| true, |_| panic!("there is no part"));
}

#[test]
fn points_with_equal_coordinates_are_ordered_by_their_rank() {
    let (axes, _, _) = plane(&[(0, 0), (9, 9)], 4);
    // Ten points at one place, and two at another. The first half has eight.
    let places: Vec<f32> = (0..12).flat_map(|point| [if point < 10 { 0.0 } else { 1.0 }, 0.0, 0.0, 0.0]).collect();
    assert_eq!(places.len(), 12 * axes.stride());
    let first = |tree: KdTree| {
        let mut half = tree.places(tree.halves(0).unwrap()[0]).to_vec();
        half.sort_unstable();
        half
    };
    assert_eq!(first(KdTree::new(&axes, &places, (0..12).collect(), 4)), (0..8).collect::<Vec<_>>());
    let descending = KdTree::with_ties(&axes, &places, (0..12).collect(), 4, &|point| 100 - point);
    assert_eq!(first(descending), (2..10).collect::<Vec<_>>());
}
