//! MDR trees: regular intervals of numbers, with a width derived from the mean difference of percentiles [Liu 2018].
//!
//! ```text
//!  level 0                       *
//!               /        /       |        \        \
//!  level 1    <22    [22-29]  [30-37]   ...  [62-69]  >62       four times MD; the tails are leaves
//!                     /     \
//!  level 2        [22-25]  [26-29]                              twice MD
//!                  /    \
//!  level 3     [22-23]  [24-25]                                 MD
//!               /   \
//!             22     23                                         so that a class of one value shows it
//! ```
//!
//! Values outside of the mean plus or minus two standard deviations, both over the rows, form one low and one high
//! tail. The others are divided at each 5 % of their rows, and MD is the mean of the 20 ranges. Since these ranges are
//! contiguous, their mean is the whole range over 20 whatever the percentiles are, and is computed that way. MD is
//! rounded to the precision of the column ([`grid`]), and all levels share one origin, the smallest inner value rounded
//! down to a multiple of MD.
//!
//! [Liu 2018] does not state where tails are in the tree, or how much they lose. Here a tail is a leaf below the root,
//! with the loss of an interval from the end of the column to the first inner value. Every other node has the loss of
//! the width of its label, clipped to the range of the column, so that losses are comparable with those of free
//! intervals.

mod grid;

use std::ops::Range;

use arrow::array::ArrayRef;

use super::tree::TreeBuilder;
use super::{BuildError, ROOT, Tree};
use crate::numeric_view::{distances, labels};
use grid::IntervalGrid;

/// Interval widths of the levels in multiples of MD, from coarse to fine.
const LEVELS: [u32; 3] = [4, 2, 1];

/// Distance of the tails from the mean, in standard deviations.
const TAIL: f64 = 2.0;

/// Tolerance for rounding at the start of a tail, as a share of the range.
const ROUNDING: f64 = 1e-12;

/// Builds the tree of a column from its distinct values, ascending, and their row counts. Returns it with the position
/// of each value.
pub(super) fn mean_difference_tree(values: &ArrayRef, rows: &[u64]) -> Result<(Tree, Vec<u32>), BuildError> {
    let type_error = || BuildError::Type { expected: "numbers, dates or times", found: values.data_type().to_string() };
    let distances = distances(values).ok_or_else(type_error)?;
    let names = labels(values).map_err(|_| BuildError::NoText)?;
    let range = distances.last().copied().unwrap_or(0.0);
    let shares: Vec<f64> = distances.iter().map(|at| if range > 0.0 { at / range } else { 0.0 }).collect();
    let inside = inside(&shares, rows);
    if inside.is_empty() {
        return Ok((Tree::flat(&names), (0..names.len() as u32).collect()));
    }
    let last = inside.end - 1;
    let mut growing = GrowingTree::new();
    if inside.start > 0 {
        growing.add(&format!("<{}", names[inside.start]), 0, shares[inside.start]);
    }
    if inside.len() == 1 {
        growing.add(&names[last], 0, 0.0);
    } else {
        let grid = IntervalGrid::over(values, &inside).ok_or_else(type_error)??;
        growing.add_intervals(&grid, &names[inside.clone()])?;
    }
    if inside.end < names.len() {
        growing.add(&format!(">{}", names[last]), 0, 1.0 - shares[last]);
    }
    // Each tail is a single leaf.
    let has_low = usize::from(inside.start > 0);
    let position = |index: usize| has_low + index.clamp(inside.start, inside.end) - inside.start;
    let positions = (0..names.len()).map(|index| if index < inside.start { 0 } else { position(index) as u32 });
    let positions = positions.collect();
    Ok((growing.builder.build().with_extents(growing.extents), positions))
}

/// Returns the range of ascending values that are in no tail. It is not empty if there are values, because at most a
/// quarter of the rows can be two standard deviations away.
fn inside(shares: &[f64], rows: &[u64]) -> Range<usize> {
    let total = rows.iter().sum::<u64>() as f64;
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        shares.iter().zip(rows).map(|(share, rows)| of(*share) * (*rows as f64 / total)).sum::<f64>()
    };
    let mean = mean_of(&|share| share);
    let deviation = mean_of(&|share| (share - mean) * (share - mean)).sqrt();
    let reach = TAIL * deviation + ROUNDING;
    let start = shares.partition_point(|share| *share < mean - reach);
    let end = shares.partition_point(|share| *share <= mean + reach);
    start..end.max(start)
}

/// A tree under construction, with the extent of every node.
struct GrowingTree {
    builder: TreeBuilder,
    extents: Vec<f64>,
}

impl GrowingTree {
    /// Creates a tree with a root only.
    fn new() -> Self {
        Self { builder: TreeBuilder::new(ROOT), extents: vec![1.0] }
    }

    fn add(&mut self, label: &str, parent: u32, extent: f64) -> u32 {
        self.extents.push(extent);
        self.builder.add(label, parent)
    }

    /// Adds the inner values, each below its intervals.
    fn add_intervals(&mut self, grid: &IntervalGrid, names: &[String]) -> Result<(), BuildError> {
        // Per level the last added interval: its first step and its node.
        let mut open: [Option<(u32, u32)>; LEVELS.len()] = [None; LEVELS.len()];
        for (name, step) in names.iter().zip(grid.steps()) {
            let mut parent = 0;
            for (width, open) in LEVELS.iter().zip(&mut open) {
                let first = step / width * width;
                parent = match open {
                    Some((known, node)) if *known == first => *node,
                    _ => {
                        let (label, extent) = grid.interval(first..first + width)?;
                        let node = self.add(&label, parent, extent);
                        *open = Some((first, node));
                        node
                    }
                };
            }
            self.add(name, parent, 0.0);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "mean_difference_tests.rs"]
mod tests;
