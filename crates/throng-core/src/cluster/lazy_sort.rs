//! Cells in ascending order of their distance, sorted only as far as somebody looks.
//!
//! A class takes a few of the nearest rows out of many, so that to sort all of them for every class would be most of
//! the work.

use std::cmp::Ordering;

/// How many cells are sorted at first; every further step doubles what is sorted.
const FIRST: usize = 32;

/// Cells by distance, the lowest cell first among equals.
#[derive(Debug)]
pub(super) struct PartiallySorted {
    cells: Vec<(f64, usize)>,
    /// So many at the front are in their place.
    sorted: usize,
}

impl PartiallySorted {
    pub(super) fn new(cells: Vec<(f64, usize)>) -> Self {
        Self { cells, sorted: 0 }
    }

    /// The cell of this rank; none when there are not so many.
    pub(super) fn get(&mut self, rank: usize) -> Option<usize> {
        while self.sorted <= rank && self.sorted < self.cells.len() {
            let rest = &mut self.cells[self.sorted..];
            let step = self.sorted.max(FIRST).min(rest.len());
            if step < rest.len() {
                rest.select_nth_unstable_by(step, by_distance);
            }
            rest[..step].sort_unstable_by(by_distance);
            self.sorted += step;
        }
        self.cells.get(rank).map(|(_, cell)| *cell)
    }
}

fn by_distance(a: &(f64, usize), b: &(f64, usize)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
#[path = "lazy_sort_tests.rs"]
mod tests;
