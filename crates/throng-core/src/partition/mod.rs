//! Partition: divides the table into leaves that each satisfy the privacy model and can be clustered independently.

mod constraints;
mod mondrian;
mod routing_tree;

pub use constraints::FeasibleRegions;
pub use mondrian::{DEFAULT_LEAF_CELLS, Mondrian};
pub use routing_tree::RoutingTree;

use crate::error::Result;
use crate::model::Privacy;
use crate::table::Table;

/// A set of cells that is not divided further.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    /// Cells of the leaf.
    pub cells: Vec<u32>,
    /// First and last position to release in each column, if wider than the bounding box of the cells.
    pub cover: Option<Vec<(u32, u32)>>,
    /// Feasible region of the leaf. Leaves of different blocks must not share a class.
    pub block: u32,
}

impl Leaf {
    /// Creates a leaf that covers the bounding box of its cells.
    pub fn of(cells: Vec<u32>) -> Self {
        Self { cells, cover: None, block: 0 }
    }
}

/// Divides a table into leaves.
pub trait PartitionMethod: Send + Sync {
    /// Divides cells, which together must satisfy the model, into leaves. Every cell is in exactly one leaf, and every
    /// leaf satisfies the model.
    fn partition(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>>;
}

/// Leaves all cells in one leaf.
#[derive(Clone, Copy, Debug)]
pub struct NoPartition;

impl PartitionMethod for NoPartition {
    fn partition(&self, cells: Vec<u32>, _table: &Table, _privacy: &Privacy) -> Result<Vec<Leaf>> {
        Ok(vec![Leaf::of(cells)])
    }
}
