//! Partition: cut the table into leaves that each satisfy the privacy model, and so can be clustered on their own.

mod basic;
mod constraints;
mod incognito;
mod mdr;
mod mondrian;
mod routing_tree;

pub use basic::BasicMondrian;
pub use constraints::FeasibleRegions;
pub use incognito::{Incognito, LATTICE_LIMIT};
pub use mdr::Mdr;
pub use mondrian::{DEFAULT_LEAF_CELLS, Mondrian};
pub use routing_tree::RoutingTree;

use crate::error::Result;
use crate::model::Privacy;
use crate::table::Table;

/// Some cells of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    /// The cells.
    pub cells: Vec<u32>,
    /// Positions from and to in each column, where the leaf must show more than its cells need.
    pub cover: Option<Vec<(u32, u32)>>,
    /// Leaves of different blocks must not share a class; blocks are what limits leave together.
    pub block: u32,
}

impl Leaf {
    /// These cells, which show no more than they need.
    pub fn of(cells: Vec<u32>) -> Self {
        Self { cells, cover: None, block: 0 }
    }
}

/// Cuts a table into leaves.
pub trait PartitionMethod: Send + Sync {
    /// The leaves of these cells, which together satisfy the model. Every cell is in exactly one leaf, and every leaf
    /// satisfies the model.
    fn partition(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>>;
}

/// No cut: all cells are one leaf.
#[derive(Clone, Copy, Debug)]
pub struct NoPartition;

impl PartitionMethod for NoPartition {
    fn partition(&self, cells: Vec<u32>, _table: &Table, _privacy: &Privacy) -> Result<Vec<Leaf>> {
        Ok(vec![Leaf::of(cells)])
    }
}
