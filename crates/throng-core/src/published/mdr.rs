//! Optimized model of [Liu 2018, Fig. 6]: basic Mondrian with priority weights, on columns with MDR trees.
//!
//! The policy selects the trees ([`crate::hierarchy::HierarchySpec::MeanDifference`]). Priorities are determined by
//! trial: basic Mondrian runs once per quasi-identifier with its weight at N, the number of rows, and all others at 1,
//! so that this column is split first and the others once it can't be split any more. The lower the loss of a run, the
//! higher the priority of its column.
//!
//! [Liu 2018] does not state the weights of the priorities. Here they are descending powers of ten, 1 for the last
//! column, each times the weight of the policy: a column goes first unless its spread is ten times smaller than that of
//! the next. Of four schemes on six tables derived from Adult, with MDR trees and nine values of k each, powers of ten
//! had the least mean NCP over k > 5 in five of the tables, though not for every k, and never a greater one than powers
//! of N, which are equivalent nearly everywhere. m, m - 1, ..., 1 was best in the sixth.
//!
//! [Liu 2018] claims less loss than basic Mondrian for k > 5, and does not state how Adult became a million rows. With copies
//! of its rows this was found from k = 25 on; for five of seven ways to expand them it was found at k = 6 and 10 too
//! (`benches/papers/RESULTS.md`). With copies, the gain comes from the priorities: with the same weights, free intervals lost
//! less than MDR trees at every k. The advantage of MDR trees is that intervals are regular.
//!
//! Trials always run to the end, even if the leaves are for a clustering, because large leaves would hide the value of
//! a column.

use rayon::prelude::*;

use super::BasicMondrian;
use super::basic_mondrian::range;
use crate::error::Result;
use crate::model::Privacy;
use crate::partition::{DEFAULT_LEAF_CELLS, Leaf, PartitionMethod};
use crate::table::Table;

/// Ratio of the weights of consecutive priorities.
const STEP: f64 = 10.0;

/// Maximum exponent of a weight, so that weights stay finite.
const MAX_STEPS: i32 = 200;

/// Basic Mondrian with priority weights.
#[derive(Clone, Copy, Debug)]
pub struct Mdr {
    /// Leaves with at most this many cells are not split; with 1, splitting continues as long as a split is allowed.
    leaf_cells: usize,
}

impl Mdr {
    /// Partition into leaves that a clustering refines.
    pub fn for_clustering() -> Self {
        Self { leaf_cells: DEFAULT_LEAF_CELLS }
    }

    /// Partition whose leaves are the classes: splitting continues as long as a split is allowed.
    pub fn strict() -> Self {
        Self { leaf_cells: 1 }
    }

    /// Sets the number of cells below which leaves are not split.
    pub fn with_leaf_cells(self, leaf_cells: usize) -> Self {
        Self { leaf_cells: leaf_cells.max(1) }
    }

    /// Returns the quasi-identifiers by descending priority; the first column wins ties.
    pub fn priorities(cells: &[u32], table: &Table, privacy: &Privacy) -> Result<Vec<usize>> {
        let rows = cells.iter().map(|cell| table.cell_rows(*cell)).sum::<u64>() as f64;
        let columns = table.quasi().len();
        let lost: Vec<f64> = (0..columns)
            .into_par_iter()
            .map(|first| {
                let weights = (0..columns).map(|column| if column == first { rows } else { 1.0 }).collect();
                let leaves = BasicMondrian::strict().with_weights(weights).partition(cells.to_vec(), table, privacy)?;
                Ok(leaves.iter().map(|leaf| weighted_ncp(&leaf.cells, table)).sum())
            })
            .collect::<Result<_>>()?;
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by(|a, b| lost[*a].total_cmp(&lost[*b]).then(a.cmp(b)));
        Ok(order)
    }
}

impl PartitionMethod for Mdr {
    fn partition(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        let mut weights: Vec<f64> = table.quasi().iter().map(|quasi| quasi.spec.weight).collect();
        let priorities = Self::priorities(&cells, table, privacy)?;
        for (column, steps) in priorities.iter().rev().zip(0..) {
            weights[*column] *= STEP.powi(MAX_STEPS.min(steps));
        }
        let basic = BasicMondrian::strict().with_leaf_cells(self.leaf_cells).with_weights(weights);
        basic.partition(cells, table, privacy)
    }
}

/// Returns the total NCP of a leaf over its rows and columns, with the weights of the policy.
fn weighted_ncp(cells: &[u32], table: &Table) -> f64 {
    let rows: u64 = cells.iter().map(|cell| table.cell_rows(*cell)).sum();
    let of_column = |(column, quasi): (usize, &crate::table::QuasiColumn)| {
        let (lo, hi) = range(cells, table, column)?;
        Some(quasi.spec.weight * quasi.domain.loss(lo, hi))
    };
    rows as f64 * table.quasi().iter().enumerate().filter_map(of_column).sum::<f64>()
}

#[cfg(test)]
#[path = "mdr_tests.rs"]
mod tests;
