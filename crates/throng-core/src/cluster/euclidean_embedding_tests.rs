use proptest::prelude::*;

use super::*;
use crate::columns::{ColumnRecoding, QuasiSpec};
use crate::hierarchy::HierarchySpec;
use crate::test_tables::{
    Surveyed, ancestor, cases, countries, floats, interval, ints, maybe_ints, maybe_texts, quasi, survey, texts, tree,
};

fn leaf(rows: &Surveyed) -> Vec<u32> {
    (0..rows.table.cell_count() as u32).collect()
}

/// Returns the squared distance of two cells.
fn between(space: &EuclideanEmbedding<'_>, a: usize, b: usize) -> f64 {
    space.distances(&space.point(a)).to(space, b)
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// Returns the mean squared distance of two rows drawn with replacement.
fn mean_square(rows: &Surveyed, space: &EuclideanEmbedding<'_>) -> f64 {
    let count = |cell: usize| rows.table.cell_rows(cell as u32) as f64;
    let cells = rows.table.cell_count();
    let pairs = (0..cells).flat_map(|a| (0..cells).map(move |b| (a, b)));
    let sum: f64 = pairs.map(|(a, b)| count(a) * count(b) * between(space, a, b)).sum();
    sum / (rows.table.rows() as f64).powi(2)
}

#[test]
fn a_number_is_standardized_over_its_rows() {
    // Mean 1, variance (3 * 1 + 9) / 4 = 3.
    let rows = survey(&[(interval("x"), ints(&[0, 0, 0, 4]))], &[]);
    let cells = leaf(&rows);
    let space = EuclideanEmbedding::new(&cells, &rows.table);
    assert_close(between(&space, 0, 1), 16.0 / 3.0);
    let mean = space.distances(&space.mean(&[(0, 3), (1, 1)]));
    assert_close(mean.to(&space, 0), 1.0 / 3.0);
    assert_close(mean.to(&space, 1), 9.0 / 3.0);
}

#[test]
fn only_the_rows_of_the_leaf_count() {
    let rows = survey(&[(interval("x"), ints(&[0, 1, 1_000_000]))], &[]);
    let space = EuclideanEmbedding::new(&[0, 1], &rows.table);
    // Two values are one standard deviation from their mean, on opposite sides.
    assert!((between(&space, 0, 1) - 4.0).abs() < 1e-6);
}

#[test]
fn a_narrow_leaf_of_a_wide_table_keeps_its_shape() {
    let rows = survey(&[(interval("x"), floats(&[0.0, 1.0, 2.0, 1e300]))], &[]);
    let space = EuclideanEmbedding::new(&[0, 1, 2], &rows.table);
    assert_close(between(&space, 0, 2), 6.0);
    assert_close(between(&space, 0, 1), 1.5);
}

#[test]
fn null_is_at_the_mean_of_the_numbers_and_apart_from_them() {
    // Of four rows one is null; the numbers 1, 1 and 4 have the mean 2 and the variance 2.
    let rows = survey(&[(interval("x"), maybe_ints(&[None, Some(1), Some(1), Some(4)]))], &[]);
    let cells = leaf(&rows);
    let space = EuclideanEmbedding::new(&cells, &rows.table);
    let apart = 1.0 / (0.25 * 0.75);
    assert_close(between(&space, 0, 1), 1.0 / 2.0 + apart);
    assert_close(between(&space, 0, 2), 4.0 / 2.0 + apart);
    assert_close(between(&space, 1, 2), 9.0 / 2.0);
}

#[test]
fn a_category_is_as_far_apart_as_a_number_and_near_ones_are_near() {
    let names = texts(&["France", "Spain", "Japan", "Japan"]);
    let rows = survey(&[(ancestor("c", &countries()), names)], &[]);
    let cells = leaf(&rows);
    let space = EuclideanEmbedding::new(&cells, &rows.table);
    // Europe is half as high as the root. Of the 16 pairs of rows 2 are France and Spain, and 8 are Japan and another:
    // the mean of d^2 is (2 / 4 + 8) / 16 = 17 / 32, which is scaled to 2.
    assert_close(between(&space, 0, 1), 0.25 * 64.0 / 17.0);
    assert_close(between(&space, 0, 2), 64.0 / 17.0);
    assert_close(mean_square(&rows, &space), 2.0);
}

#[test]
fn null_is_a_category_below_the_root() {
    let names = maybe_texts(&[Some("France"), Some("Spain"), None]);
    let rows = survey(&[(ancestor("c", &countries()), names)], &[]);
    let cells = leaf(&rows);
    let space = EuclideanEmbedding::new(&cells, &rows.table);
    assert_close(between(&space, 0, 2), 4.0 * between(&space, 0, 1));
    assert_close(between(&space, 1, 2), between(&space, 0, 2));
}

#[test]
fn a_column_of_one_value_contributes_nothing() {
    let one = |spec: QuasiSpec, column| survey(&[(interval("x"), ints(&[1, 2])), (spec, column)], &[]);
    let tables = [
        one(interval("y"), ints(&[7, 7])),
        one(interval("y"), maybe_ints(&[None, None])),
        one(ancestor("y", &countries()), texts(&["Japan", "Japan"])),
        one(ancestor("y", &countries()), maybe_texts(&[None, None])),
        one(ancestor("y", &tree(&["all"])), texts(&["all", "all"])),
    ];
    for rows in tables {
        let space = EuclideanEmbedding::new(&[0, 1], &rows.table);
        assert_close(between(&space, 0, 1), 4.0);
    }
}

#[test]
fn weights_multiply_squared_distances() {
    let heavy = QuasiSpec { weight: 6.0, ..interval("x") };
    let light = QuasiSpec { weight: 2.0, ..ancestor("c", &countries()) };
    let rows = survey(&[(heavy, ints(&[1, 1, 2, 2])), (light, texts(&["Japan", "Spain", "Japan", "Spain"]))], &[]);
    let cells = leaf(&rows);
    let space = EuclideanEmbedding::new(&cells, &rows.table);
    // Cells are in the order (1, Spain), (1, Japan), (2, Spain), (2, Japan). The heaviest column weighs 1.
    assert_close(between(&space, 0, 1), 4.0 / 3.0);
    assert_close(between(&space, 0, 2), 4.0);
    assert_close(between(&space, 0, 3), 4.0 + 4.0 / 3.0);
}

#[test]
fn points_are_drawn_from_the_box_of_the_leaf() {
    let column = quasi("x", ColumnRecoding::Mean, HierarchySpec::Flat);
    let names = texts(&["Spain", "Italy", "Japan", "Japan"]);
    let rows = survey(&[(column, floats(&[-3.0, 0.0, 0.5, 5.0])), (ancestor("c", &countries()), names)], &[]);
    let cells = leaf(&rows);
    let space = EuclideanEmbedding::new(&cells, &rows.table);
    // The corners of the box are (-3, Spain), which is the first cell, and (5, Japan), which is the last.
    assert_eq!(space.draw(|| 0.0), space.point(0));
    let end = space.distances(&space.draw(|| 1.0 - f64::EPSILON));
    assert!(end.to(&space, 3) < 1e-9);
    // The middle is (1, Italy); France and China do not occur and can't be drawn.
    let middle = space.distances(&space.draw(|| 0.5));
    let deviation = (between(&space, 2, 3).sqrt() / 4.5).powi(2);
    assert_close(middle.to(&space, 1), 1.0 * deviation);
}

/// Leaves below random nodes of two upper levels, with the row count of each.
fn random_leaves() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec((0_u8..3, 0_u8..3, 1_u8..4), 2..12)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn distances_of_categories_are_those_of_the_tree(leaves in random_leaves(), nulls in 0_usize..3) {
        let paths: Vec<String> =
            leaves.iter().enumerate().map(|(leaf, (a, b, _))| format!("l{leaf};n{a}.{b};m{a};*")).collect();
        let hierarchy = tree(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let names: Vec<String> = (0..leaves.len()).map(|leaf| format!("l{leaf}")).collect();
        let repeated = names.iter().zip(&leaves).flat_map(|(name, leaf)| vec![Some(name.as_str()); leaf.2.into()]);
        let column: Vec<Option<&str>> = repeated.chain(vec![None; nulls]).collect();
        let rows = survey(&[(ancestor("c", &hierarchy), maybe_texts(&column))], &[]);
        let cells = leaf(&rows);
        let space = EuclideanEmbedding::new(&cells, &rows.table);
        let domain = &rows.table.quasi()[0].domain;
        let metric = |a: usize, b: usize| {
            let (a, b) = (rows.table.positions(a as u32)[0], rows.table.positions(b as u32)[0]);
            domain.information_loss(a.min(b), a.max(b))
        };
        let scale = between(&space, 0, 1) / metric(0, 1).powi(2);
        for a in 0..cells.len() {
            for b in 0..cells.len() {
                let (found, expected) = (between(&space, a, b), scale * metric(a, b).powi(2));
                prop_assert!((found - expected).abs() < 1e-9 * scale, "{found} is not {expected}");
            }
            prop_assert_eq!(between(&space, a, a), 0.0);
        }
        prop_assert!((mean_square(&rows, &space) - 2.0).abs() < 1e-9);
    }

    /// In a Euclidean space the distance to a mean follows from the distances between the points alone.
    #[test]
    fn distances_to_a_mean_are_those_of_brute_force(
        values in prop::collection::vec(
            (prop::option::weighted(0.8, 0_i64..9), prop::option::weighted(0.8, 0_usize..5)),
            2..20,
        ),
        chosen in prop::collection::vec((0_usize..100, 1_u64..4), 1..8),
    ) {
        let names = ["France", "Spain", "Italy", "Japan", "China"];
        let numbers: Vec<Option<i64>> = values.iter().map(|value| value.0).collect();
        let countries_of: Vec<Option<&str>> = values.iter().map(|value| value.1.map(|name| names[name])).collect();
        let rows = survey(
            &[(interval("x"), maybe_ints(&numbers)), (ancestor("c", &countries()), maybe_texts(&countries_of))],
            &[],
        );
        let cells = leaf(&rows);
        let space = EuclideanEmbedding::new(&cells, &rows.table);
        let chosen: Vec<(usize, u64)> = chosen.iter().map(|(cell, rows)| (cell % cells.len(), *rows)).collect();
        let total = chosen.iter().map(|(_, rows)| *rows as f64).sum::<f64>();
        let to_all = |cell: usize| {
            chosen.iter().map(|(other, rows)| *rows as f64 * between(&space, cell, *other)).sum::<f64>() / total
        };
        let inner = chosen.iter().map(|(cell, rows)| *rows as f64 * to_all(*cell)).sum::<f64>() / total / 2.0;
        let distances = space.distances(&space.mean(&chosen));
        for cell in 0..cells.len() {
            let (found, expected) = (distances.to(&space, cell), to_all(cell) - inner);
            prop_assert!((found - expected).abs() < 1e-9 * (1.0 + expected), "{found} is not {expected}");
        }
    }
}
