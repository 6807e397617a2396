//! From a table to its classes: feasible regions, partition into leaves, and clustering of the leaves in parallel.

use rayon::prelude::*;

use crate::cluster::{
    Centroid, ClusterContext, ClusterControl, ClusterMethod, DEFAULT_CYCLES, FormedClasses, Greedy, OneClass,
};
use crate::error::Result;
use crate::key::ReleaseKey;
use crate::local_search::LocalSearch;
use crate::model::Privacy;
use crate::partition::{FeasibleRegions, Leaf, Mondrian, NoPartition, PartitionMethod};
use crate::published::{BasicMondrian, EnhancedPk, GreedyPk, Incognito, Mdav, Mdr, MostClasses, RandomSeed, Switching};
pub use crate::redistribute::SharedCells;
use crate::redistribute::merge_sharing;
use crate::table::Table;

/// How the table is first cut into parts.
// [LeFevre 2006], [Liu 2018] for basic Mondrian and MDR trees, [LeFevre 2005] for Incognito.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Partition"))]
pub enum PartitionChoice {
    /// Cuts along one quasi-identifier at a time, while every part still satisfies the privacy model.
    #[default]
    Mondrian,
    /// Mondrian as in the literature: numbers are cut at the median, categories into the children of their node in the
    /// hierarchy.
    BasicMondrian,
    /// Mondrian with regular intervals (MDR trees) for numbers, dates and times without a hierarchy, and with the order
    /// of the columns found by trial.
    Mdr,
    /// Full-domain generalization: every value of a column is released on the same level of its hierarchy. Goes with
    /// the cluster methods `auto` and `none` only, and forms no smaller classes.
    Incognito,
    /// Leaves the table in one part. With `auto` it is the same as `mondrian`.
    None,
}

impl PartitionChoice {
    /// All methods, in the order of the enumeration.
    pub const ALL: [Self; 5] = [Self::Mondrian, Self::BasicMondrian, Self::Mdr, Self::Incognito, Self::None];

    /// Returns the name of the choice in policies and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mondrian => "mondrian",
            Self::BasicMondrian => "basic-mondrian",
            Self::Mdr => "mdr",
            Self::Incognito => "incognito",
            Self::None => "none",
        }
    }
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
    /// Microaggregation that minimizes squared errors: growing, then local search in rounds. Partitions the table
    /// itself.
    Centroid,
    /// As many classes as possible: EnhancedPKClustering where the sensitive values limit the number of classes, and
    /// GreedyPKClustering elsewhere.
    MostClasses,
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
            Self::MostClasses => "most-classes",
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
    /// Maximum number of proposals per cell in a cycle of local search. There are fewer in large tables.
    pub most_proposals: u32,
}

impl Method {
    /// Combinations that cover every partition and every clustering, for tests that must hold for all of them.
    pub const ALL: [Self; 21] = [
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
        Self::new(PartitionChoice::Mondrian, ClusterChoice::MostClasses),
        Self::new(PartitionChoice::None, ClusterChoice::MostClasses),
    ];

    /// Creates a method with the public key and the default number of cycles.
    pub const fn new(partition: PartitionChoice, cluster: ClusterChoice) -> Self {
        Self { partition, cluster, key: ReleaseKey::PUBLIC, cycles: DEFAULT_CYCLES, most_proposals: u32::MAX }
    }

    /// Sets the key.
    pub const fn with_key(self, key: ReleaseKey) -> Self {
        Self { key, ..self }
    }

    /// Sets the number of cycles.
    pub const fn with_cycles(self, cycles: u32) -> Self {
        Self { cycles, ..self }
    }

    /// Sets the maximum number of proposals per cell in a cycle of local search.
    pub const fn with_most_proposals(self, most_proposals: u32) -> Self {
        Self { most_proposals, ..self }
    }

    /// Cuts the feasible regions into leaves that satisfy their models.
    pub fn leaves(&self, allowed: &FeasibleRegions, table: &Table) -> Result<Vec<Leaf>> {
        let privacy = &allowed.privacy;
        // Leaves that no clustering refines are cut as long as a cut is allowed.
        let is_final = self.cluster == ClusterChoice::None;
        let partition: Box<dyn PartitionMethod> = match self.partition {
            // Leaves are only the starting point of the search, which crosses leaf boundaries.
            PartitionChoice::None if self.cluster == ClusterChoice::Search => {
                Box::new(Mondrian::for_clustering(privacy))
            }
            PartitionChoice::None => Box::new(NoPartition),
            PartitionChoice::Incognito => Box::new(Incognito),
            // Its search would cross Mondrian's leaf boundaries.
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
    /// redistributed at random, by the key; if the models allow no lending, no cell is shared.
    pub fn classes(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        control: &dyn ClusterControl,
    ) -> FormedClasses {
        let mut formed = self.formed(leaves, table, privacy, control);
        SharedCells::of(table, &formed.classes).redistribute(table, privacy, &mut formed.classes, self.key);
        formed
    }

    /// Forms the classes of all leaves like [`Method::classes`], without redistributing the rows of
    /// [shared cells](SharedCells).
    pub fn formed(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        control: &dyn ClusterControl,
    ) -> FormedClasses {
        let clustering = self.clustering();
        let context = ClusterContext::new(self.cycles, control).with_most_proposals(self.most_proposals);
        let regions: Vec<&[Leaf]> = leaves.chunk_by(|a, b| a.block == b.block).collect();
        let formed = regions.par_iter().map(|leaves| clustering.cluster_region(leaves, table, privacy, &context));
        let formed: Vec<FormedClasses> = formed.collect();
        let cycles = formed.iter().map(|region| region.cycles).filter(|cycles| *cycles > 0).min().unwrap_or(0);
        let classes = formed.into_iter().flat_map(|region| region.classes).collect();
        let classes = if privacy.lends() { classes } else { merge_sharing(table, classes) };
        FormedClasses { classes, cycles }
    }

    fn clustering(&self) -> Box<dyn ClusterMethod> {
        let greedy = Greedy { seed: self.key.seed("greedy") };
        match self.cluster {
            ClusterChoice::Search => Box::new(LocalSearch { start: greedy, seed: self.key.seed("search") }),
            ClusterChoice::Greedy => Box::new(greedy),
            ClusterChoice::GreedyPk => Box::new(GreedyPk),
            ClusterChoice::EnhancedPk => Box::new(EnhancedPk),
            ClusterChoice::Switching => Box::new(Switching),
            ClusterChoice::Mdav => Box::new(Mdav),
            ClusterChoice::RandomSeed => Box::new(RandomSeed { seed: self.key.seed("random seeds") }),
            ClusterChoice::Centroid => Box::new(Centroid::default()),
            ClusterChoice::MostClasses => Box::new(MostClasses),
            ClusterChoice::None => Box::new(OneClass),
        }
    }
}
