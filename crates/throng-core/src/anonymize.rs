//! From a table to its classes: feasible regions, partition into leaves, and clustering of the leaves in parallel.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::cluster::centroid;
use crate::cluster::{Class, ClusterMethod, EnhancedPk, Greedy, GreedyPk, Mdav, RandomSeed, Switching};
use crate::error::Result;
use crate::key::ReleaseKey;
use crate::local_search::{Effort, improve};
use crate::model::Privacy;
use crate::partition::{BasicMondrian, FeasibleRegions, Incognito, Leaf, Mdr, Mondrian, NoPartition, PartitionMethod};
use crate::redistribute::redistribute;
use crate::table::Table;

/// Default number of cycles of local search.
pub const DEFAULT_CYCLES: u32 = 1;

/// Budget of centroid search per cycle, in cells times rounds. A round takes far longer than everything else, so large
/// tables get none.
const CENTROID_ROW_ROUNDS: u64 = 1 << 17;

/// Partition method: how a table is cut into leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionChoice {
    /// Mondrian [LeFevre 2006].
    Mondrian,
    /// Basic Mondrian, as in [Liu 2018].
    BasicMondrian,
    /// Basic Mondrian with priority weights and MDR trees of numeric columns [Liu 2018].
    Mdr,
    /// Full-domain generalization [LeFevre 2005].
    Incognito,
    /// The whole table is one leaf.
    None,
}

/// Cluster method: how the classes of a leaf are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterChoice {
    /// Greedy clustering of cells, then local search across leaves. Chooses its own leaves if the partition is Mondrian
    /// or none.
    Search,
    /// Greedy clustering of cells.
    Greedy,
    /// GreedyPKClustering [Truta 2007].
    GreedyPk,
    /// EnhancedPKClustering [Truta 2007].
    EnhancedPk,
    /// GreedyPKClustering, then switching of rows for (p+, alpha)-sensitivity [Sun 2008].
    Switching,
    /// Microaggregation with MDAV seeds [Solanas 2008].
    Mdav,
    /// Microaggregation with random seeds [Solanas 2008].
    RandomSeed,
    /// Microaggregation that minimizes squared errors: growing, then local search in rounds. Does its own cutting.
    Centroid,
    /// Every leaf is one class.
    None,
}

impl ClusterChoice {
    /// Returns the name of the choice in policies and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
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

/// An anonymization method: partition, clustering and their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Partition method.
    pub partition: PartitionChoice,
    /// Cluster method: how the classes of a leaf are formed.
    pub cluster: ClusterChoice,
    /// Key of every random choice.
    pub key: ReleaseKey,
    /// Maximum number of cycles of local search.
    pub cycles: u32,
}

/// The classes of a table, and the search effort spent.
#[derive(Clone, Debug)]
pub struct FormedClasses {
    /// The classes.
    pub classes: Vec<Class>,
    /// Least number of completed cycles over the blocks that local search could change; zero if there were none.
    pub cycles: u32,
}

/// Receives progress and can stop a method.
pub trait ProgressSink: Sync {
    /// Called when a leaf with `cells` cells is done. Once it returns false, no further leaf is started and the result
    /// is unusable.
    fn leaf_done(&self, cells: usize) -> bool;

    /// Whether local search may continue. Once it returns false, the search ends with its best result.
    fn may_search(&self) -> bool;
}

/// Ignores progress and never stops.
#[derive(Clone, Copy, Debug)]
pub struct IgnoreProgress;

impl ProgressSink for IgnoreProgress {
    fn leaf_done(&self, _cells: usize) -> bool {
        true
    }

    fn may_search(&self) -> bool {
        true
    }
}

