//! Validates `[algorithm]`.

use throng_core::anonymize::PartitionChoice;

use crate::budget::Budget;
use crate::field_path::FieldPath;
use crate::policy::{Algorithm, BoundSetting};
use crate::problem::Report;
use crate::raw;
use crate::settings::{ClusterSetting, Goal};

/// Validates `[algorithm]`, and resolves its defaults.
pub fn algorithm(raw: Option<&raw::RawAlgorithm>, borrow: Option<raw::Borrow>, report: &mut Report<'_>) -> Algorithm {
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
    let goal = goal(raw, partition, cluster, report);
    if borrow == Some(raw::Borrow::Never) {
        let is_whole = matches!(cluster, ClusterSetting::Auto | ClusterSetting::Greedy | ClusterSetting::None);
        if !is_whole || goal == Goal::Classes {
            report.value(
                &FieldPath::of(&["privacy", "borrow"]),
                "`never` keeps rows with equal quasi-identifiers together, and this method deals them to classes one by one; \
                 use the cluster method `auto`, `greedy` or `none`, and the goal `loss`",
            );
        }
    }
    let budget = budget(raw.and_then(|raw| raw.budget.as_deref()), cluster, report);
    let bound = match raw.and_then(|raw| raw.bound) {
        Some(true) => BoundSetting::On,
        _ => BoundSetting::Off,
    };
    Algorithm {
        partition,
        cluster,
        goal,
        budget,
        bound,
        seed: raw.and_then(|raw| raw.seed).unwrap_or(raw::DEFAULT_SEED),
    }
}

fn goal(
    raw: Option<&raw::RawAlgorithm>,
    partition: PartitionChoice,
    cluster: ClusterSetting,
    report: &mut Report<'_>,
) -> Goal {
    let goal = raw.and_then(|raw| raw.goal).unwrap_or_default();
    let path = FieldPath::of(&["algorithm", "goal"]);
    if goal == Goal::Classes {
        if cluster != ClusterSetting::Auto {
            report.field(&path, format!("is for `auto`, and the cluster method is `{}`; keep one", cluster.as_str()));
        } else if partition == PartitionChoice::Incognito {
            report.value(&path, "`classes` forms classes within parts, which `incognito` does not allow; take it out");
        }
        if raw.is_some_and(|raw| raw.budget.is_some()) {
            let path = FieldPath::of(&["algorithm", "budget"]);
            report
                .field(&path, "is for the search for less loss, which `goal = \"classes\"` does without; take it out");
        }
    }
    goal
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
