//! Partition: cut the table into leaves that each satisfy the privacy model, and so can be clustered on their own.

mod mondrian;

pub use mondrian::{DEFAULT_LEAF_CELLS, Mondrian};

use crate::model::Privacy;
use crate::table::Table;

/// Cuts a table into leaves.
pub trait Partition: Send + Sync {
    /// The leaves, as lists of cells. Every cell is in exactly one leaf, and every leaf satisfies the model, provided
    /// that the whole table does.
    fn partition(&self, table: &Table, privacy: &Privacy) -> Vec<Vec<u32>>;
}

/// No cut: the whole table is one leaf.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

impl Partition for Whole {
    fn partition(&self, table: &Table, _privacy: &Privacy) -> Vec<Vec<u32>> {
        vec![(0..table.cell_count() as u32).collect()]
    }
}
