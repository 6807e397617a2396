//! Which algorithms a policy asks for, and what `auto` stands for.

use throng_core::anonymize::{ClusterChoice, DEFAULT_CYCLES, Method, PartitionChoice};
use throng_core::columns::Release;
use throng_core::search::WITHOUT_LIMIT;
use throng_policy::{Algorithm, Binding, Budget, Cluster, Partition};

/// The method for a policy that is bound to its input, and why it was taken.
pub(crate) fn method_of(algorithm: &Algorithm, binding: &Binding) -> (Method, &'static str) {
    let partition = match algorithm.partition {
        Partition::Mondrian => PartitionChoice::Mondrian,
        Partition::BasicMondrian => PartitionChoice::BasicMondrian,
        Partition::Mdr => PartitionChoice::Mdr,
        Partition::Incognito => PartitionChoice::Incognito,
        Partition::None => PartitionChoice::None,
    };
    let (cluster, reason) = match algorithm.cluster {
        Cluster::Auto => auto(partition, binding),
        Cluster::Greedy => (ClusterChoice::Greedy, SET),
        Cluster::GreedyPk => (ClusterChoice::GreedyPk, SET),
        Cluster::EnhancedPk => (ClusterChoice::EnhancedPk, SET),
        Cluster::Switching => (ClusterChoice::Switching, SET),
        Cluster::Mdav => (ClusterChoice::Mdav, SET),
        Cluster::RandomSeed => (ClusterChoice::RandomSeed, SET),
        Cluster::Centroid => (ClusterChoice::Centroid, SET),
        Cluster::None => (ClusterChoice::None, SET),
    };
    let cycles = match algorithm.budget {
        Budget::Fast => 0,
        Budget::Balanced => DEFAULT_CYCLES,
        Budget::Thorough => THOROUGH_CYCLES,
        Budget::Time(_) => WITHOUT_LIMIT,
    };
    (Method::new(partition, cluster).with_cycles(cycles), reason)
}

/// Cycles of a thorough search. Its first one is that of a balanced search, so that it loses no more.
const THOROUGH_CYCLES: u32 = 8 * DEFAULT_CYCLES;

const SET: &str = "set in the policy";

fn auto(partition: PartitionChoice, binding: &Binding) -> (ClusterChoice, &'static str) {
    if matches!(partition, PartitionChoice::BasicMondrian | PartitionChoice::Mdr | PartitionChoice::Incognito) {
        return (ClusterChoice::None, "auto: the parts of this partition are the classes of its method");
    }
    let ordered = || binding.quasi.iter().filter(|quasi| quasi.spec.release.is_ordered());
    let is_aggregate = |release: Release| matches!(release, Release::Mean | Release::Median);
    let aggregates = ordered().count() > 0 && ordered().all(|quasi| is_aggregate(quasi.spec.release));
    if aggregates {
        return (
            ClusterChoice::Centroid,
            "auto: every number is released as an average, of which centroid loses least",
        );
    }
    (ClusterChoice::Search, "auto: local search loses least where values are generalized")
}
