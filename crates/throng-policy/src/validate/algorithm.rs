//! Validates `[algorithm]`.

use throng_core::anonymize::PartitionChoice;

use crate::budget::Budget;
use crate::field_path::FieldPath;
use crate::policy::{Algorithm, BoundSetting};
use crate::problem::Report;
use crate::raw;
use crate::settings::ClusterSetting;

/// Validates `[algorithm]`, and resolves its defaults.
pub fn algorithm(raw: Option<&raw::RawAlgorithm>, report: &mut Report<'_>) -> Algorithm {
    let partition = raw.and_then(|raw| raw.partition).unwrap_or_default();
    let cluster = raw.and_then(|raw| raw.cluster).unwrap_or_default();
    let path = FieldPath::of(&["algorithm", "cluster"]);
    if partition == PartitionChoice::None && cluster == ClusterSetting::None {
        report.value(
            &path,
            "with neither a partition nor a cluster method the whole table would be released as one class; \
             choose one of the two",
        );
    }
    if partition == PartitionChoice::Incognito && !matches!(cluster, ClusterSetting::Auto | ClusterSetting::None) {
        report.value(
            &path,
            format!(
                "`{}` would cut the classes of `incognito`, which shows every value of a column on the same level; \
                 leave it out, or choose another partition",
                cluster.as_str()
            ),
        );
    }
    let budget = budget(raw.and_then(|raw| raw.budget.as_deref()), cluster, report);
    let bound = match raw.and_then(|raw| raw.bound) {
        Some(true) => BoundSetting::On,
        _ => BoundSetting::Off,
    };
    Algorithm { partition, cluster, budget, bound, seed: raw.and_then(|raw| raw.seed).unwrap_or(raw::DEFAULT_SEED) }
}

fn budget(raw: Option<&str>, cluster: ClusterSetting, report: &mut Report<'_>) -> Budget {
    let Some(text) = raw else { return Budget::default() };
    let path = FieldPath::of(&["algorithm", "budget"]);
    if !matches!(cluster, ClusterSetting::Auto | ClusterSetting::Centroid) {
        let name = cluster.as_str();
        report.value(
            &path,
            format!("`{name}` does not search for better classes; leave the budget out, or choose `auto`"),
        );
    }
    text.parse().unwrap_or_else(|problem: String| {
        report.value(&path, problem);
        Budget::default()
    })
}
