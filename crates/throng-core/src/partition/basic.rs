//! Basic Mondrian as [Liu 2018] has it (Fig. 2): median halves of numbers, all children at once of a category.
//!
//! Of the columns of a leaf, the one with the largest weighted normalized spread is split first, and where its split is
//! not allowed, the next. A split is allowed when every side satisfies the privacy model (the paper asks for k alone).
//!
//! - A number or date is split in two at the median of the rows: up to the median, and above it. The median is the lower
//!   one and the threshold never moves, so that a column whose median is its largest value has no split.
//! - A category is split in as many sides as the lowest node above the leaf has children with rows. The paper replaces
//!   the root of the hierarchy by a child at each split; the lowest node above the leaf is that child, or a node below
//!   it when all rows are there.
//!
//! [`crate::partition::Mondrian`] cuts better. This one is the base line of the paper, and the engine of
//! [`crate::partition::Mdr`].

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::domain::DomainKind;
use crate::error::Result;
use crate::hierarchy::{Node, Tree};
use crate::model::Privacy;
use crate::partition::{DEFAULT_LEAF_CELLS, Leaf, PartitionMethod};
use crate::table::Table;

/// The basic Mondrian partition.
#[derive(Clone, Debug)]
pub struct BasicMondrian {
    /// One per column of the table; the weights of the policy when there are none.
    weights: Option<Vec<f64>>,
    /// Leaves with at most so many cells are left alone; with 1, splits go on as long as one is allowed.
    leaf_cells: usize,
}

impl BasicMondrian {
    /// Leaves for a clustering to refine.
    pub fn for_clustering() -> Self {
        Self { weights: None, leaf_cells: DEFAULT_LEAF_CELLS }
    }

    /// Leaves that are the classes themselves: splits go on as long as one is allowed.
    pub fn strict() -> Self {
        Self { weights: None, leaf_cells: 1 }
    }

    /// The same with another size of leaves.
    pub fn with_leaf_cells(self, leaf_cells: usize) -> Self {
        Self { leaf_cells: leaf_cells.max(1), ..self }
    }

    /// The same with these weights, one per quasi-identifier, in place of those of the policy. A quasi-identifier beyond
    /// the end of the list keeps the weight of the policy.
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

    /// The columns with more than one position, the one with the largest weighted spread first.
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

/// A column of a leaf.
#[derive(Clone, Copy, Debug)]
struct LeafRange {
    column: usize,
    range: (u32, u32),
    width: f64,
}

/// The first and last position that cells have in a column; none without cells.
pub(super) fn range(cells: &[u32], table: &Table, column: usize) -> Option<(u32, u32)> {
    let positions = cells.iter().map(|cell| table.positions(*cell)[column]);
    Some((positions.clone().min()?, positions.max()?))
}

/// The sides into which a column parts the cells, in the order of its positions; one side when it parts nothing.
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

/// The child of a node above a leaf that is below that node.
fn child_above(tree: &Tree, node: Node, position: u32) -> Node {
    let mut child = tree.leaf_node(position);
    while let Some(parent) = tree.parent(child).filter(|parent| *parent != node) {
        child = parent;
    }
    child
}

/// The least position with at least half of the rows at or below it.
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
#[path = "basic_tests.rs"]
mod tests;
