use super::*;
use crate::test_tables::{Surveyed, ancestor, interval, maybe_ints, survey, tree};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};

/// Loss of a box, summed over columns, computed from the domains.
fn expected(rows: &Surveyed, cells: [u32; 2]) -> f64 {
    let [a, b] = cells.map(|cell| rows.table.positions(cell));
    let columns = rows.table.quasi().iter().zip(a.iter().zip(b));
    columns.map(|(quasi, (a, b))| quasi.domain.loss(*a.min(b), *a.max(b))).sum()
}

fn check(rows: &Surveyed) {
    let count = rows.table.cell_count() as u32;
    let (axes, places) = LossSpace::new(&rows.table, 0..count);
    let place = |cell: u32| &places[cell as usize * axes.stride()..][..axes.stride()];
    for a in 0..count {
        for b in 0..count {
            let found = f64::from(axes.loss_with(place(a), place(a), place(b)));
            assert!((found - expected(rows, [a, b])).abs() < 1e-5, "{a} and {b}: {found}");
            assert_eq!(axes.loss_to(place(a), (place(b), place(b))), found as f32);
        }
    }
}

#[test]
fn losses_are_those_of_the_domains() {
    let ages: Vec<Option<i64>> = (0..60_i64).map(|row| (row % 7 != 0).then_some(row * row % 97)).collect();
    let lines: Vec<String> = (0..90).map(|leaf| format!("v{leaf};g{};h{};*", leaf / 4, leaf / 20)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let names = |of: usize| -> ArrayRef {
        Arc::new((0..60).map(|row| Some(format!("v{}", (row * 7) % of))).collect::<StringArray>())
    };
    // Few values use a grid, many use steps.
    check(&survey(&[(interval("age"), maybe_ints(&ages)), (ancestor("few", &tree(&lines)), names(9))], &[]));
    let many: ArrayRef = Arc::new((0..90).map(|row| Some(format!("v{row}"))).collect::<StringArray>());
    check(&survey(&[(ancestor("many", &tree(&lines)), many)], &[]));
}

#[test]
fn weights_scale_what_a_column_loses() {
    let mut light = interval("light");
    light.weight = 0.5;
    let mut heavy = interval("heavy");
    heavy.weight = 2.0;
    let numbers = maybe_ints(&[Some(0), Some(10)]);
    let rows = survey(&[(light, numbers.clone()), (heavy, numbers)], &[]);
    let (axes, places) = LossSpace::new(&rows.table, 0..2);
    assert_eq!(axes.loss(&places[..LANES], &places[LANES..]), 1.25);
}

#[test]
fn categories_are_ordered_by_their_numbers_and_tell_them() {
    let numbers = [0, 1, 2, 1000, STEPS - 2, STEPS - 1];
    assert!(numbers.map(of_number).is_sorted_by(|a, b| a < b));
    assert_eq!(numbers.map(of_number).map(number), numbers.map(|number| number as usize));
}
