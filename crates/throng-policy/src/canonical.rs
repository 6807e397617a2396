//! The promise of a policy as stable text, for its digest.

use serde_json::{Value, json};
use throng_core::columns::{Nulls, Release};
use throng_core::hierarchy::{DatePart, HierarchySpec, MaskSide, Tree};

use crate::policy::{Policy, Quasi, Role};
use crate::raw::VERSION;

impl Policy {
    /// The policy in effect, after overrides and with the content of its hierarchies, as one line of JSON.
    ///
    /// Two policies with the same text promise the same and compute it in the same way. Where the data comes from,
    /// how its files are read and where the release goes are no part of it, so that it can be published. Columns are
    /// sorted by name, since their order in the file means nothing.
    pub fn canonical_json(&self) -> String {
        let mut columns: Vec<(&str, &Role)> =
            self.columns.by_name.iter().map(|(name, role)| (name.as_str(), role)).collect();
        columns.sort_unstable_by_key(|(name, _)| *name);
        let columns: serde_json::Map<String, Value> =
            columns.into_iter().map(|(name, role)| (name.to_owned(), role_json(role))).collect();
        json!({
            "version": VERSION,
            "privacy": { "k": self.privacy.k, "p": self.privacy.p },
            "algorithm": {
                "partition": self.algorithm.partition.as_str(),
                "cluster": self.algorithm.cluster.as_str(),
                "seed": self.algorithm.seed,
            },
            "unlisted": if self.columns.drop_unlisted { "drop" } else { "error" },
            "columns": columns,
        })
        .to_string()
    }
}

fn role_json(role: &Role) -> Value {
    match role {
        Role::Identifier => json!({ "role": "identifier" }),
        Role::Insensitive => json!({ "role": "insensitive" }),
        Role::Sensitive => json!({ "role": "sensitive" }),
        Role::Quasi(quasi) => quasi_json(quasi),
    }
}

fn quasi_json(quasi: &Quasi) -> Value {
    let release = quasi.release.map(|release| match release {
        Release::Interval => "interval",
        Release::Bounds => "bounds",
        Release::Ancestor => "ancestor",
        Release::Set => "set",
    });
    let nulls = match quasi.nulls {
        Nulls::Value => "value",
        Nulls::Suppress => "suppress",
        Nulls::Error => "error",
    };
    json!({
        "role": "quasi",
        "release": release,
        "weight": quasi.weight,
        "nulls": nulls,
        "hierarchy": quasi.hierarchy.as_deref().map(hierarchy_json),
    })
}

fn hierarchy_json(hierarchy: &HierarchySpec) -> Value {
    match hierarchy {
        HierarchySpec::Tree(tree) => json!({ "tree": paths(tree) }),
        HierarchySpec::Intervals { origin, widths } => json!({ "intervals": widths, "origin": origin }),
        HierarchySpec::DateParts(parts) => {
            let parts: Vec<&str> = parts.iter().map(|part| date_part(*part)).collect();
            json!({ "date": parts })
        }
        HierarchySpec::Mask(MaskSide::Right) => json!({ "mask": "right" }),
        HierarchySpec::Mask(MaskSide::Left) => json!({ "mask": "left" }),
        HierarchySpec::Flat => json!({ "flat": true }),
    }
}

fn date_part(part: DatePart) -> &'static str {
    match part {
        DatePart::Day => "day",
        DatePart::Month => "month",
        DatePart::Quarter => "quarter",
        DatePart::Year => "year",
        DatePart::Decade => "decade",
    }
}

/// The labels from each leaf to the root, in the order of the leaves.
fn paths(tree: &Tree) -> Vec<Vec<&str>> {
    let leaves = 0..u32::try_from(tree.leaf_count()).unwrap_or(u32::MAX);
    leaves
        .map(|position| {
            let upwards = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
            upwards.map(|node| tree.label(node)).collect()
        })
        .collect()
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
