//! Properties of a hierarchy that do not depend on data.

use std::collections::HashSet;

use throng_core::hierarchy::{HierarchySpec, Tree};

/// Returns the level of the root, or `None` if it depends on the values.
pub fn height(hierarchy: &HierarchySpec) -> Option<u64> {
    match hierarchy {
        HierarchySpec::Tree(tree) => Some(tree.height(tree.root()).into()),
        HierarchySpec::Intervals { widths, .. } => Some(widths.len() as u64 + 1),
        HierarchySpec::DateParts(parts) => Some(parts.len() as u64 + 1),
        HierarchySpec::Flat => Some(1),
        HierarchySpec::Mask(_) | HierarchySpec::MaskOfLength { .. } | HierarchySpec::MeanDifference => None,
    }
}

/// Returns the labels from each leaf to the root, in leaf order.
pub fn paths(tree: &Tree) -> impl Iterator<Item = Vec<&str>> {
    let leaves = 0..u32::try_from(tree.leaf_count()).unwrap_or(u32::MAX);
    leaves.map(|position| {
        let upwards = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
        upwards.map(|node| tree.label(node)).collect()
    })
}

/// Returns the labels of all nodes of a tree, including the root.
pub fn labels(tree: &Tree) -> HashSet<&str> {
    paths(tree).flatten().collect()
}
