//! Maps the algorithm settings of a policy to a method, and resolves `auto`.

use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::DEFAULT_CYCLES;
use throng_core::columns::ColumnRecoding;
use throng_core::local_search::WITHOUT_LIMIT;
use throng_policy::{Algorithm, Binding, Borrow, Budget, ClusterSetting, Goal};

/// Returns the method for a bound policy, and the reason for its choice.
pub(crate) fn choose_method(algorithm: &Algorithm, binding: &Binding) -> (Method, &'static str) {
    let partition = algorithm.partition;
    let (cluster, reason) = match algorithm.cluster {
        ClusterSetting::Auto if algorithm.goal == Goal::Classes => {
            (ClusterChoice::MostClasses, "auto: the goal is as many classes as possible")
        }
        ClusterSetting::Auto => auto(partition, binding),
        ClusterSetting::Greedy => (ClusterChoice::Greedy, SET),
        ClusterSetting::GreedyPk => (ClusterChoice::GreedyPk, SET),
        ClusterSetting::EnhancedPk => (ClusterChoice::EnhancedPk, SET),
        ClusterSetting::Switching => (ClusterChoice::Switching, SET),
        ClusterSetting::Mdav => (ClusterChoice::Mdav, SET),
        ClusterSetting::RandomSeed => (ClusterChoice::RandomSeed, SET),
        ClusterSetting::Centroid => (ClusterChoice::Centroid, SET),
        ClusterSetting::None => (ClusterChoice::None, SET),
    };
    let cycles = match algorithm.budget {
        Budget::Fast => 0,
        Budget::Balanced => DEFAULT_CYCLES,
        Budget::Thorough => THOROUGH_CYCLES,
        Budget::Time(_) => WITHOUT_LIMIT,
    };
    (Method::new(partition, cluster).with_cycles(cycles), reason)
}

/// Cycles of a thorough search. The first one is that of a balanced search, so its loss is never higher.
const THOROUGH_CYCLES: u32 = 16 * DEFAULT_CYCLES;

const SET: &str = "set in the policy";

fn auto(partition: PartitionChoice, binding: &Binding) -> (ClusterChoice, &'static str) {
    if matches!(partition, PartitionChoice::BasicMondrian | PartitionChoice::Mdr | PartitionChoice::Incognito) {
        return (ClusterChoice::None, "auto: the parts of this partition are the classes of its method");
    }
    let ordered = || binding.quasi.iter().filter(|quasi| quasi.spec.release.is_ordered());
    let is_aggregate = |release: ColumnRecoding| matches!(release, ColumnRecoding::Mean | ColumnRecoding::Median);
    let aggregates = ordered().count() > 0 && ordered().all(|quasi| is_aggregate(quasi.spec.release));
    if aggregates && binding.borrow == Borrow::Never {
        return (ClusterChoice::Search, "auto: rows with equal quasi-identifiers stay together, as `borrow` says");
    }
    if aggregates {
        return (
            ClusterChoice::Centroid,
            "auto: every number is released as an average, of which centroid loses least",
        );
    }
    (ClusterChoice::Search, "auto: local search loses least where values are generalized")
}
