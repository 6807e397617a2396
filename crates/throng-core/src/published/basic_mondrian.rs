//! Basic Mondrian of [Liu 2018, Fig. 2]: splits numbers at the median, and categories into all children at once.
//!
//! The column of a leaf with the largest weighted normalized spread is split first; if that split is not allowed, the
//! next one is tried. A split is allowed if every side satisfies the privacy model ([Liu 2018] requires k alone).
//!
//! - A number or date is split in two at the lower median of the rows: up to the median, and above it. The threshold
//!   does not move, so a column whose median is its largest value has no split.
//! - A category is split into as many sides as the lowest common ancestor of the leaf has children with rows. [Liu
//!   2018] replaces the root of the hierarchy by a child at each split; the lowest common ancestor is that child, or a
//!   node below it if that contains all rows.
//!
//! [`crate::partition::Mondrian`] finds better cuts. This is the baseline of the paper, and the algorithm behind
//! [`crate::published::Mdr`].

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::domain::DomainKind;
use crate::error::Result;
use crate::hierarchy::{Node, Tree};
use crate::model::Privacy;
use crate::partition::{DEFAULT_LEAF_CELLS, Leaf, PartitionMethod};
use crate::table::Table;

/// Basic Mondrian partition.
#[derive(Clone, Debug)]
pub struct BasicMondrian {
    /// Weights, one per quasi-identifier; those of the policy if `None`.
    weights: Option<Vec<f64>>,
    /// Leaves with at most this many cells are not split; with 1, splitting continues as long as a split is allowed.
    leaf_cells: usize,
}

impl BasicMondrian {
    /// Partition into leaves that a clustering refines.
    pub fn for_clustering() -> Self {
        Self { weights: None, leaf_cells: DEFAULT_LEAF_CELLS }
    }

    /// Partition whose leaves are the classes: splitting continues as long as a split is allowed.
    pub fn strict() -> Self {
        Self { weights: None, leaf_cells: 1 }
    }

    /// Sets the number of cells below which leaves are not split.
    pub fn with_leaf_cells(self, leaf_cells: usize) -> Self {
        Self { leaf_cells: leaf_cells.max(1), ..self }
    }

    /// Sets weights, one per quasi-identifier, that override those of the policy. A quasi-identifier beyond the end of
    /// the list keeps the weight of the policy.
    pub fn with_weights(self, weights: Vec<f64>) -> Self {
        Self { weights: Some(weights), ..self }
    }
}

impl PartitionMethod for BasicMondrian {
    fn partition(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        Ok(self.split(cells, table, privacy).into_iter().map(Leaf::of).collect())
    }
}

impl BasicMondrian {
    fn split(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Vec<Vec<u32>> {
        if cells.len() <= self.leaf_cells {
            return vec![cells];
        }
        let is_allowed = |sides: &Vec<Vec<u32>>| {
            sides.len() > 1 && sides.iter().all(|side| privacy.is_satisfied_by(table, side.iter().copied()))
        };
        let spreads = self.spreads(&cells, table);
        match spreads.iter().map(|spread| sides(&cells, table, spread)).find(is_allowed) {
            Some(sides) => {
                let leaves: Vec<_> = sides.into_par_iter().map(|side| self.split(side, table, privacy)).collect();
                leaves.concat()
            }
            None => vec![cells],
        }
    }

    /// Returns the columns with more than one position, the largest weighted spread first.
    fn spreads(&self, cells: &[u32], table: &Table) -> Vec<LeafRange> {
        let mut spreads: Vec<LeafRange> = (0..table.quasi().len())
            .filter_map(|column| {
                let (lo, hi) = range(cells, table, column)?;
                let width = table.quasi()[column].domain.loss(lo, hi) * self.weight(table, column);
                (lo < hi).then_some(LeafRange { column, range: (lo, hi), width })
            })
            .collect();
        spreads.sort_by(|a, b| b.width.total_cmp(&a.width).then(a.column.cmp(&b.column)));
        spreads
    }

    fn weight(&self, table: &Table, column: usize) -> f64 {
        let given = self.weights.as_ref().and_then(|weights| weights.get(column));
        given.copied().unwrap_or(table.quasi()[column].spec.weight)
    }
}

/// Range of a column in a leaf.
#[derive(Clone, Copy, Debug)]
struct LeafRange {
    column: usize,
    range: (u32, u32),
    width: f64,
}

/// Returns the first and last position of cells in a column; `None` without cells.
pub(super) fn range(cells: &[u32], table: &Table, column: usize) -> Option<(u32, u32)> {
    let positions = cells.iter().map(|cell| table.positions(*cell)[column]);
    Some((positions.clone().min()?, positions.max()?))
}

/// Splits cells by a column, in the order of its positions. Returns one side if the column does not separate them.
fn sides(cells: &[u32], table: &Table, spread: &LeafRange) -> Vec<Vec<u32>> {
    let position = |cell: u32| table.positions(cell)[spread.column];
    let mut sides: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    match table.quasi()[spread.column].domain.kind() {
        DomainKind::Ordered { .. } => {
            let median = median(cells, table, spread.column);
            for cell in cells {
                sides.entry(u32::from(position(*cell) > median)).or_default().push(*cell);
            }
        }
        DomainKind::Category(tree) => {
            let node = tree.common_ancestor(spread.range.0, spread.range.1);
            for cell in cells {
                let first_leaf = tree.leaf_range(child_above(tree, node, position(*cell))).0;
                sides.entry(first_leaf).or_default().push(*cell);
            }
        }
    }
    sides.into_values().collect()
}

/// Returns the child of `node` that is an ancestor of the leaf at `position` or the leaf itself.
fn child_above(tree: &Tree, node: Node, position: u32) -> Node {
    let mut child = tree.leaf_node(position);
    while let Some(parent) = tree.parent(child).filter(|parent| *parent != node) {
        child = parent;
    }
    child
}

/// Returns the lowest position with at least half of the rows at or below it.
fn median(cells: &[u32], table: &Table, column: usize) -> u32 {
    let mut by_position: Vec<(u32, u64)> =
        cells.iter().map(|cell| (table.positions(*cell)[column], table.cell_rows(*cell))).collect();
    by_position.sort_unstable();
    let total: u64 = by_position.iter().map(|(_, rows)| rows).sum();
    let mut seen = 0;
    let reaches_half = |(_, rows): &&(u32, u64)| {
        seen += rows;
        2 * seen >= total
    };
    by_position.iter().find(reaches_half).map_or(0, |(position, _)| *position)
}

#[cfg(test)]
#[path = "basic_mondrian_tests.rs"]
mod tests;
