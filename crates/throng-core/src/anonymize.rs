//! From a table to its classes: what the limits allow, then partition into leaves, then cluster every leaf, in parallel.

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

/// How many cycles local search goes on when nothing else is said.
pub const DEFAULT_CYCLES: u32 = 1;

/// In a cycle the centroids of a table are searched for so many cells times rounds: a round takes many times as long as
/// everything else, and so large tables get none.
const CENTROID_ROW_ROUNDS: u64 = 1 << 17;

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
    /// Greedy clustering on cells, then local search across leaves. Chooses its own leaves where the partition is Mondrian
    /// or none.
    Search,
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

/// A way from a table to classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// How the table is cut.
    pub partition: PartitionChoice,
    /// How the classes of a leaf are formed.
    pub cluster: ClusterChoice,
    /// Keys every random choice.
    pub key: ReleaseKey,
    /// How many cycles local search goes on.
    pub cycles: u32,
}

/// The classes of a table, and how they came about.
#[derive(Clone, Debug)]
pub struct FormedClasses {
    /// The classes.
    pub classes: Vec<Class>,
    /// How many cycles of local search were done, at least, where classes could be changed.
    pub cycles: u32,
}

/// Hears of the progress of a method, and tells it to stop.
pub trait ProgressSink: Sync {
    /// A leaf with so many cells is done. Once the answer is no, no further leaf is begun, and what is returned is of no
    /// use.
    fn leaf_done(&self, cells: usize) -> bool;

    /// Whether local search may go on. Once it may not, it ends with what it has.
    fn may_search(&self) -> bool;
}

/// Nobody watches.
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
    /// Every partition and every clustering there is, for tests that must hold for all of them.
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

    /// This partition with this clustering.
    pub const fn new(partition: PartitionChoice, cluster: ClusterChoice) -> Self {
        Self { partition, cluster, key: ReleaseKey::PUBLIC, cycles: DEFAULT_CYCLES }
    }

    /// The same with another key.
    pub const fn with_key(self, key: ReleaseKey) -> Self {
        Self { key, ..self }
    }

    /// The same with another number of cycles.
    pub const fn with_cycles(self, cycles: u32) -> Self {
        Self { cycles, ..self }
    }

    /// Cuts everything that may be released into leaves that satisfy the model.
    pub fn leaves(&self, allowed: &FeasibleRegions, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        // Leaves that no clustering refines are cut as long as a cut is allowed.
        let is_final = self.cluster == ClusterChoice::None;
        let partition: Box<dyn PartitionMethod> = match self.partition {
            // Where the search starts is its own choice: it crosses all borders.
            PartitionChoice::None if self.cluster == ClusterChoice::Search => {
                Box::new(Mondrian::for_clustering(privacy))
            }
            PartitionChoice::None => Box::new(NoPartition),
            PartitionChoice::Incognito => Box::new(Incognito),
            // Its search crosses the borders that Mondrian would draw.
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

    /// Forms the classes of all leaves, which come block by block. Rows of cells that several classes share are assigned
    /// at random, by the key.
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
