//! Lazily sorts cells by ascending distance, only as far as they are read.
//!
//! A class takes a few of the nearest rows out of many, so that sorting all of them for every class would dominate the
//! cost.

use std::cmp::Ordering;

/// Number of cells sorted first; every further step doubles the sorted prefix.
const FIRST: usize = 32;

/// Cells by distance, then by number.
#[derive(Debug)]
pub(super) struct PartiallySorted {
    cells: Vec<(f64, usize)>,
    /// Length of the sorted prefix.
    sorted: usize,
}

impl PartiallySorted {
    pub(super) fn new(cells: Vec<(f64, usize)>) -> Self {
        Self { cells, sorted: 0 }
    }

    /// Returns the cell of this rank; `None` beyond the end.
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