impl Method {
    /// Combinations that cover every partition and every clustering, for tests that must hold for all of them.
    pub const ALL: [Self; 19] = [
        Self::new(PartitionChoice::Mondrian, ClusterChoice::Search),
        Self::new(PartitionChoice::None, ClusterChoice::Search),
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

    /// Creates a method with the public key and the default number of cycles.
    pub const fn new(partition: PartitionChoice, cluster: ClusterChoice) -> Self {
        Self { partition, cluster, key: ReleaseKey::PUBLIC, cycles: DEFAULT_CYCLES }
    }

    /// Sets the key.
    pub const fn with_key(self, key: ReleaseKey) -> Self {
        Self { key, ..self }
    }

    /// Sets the number of cycles.
    pub const fn with_cycles(self, cycles: u32) -> Self {
        Self { cycles, ..self }
    }

    /// Cuts the feasible regions into leaves that satisfy the model.
    pub fn leaves(&self, allowed: &FeasibleRegions, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        // Leaves that no clustering refines are cut as long as a cut is allowed.
        let is_final = self.cluster == ClusterChoice::None;
        let partition: Box<dyn PartitionMethod> = match self.partition {
            // Only the starting point of the search, which crosses leaf borders.
            PartitionChoice::None if self.cluster == ClusterChoice::Search => {
                Box::new(Mondrian::for_clustering(privacy))
            }
            PartitionChoice::None => Box::new(NoPartition),
            PartitionChoice::Incognito => Box::new(Incognito),
            // Its search would cross the borders of Mondrian.
            PartitionChoice::Mondrian if self.cluster == ClusterChoice::Centroid => Box::new(NoPartition),
            PartitionChoice::Mondrian if is_final => Box::new(Mondrian::strict()),
            PartitionChoice::Mondrian => Box::new(Mondrian::for_clustering(privacy)),
            PartitionChoice::BasicMondrian if is_final => Box::new(BasicMondrian::strict()),
            PartitionChoice::BasicMondrian => Box::new(BasicMondrian::for_clustering()),
            PartitionChoice::Mdr if is_final => Box::new(Mdr::strict()),
            PartitionChoice::Mdr => Box::new(Mdr::for_clustering()),
        };
        let of_block = |(block, cells): (usize, &Vec<u32>)| {
            let is_uncut = self.cluster == ClusterChoice::Search && Greedy::needs_no_cuts(cells, table, privacy);
            let partition = if is_uncut { &NoPartition } else { partition.as_ref() };
            let leaves = partition.partition(cells.clone(), table, privacy)?;
            Ok(leaves.into_iter().map(|leaf| Leaf { block: block as u32, ..leaf }).collect::<Vec<_>>())
        };
        let leaves = allowed.classes.par_iter().enumerate().map(of_block);
        Ok(leaves.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Forms the classes of all leaves, which must be ordered by block. Rows of cells that several classes share are
    /// redistributed at random, by the key.
    pub fn classes(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        watch: &dyn ProgressSink,
    ) -> FormedClasses {
        let mut formed = self.formed(leaves, table, privacy, watch);
        redistribute(table, privacy, &mut formed.classes, self.key);
        formed
    }

    fn formed(&self, leaves: &[Leaf], table: &Table, privacy: &Privacy, watch: &dyn ProgressSink) -> FormedClasses {
        let clustering = self.clustering();
        let is_stopped = AtomicBool::new(false);
        let classes = |leaf: &Leaf| {
            if is_stopped.load(Ordering::Relaxed) {
                return Vec::new();
            }
            let classes = match &clustering {
                _ if self.cluster == ClusterChoice::Centroid => {
                    return self.centroid_classes(leaf, table, privacy, watch);
                }
                Some(clustering) => clustering.cluster(&leaf.cells, table, privacy),
                None => vec![Class { cover: leaf.cover.clone(), ..Class::of_cells(table, &leaf.cells) }],
            };
            if !watch.leaf_done(leaf.cells.len()) {
                is_stopped.store(true, Ordering::Relaxed);
            }
            classes
        };
        if self.cluster != ClusterChoice::Search || self.cycles == 0 {
            return FormedClasses { classes: leaves.par_iter().flat_map_iter(classes).collect(), cycles: 0 };
        }
        let may_continue = || watch.may_search() && !is_stopped.load(Ordering::Relaxed);
        let seed = self.key.seed("search");
        let blocks: Vec<&[Leaf]> = leaves.chunk_by(|a, b| a.block == b.block).collect();
        let search = |leaves: &&[Leaf]| {
            let classes = leaves.par_iter().flat_map_iter(classes).collect();
            improve(table, privacy, classes, Effort { cycles: self.cycles, seed, may_continue: &may_continue })
        };
        let found: Vec<(Vec<Class>, u32)> = blocks.par_iter().map(search).collect();
        let cycles = found.iter().map(|(_, cycles)| *cycles).filter(|cycles| *cycles > 0).min().unwrap_or(0);
        FormedClasses { classes: found.into_iter().flat_map(|(classes, _)| classes).collect(), cycles }
    }

    fn centroid_classes(&self, leaf: &Leaf, table: &Table, privacy: &Privacy, watch: &dyn ProgressSink) -> Vec<Class> {
        let most = u64::from(self.cycles) * CENTROID_ROW_ROUNDS / (leaf.cells.len() as u64).max(1);
        let rounds = most.min(u64::from(self.cycles) * u64::from(centroid::DEFAULT_ROUNDS));
        let may_continue = |cells: usize| watch.leaf_done(cells) && watch.may_search();
        centroid::classes(table, &leaf.cells, privacy, u32::try_from(rounds).unwrap_or(u32::MAX), &may_continue)
    }

    fn clustering(&self) -> Option<Box<dyn ClusterMethod>> {
        match self.cluster {
            ClusterChoice::Search | ClusterChoice::Greedy => Some(Box::new(Greedy { seed: self.key.seed("greedy") })),
            ClusterChoice::GreedyPk => Some(Box::new(GreedyPk)),
            ClusterChoice::EnhancedPk => Some(Box::new(EnhancedPk)),
            ClusterChoice::Switching => Some(Box::new(Switching)),
            ClusterChoice::Mdav => Some(Box::new(Mdav)),
            ClusterChoice::RandomSeed => Some(Box::new(RandomSeed { seed: self.key.seed("random seeds") })),
            ClusterChoice::Centroid | ClusterChoice::None => None,
        }
    }
}
