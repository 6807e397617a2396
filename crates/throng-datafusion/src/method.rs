//! Which algorithms a policy asks for, and what `auto` stands for.

use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::columns::Release;
use throng_policy::{Algorithm, Binding, Cluster, Partition};

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
        Cluster::None => (ClusterChoice::None, SET),
    };
    (Method::new(partition, cluster).with_seed(algorithm.seed), reason)
}

const SET: &str = "set in the policy";

fn auto(partition: PartitionChoice, binding: &Binding) -> (ClusterChoice, &'static str) {
    if matches!(partition, PartitionChoice::BasicMondrian | PartitionChoice::Mdr | PartitionChoice::Incognito) {
        return (ClusterChoice::None, "auto: the parts of this partition are the classes of its method");
    }
    let ordered = || binding.quasi.iter().filter(|quasi| quasi.spec.release.is_ordered());
    let is_aggregate = |release: Release| matches!(release, Release::Mean | Release::Median);
    let aggregates = ordered().count() > 0 && ordered().all(|quasi| is_aggregate(quasi.spec.release));
    if aggregates {
        return (ClusterChoice::Mdav, "auto: every number is released as an average, of which mdav loses least");
    }
    (ClusterChoice::Greedy, "auto: greedy loses least where values are generalized")
}
