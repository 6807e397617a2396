//! Cluster: forms the classes of a leaf.

pub mod centroid;
mod enhanced_pk;
mod euclidean_embedding;
mod greedy;
mod greedy_pk;
mod lazy_sort;
mod leaf_view;
#[cfg(test)]
mod literal_reference;
mod mdav;
mod microaggregation;
mod random_seed;
mod spatial_greedy;
mod switching;
mod unassigned_groups;
mod unassigned_points;

pub use centroid::Centroid;
pub use enhanced_pk::EnhancedPk;
pub use greedy::Greedy;
pub use greedy_pk::GreedyPk;
pub use mdav::Mdav;
pub use random_seed::RandomSeed;
pub use switching::Switching;

use crate::model::{Privacy, Tally};
use crate::table::Table;

/// Rows of one group that belong to one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Portion {
    /// Group of the table.
    pub group: u32,
    /// Number of rows; at least one.
    pub rows: u32,
}

/// Rows of one class. Several classes may share a group, row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Portions in ascending order of groups, each group at most once.
    pub portions: Vec<Portion>,
    /// First and last position to release in each column, if wider than the bounding box of the rows.
    pub cover: Option<Vec<(u32, u32)>>,
}

impl Class {
    /// Creates a class of whole cells.
    pub fn of_cells(table: &Table, cells: &[u32]) -> Self {
        let groups = cells.iter().flat_map(|cell| table.groups(*cell));
        let mut portions: Vec<Portion> = groups.map(|group| Portion { group, rows: table.group_rows(group) }).collect();
        portions.sort_unstable();
        Self { portions, cover: None }
    }

    /// Creates a class of portions in any order, in which a group may occur more than once.
    pub fn of_portions(mut portions: Vec<Portion>) -> Self {
        portions.sort_unstable();
        portions.dedup_by(|next, kept| {
            let is_same = next.group == kept.group;
            kept.rows += if is_same { next.rows } else { 0 };
            is_same
        });
        Self { portions, cover: None }
    }

    /// Returns the tally of this class.
    pub fn tally(&self, table: &Table) -> Tally {
        let mut tally = Tally::empty(table.sensitive().len());
        for portion in &self.portions {
            tally.add(table.codes(portion.group), u64::from(portion.rows));
        }
        tally
    }
}

/// Clustering algorithm.
pub trait ClusterMethod: Send + Sync {
    /// Clusters a leaf that satisfies the model. Every row of the leaf is in exactly one class, and every class
    /// satisfies the model.
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class>;
}
