//! From a table to its classes: partition into leaves, then cluster every leaf, in parallel.

use rayon::prelude::*;

use crate::cluster::{Class, Cluster, Greedy, OneClass};
use crate::model::Privacy;
use crate::partition::{Mondrian, Partition, Whole};
use crate::table::Table;

/// How the table is cut into leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionChoice {
    /// Mondrian.
    Mondrian,
    /// The whole table is one leaf.
    None,
}

/// How the classes of a leaf are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterChoice {
    /// Greedy clustering on cells.
    Greedy,
    /// The leaf is the class.
    None,
}

/// A way from a table to classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// How the table is cut.
    pub partition: PartitionChoice,
    /// How the classes of a leaf are formed.
    pub cluster: ClusterChoice,
}

impl Method {
    /// Every method there is, for tests that must hold for all of them.
    pub const ALL: [Self; 4] = [
        Self { partition: PartitionChoice::Mondrian, cluster: ClusterChoice::Greedy },
        Self { partition: PartitionChoice::Mondrian, cluster: ClusterChoice::None },
        Self { partition: PartitionChoice::None, cluster: ClusterChoice::Greedy },
        Self { partition: PartitionChoice::None, cluster: ClusterChoice::None },
    ];

    /// Cuts a table that satisfies the model into leaves that do.
    pub fn leaves(&self, table: &Table, privacy: &Privacy) -> Vec<Vec<u32>> {
        match (self.partition, self.cluster) {
            (PartitionChoice::None, _) => Whole.partition(table, privacy),
            (PartitionChoice::Mondrian, ClusterChoice::None) => Mondrian::strict().partition(table, privacy),
            (PartitionChoice::Mondrian, _) => Mondrian::for_clustering().partition(table, privacy),
        }
    }

    /// Forms the classes of all leaves. `on_leaf` hears of every leaf that is done, with its number of cells.
    pub fn classes(
        &self,
        leaves: &[Vec<u32>],
        table: &Table,
        privacy: &Privacy,
        on_leaf: &(dyn Fn(usize) + Sync),
    ) -> Vec<Class> {
        let cluster: &dyn Cluster = match self.cluster {
            ClusterChoice::Greedy => &Greedy,
            ClusterChoice::None => &OneClass,
        };
        let classes = |leaf: &Vec<u32>| {
            let classes = cluster.cluster(leaf, table, privacy);
            on_leaf(leaf.len());
            classes
        };
        leaves.par_iter().flat_map_iter(classes).collect()
    }
}
