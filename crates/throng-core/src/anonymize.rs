//! From a table to its classes: what the limits allow, then partition into leaves, then cluster every leaf, in parallel.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::cluster::{Centroid, Class, Cluster, EnhancedPk, Greedy, GreedyPk, Mdav, RandomSeed, Switching};
use crate::error::Result;
use crate::model::Privacy;
use crate::partition::{Allowed, BasicMondrian, Incognito, Leaf, Mdr, Mondrian, Partition, Whole};
use crate::table::Table;

/// How the table is cut into leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionChoice {
    /// Mondrian.
    Mondrian,
    /// Mondrian as in the literature.
    BasicMondrian,
    /// Basic Mondrian with priority weights, on columns of which the numbers have MDR trees.
    Mdr,
    /// Full-domain generalization.
    Incognito,
    /// The whole table is one leaf.
    None,
}

/// How the classes of a leaf are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterChoice {
    /// Greedy clustering on cells.
    Greedy,
    /// GreedyPKClustering.
    GreedyPk,
    /// EnhancedPKClustering.
    EnhancedPk,
    /// GreedyPKClustering, then switching of rows for (p+, alpha)-sensitivity.
    Switching,
    /// Microaggregation with seeds far from the average.
    Mdav,
    /// Microaggregation with random seeds.
    RandomSeed,
    /// Squared errors around centroids, by growing and a search in rounds. Does its own cutting.
    Centroid,
    /// The leaf is the class.
    None,
}

impl ClusterChoice {
    /// The name of the choice in policies and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::GreedyPk => "greedy-pk",
            Self::EnhancedPk => "enhanced-pk",
            Self::Switching => "switching",
            Self::Mdav => "mdav",
            Self::RandomSeed => "random-seed",
            Self::Centroid => "centroid",
            Self::None => "none",
        }
    }
}

/// A way from a table to classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// How the table is cut.
    pub partition: PartitionChoice,
    /// How the classes of a leaf are formed.
    pub cluster: ClusterChoice,
    /// Drives random choices.
    pub seed: u64,
}

impl Method {
    /// Every partition and every clustering there is, for tests that must hold for all of them.
    pub const ALL: [Self; 17] = [
        Self::new(PartitionChoice::Mondrian, ClusterChoice::Greedy),
        Self::new(PartitionChoice::Mondrian, ClusterChoice::GreedyPk),
        Self::new(PartitionChoice::Mondrian, ClusterChoice::RandomSeed),
        Self::new(PartitionChoice::Mondrian, ClusterChoice::Centroid),
        Self::new(PartitionChoice::Mondrian, ClusterChoice::None),
        Self::new(PartitionChoice::BasicMondrian, ClusterChoice::None),
        Self::new(PartitionChoice::BasicMondrian, ClusterChoice::EnhancedPk),
        Self::new(PartitionChoice::Mdr, ClusterChoice::None),
        Self::new(PartitionChoice::Mdr, ClusterChoice::Mdav),
        Self::new(PartitionChoice::Incognito, ClusterChoice::None),
        Self::new(PartitionChoice::None, ClusterChoice::Greedy),
        Self::new(PartitionChoice::None, ClusterChoice::GreedyPk),
        Self::new(PartitionChoice::None, ClusterChoice::EnhancedPk),
        Self::new(PartitionChoice::None, ClusterChoice::Switching),
        Self::new(PartitionChoice::None, ClusterChoice::Mdav),
        Self::new(PartitionChoice::None, ClusterChoice::RandomSeed),
        Self::new(PartitionChoice::None, ClusterChoice::None),
    ];

    /// This partition with this clustering.
    pub const fn new(partition: PartitionChoice, cluster: ClusterChoice) -> Self {
        Self { partition, cluster, seed: 0 }
    }

    /// The same with another seed.
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Cuts everything that may be released into leaves that satisfy the model.
    pub fn leaves(&self, allowed: &Allowed, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        // Leaves that no clustering refines are cut as long as a cut is allowed.
        let is_final = self.cluster == ClusterChoice::None;
        let partition: Box<dyn Partition> = match self.partition {
            PartitionChoice::None => Box::new(Whole),
            PartitionChoice::Incognito => Box::new(Incognito),
            // Its search crosses the borders that Mondrian would draw.
            PartitionChoice::Mondrian if self.cluster == ClusterChoice::Centroid => Box::new(Whole),
            PartitionChoice::Mondrian if is_final => Box::new(Mondrian::strict()),
            PartitionChoice::Mondrian => Box::new(Mondrian::for_clustering()),
            PartitionChoice::BasicMondrian if is_final => Box::new(BasicMondrian::strict()),
            PartitionChoice::BasicMondrian => Box::new(BasicMondrian::for_clustering()),
            PartitionChoice::Mdr if is_final => Box::new(Mdr::strict()),
            PartitionChoice::Mdr => Box::new(Mdr::for_clustering()),
        };
        let leaves = allowed.classes.par_iter().map(|cells| partition.partition(cells.clone(), table, privacy));
        Ok(leaves.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Forms the classes of all leaves. `on_leaf` hears of every leaf that is done, with its number of cells, and says
    /// whether to go on; once it does not, no further leaf is begun, and what is returned is of no use.
    pub fn classes(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        on_leaf: &(dyn Fn(usize) -> bool + Sync),
    ) -> Vec<Class> {
        let clustering = self.clustering();
        let is_stopped = AtomicBool::new(false);
        let classes = |leaf: &Leaf| {
            if is_stopped.load(Ordering::Relaxed) {
                return Vec::new();
            }
            let classes = match &clustering {
                Some(clustering) => clustering.cluster(&leaf.cells, table, privacy),
                None => vec![Class { cover: leaf.cover.clone(), ..Class::of_cells(table, &leaf.cells) }],
            };
            if !on_leaf(leaf.cells.len()) {
                is_stopped.store(true, Ordering::Relaxed);
            }
            classes
        };
        leaves.par_iter().flat_map_iter(classes).collect()
    }

    fn clustering(&self) -> Option<Box<dyn Cluster>> {
        match self.cluster {
            ClusterChoice::Greedy => Some(Box::new(Greedy)),
            ClusterChoice::GreedyPk => Some(Box::new(GreedyPk)),
            ClusterChoice::EnhancedPk => Some(Box::new(EnhancedPk)),
            ClusterChoice::Switching => Some(Box::new(Switching)),
            ClusterChoice::Mdav => Some(Box::new(Mdav)),
            ClusterChoice::RandomSeed => Some(Box::new(RandomSeed { seed: self.seed })),
            ClusterChoice::Centroid => Some(Box::new(Centroid::default())),
            ClusterChoice::None => None,
        }
    }
}
