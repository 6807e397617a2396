//! Cluster: forms the classes of a leaf.

pub mod centroid;
mod context;
mod dense_ranks;
pub(crate) mod euclidean_embedding;
mod greedy;
pub(crate) mod leaf_view;
mod level_groups;
mod merge_unsatisfied;
mod one_class;
mod spatial_greedy;

pub use centroid::Centroid;
pub use context::{ClusterContext, ClusterControl, DEFAULT_CYCLES, FormedClasses, IgnoreProgress};
pub use greedy::Greedy;
pub(crate) use level_groups::level_groups;
use merge_unsatisfied::merge_unsatisfied;
pub use one_class::OneClass;

use rayon::prelude::*;

use crate::model::{Privacy, Tally};
use crate::partition::Leaf;
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
        let groups = cells.iter().map(|cell| table.groups(*cell).len()).sum();
        let mut portions = Vec::with_capacity(groups);
        for cell in cells {
            portions.extend(table.groups(*cell).map(|group| Portion { group, rows: table.group_rows(group) }));
        }
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
        let mut tally = Tally::empty(table.tally_shape());
        for portion in &self.portions {
            tally.add(table.codes(portion.group), u64::from(portion.rows));
        }
        tally
    }
}

/// Clustering algorithm.
pub trait ClusterMethod: Send + Sync {
    /// Clusters a leaf that satisfies the models. Every row of the leaf is in exactly one class, and every class
    /// satisfies the models that are closed under adding rows. Classes that violate another model are merged later.
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class>;

    /// Whether [`ClusterMethod::cluster`] grows classes towards models that are closed under merging only. If not, it is
    /// given the other models alone.
    fn grows_towards_frequencies(&self) -> bool {
        false
    }

    /// Clusters the leaves of one feasible region within the budget of `context`. Every row is in exactly one class, and
    /// every class satisfies all models.
    ///
    /// By default each leaf is clustered on its own, in parallel. Methods that search implement this: across the borders
    /// of leaves, for as many cycles as the context allows, polling it between rounds.
    fn cluster_region(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        context: &ClusterContext<'_>,
    ) -> FormedClasses {
        let classes = |leaf: &Leaf| {
            if context.is_cancelled() {
                return Vec::new();
            }
            let is_grown = self.grows_towards_frequencies();
            let classes = satisfied(table, privacy, is_grown, |privacy| self.cluster(&leaf.cells, table, privacy));
            context.advance(leaf.cells.len());
            classes
        };
        FormedClasses { classes: leaves.par_iter().flat_map_iter(classes).collect(), cycles: 0 }
    }
}

/// Forms classes by `cluster`, and merges those that violate a model which is closed under merging only. `cluster` is
/// given all models if `is_grown`, and otherwise those that are closed under adding rows.
fn satisfied(
    table: &Table,
    privacy: &Privacy,
    is_grown: bool,
    cluster: impl FnOnce(&Privacy) -> Vec<Class>,
) -> Vec<Class> {
    if privacy.is_closed_under_adding_rows() {
        return cluster(privacy);
    }
    let classes = if is_grown { cluster(privacy) } else { cluster(&privacy.closed_under_adding_rows()) };
    merge_unsatisfied(table, privacy, classes)
}
