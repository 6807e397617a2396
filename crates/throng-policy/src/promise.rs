//! The promises of a policy, in the terms of the verifier.
//!
//! They are derived from the policy alone, independently of the code that fulfils them.

use std::collections::HashMap;
use std::sync::Arc;

use throng_core::columns::{Categories, ColumnRecoding, Limit, Protection, released_names};
use throng_core::hierarchy::{HierarchySpec, MaskSide, Node, Tree, label_range, mask_affix};
use throng_core::model::{FrequencyRequirement, GroundDistance};
use throng_core::verify::{
    AllowedValues, CategoryRules, LabelColumn, LevelRule, LimitPromise, Promise, ProtectedLabels, SensitivePromise,
    SensitiveReading,
};

use crate::policy::{Policy, Quasi, Role, Sensitive, SensitiveRelease, needs_hierarchy};

/// Name of the column that accompanies a release while it is verified, if k and p count units. It is never published.
pub const UNIT_COLUMN: &str = "__throng_unit";

impl Policy {
    /// Returns the promises of a release whose rows are still accompanied by their units of privacy, if the policy has
    /// some; see [`UNIT_COLUMN`].
    pub fn staged_promise(&self) -> Promise {
        let unit = (!self.privacy.unit.is_empty()).then(|| UNIT_COLUMN.to_owned());
        Promise { unit, ..self.promise().0 }
    }

    /// Returns the promises of a release that can be checked on its published rows, and the columns that it may have. Units
    /// of privacy are not published: a release of at least k units per class has at least k rows per class.
    pub fn promise(&self) -> (Promise, Vec<String>) {
        let mut promise =
            Promise { quasi: Vec::new(), k: self.privacy.k, sensitive: Vec::new(), limits: Vec::new(), unit: None };
        let mut others = Vec::new();
        for (name, role) in &self.columns.by_name {
            match role {
                Role::Identifier => {}
                Role::Insensitive | Role::Pseudonym => others.push(name.clone()),
                Role::Sensitive(sensitive) => {
                    others.extend(sensitive.release.released_names(name));
                    promise.sensitive.extend(sensitive_promises(name, sensitive, self));
                }
                Role::Quasi(quasi) => {
                    let names = names_of(name, quasi);
                    promise.limits.extend(limit_promise(name, &names, quasi));
                    promise.quasi.extend(names);
                }
            }
        }
        let columns = promise.quasi.iter().chain(&others).cloned().collect();
        (promise, columns)
    }
}

/// Returns the released names of a quasi-identifier. Without an explicit release it keeps its name.
fn names_of(name: &str, quasi: &Quasi) -> Vec<String> {
    quasi.release.map_or_else(|| vec![name.to_owned()], |release| released_names(name, release))
}

/// Returns one promise per sensitive coding of the column.
fn sensitive_promises(name: &str, sensitive: &Sensitive, policy: &Policy) -> Vec<SensitivePromise> {
    let p = sensitive.p.unwrap_or(policy.privacy.p);
    let (of_range, others): (Vec<_>, Vec<_>) =
        sensitive.frequencies.iter().copied().partition(|of| matches!(of, FrequencyRequirement::ValueRange(_)));
    let (of_tree, of_frequencies): (Vec<_>, Vec<_>) = others.into_iter().partition(needs_hierarchy);
    let promise = |reading, alpha| {
        let (column, frequencies, look_alikes) =
            (name.to_owned(), of_frequencies.clone(), sensitive.look_alikes.clone());
        SensitivePromise { column, reading, p, alpha, frequencies, look_alikes }
    };
    let mut promises = Vec::new();
    if let Some(protection) = &sensitive.protection {
        promises.push(promise(strong_reading(protection), None));
    }
    if let Some(categories) = &sensitive.categories {
        promises.push(promise(category_reading(name, categories, sensitive.release), policy.privacy.alpha));
    }
    if let Some(borders) = &sensitive.bands {
        promises.push(promise(SensitiveReading::Bands(Arc::clone(borders)), None));
    }
    let compared = sensitive.hierarchy.as_deref().filter(|_| !of_tree.is_empty());
    if let Some((hierarchy, reading)) = compared.map(|hierarchy| (hierarchy, leaf_reading(hierarchy))) {
        let is_tree = matches!(hierarchy, HierarchySpec::Tree(_));
        if promises.is_empty() && !is_tree {
            promises.push(promise(values_reading(&of_frequencies), None));
        }
        match promises.is_empty() {
            true => promises.push(SensitivePromise {
                frequencies: of_frequencies.iter().chain(&of_tree).copied().collect(),
                ..promise(reading, None)
            }),
            false => promises.push(SensitivePromise { p: 1, frequencies: of_tree, ..promise(reading, None) }),
        }
    }
    if promises.is_empty() {
        promises.push(promise(values_reading(&of_frequencies), None));
    }
    if !of_range.is_empty() {
        let reading = SensitiveReading::Numbers;
        let (column, look_alikes) = (name.to_owned(), sensitive.look_alikes.clone());
        promises.push(SensitivePromise { column, reading, p: 1, alpha: None, frequencies: of_range, look_alikes });
    }
    promises
}

/// Returns the reading of values that count by themselves.
fn values_reading(frequencies: &[FrequencyRequirement]) -> SensitiveReading {
    let is_ordered = |of: &FrequencyRequirement| {
        matches!(of, FrequencyRequirement::Closeness { distance: GroundDistance::Ordered, .. })
    };
    if frequencies.iter().any(is_ordered) { SensitiveReading::Numbers } else { SensitiveReading::Values }
}

/// Returns the reading of values of which some are protected.
fn strong_reading(protection: &Protection) -> SensitiveReading {
    let protected = protection.protected.iter();
    let affixes =
        |side| protected.clone().filter_map(move |label| mask_affix(side, label).map(str::to_owned)).collect();
    SensitiveReading::StrongByRule(match &*protection.hierarchy {
        HierarchySpec::Tree(tree) => return SensitiveReading::Strong(Arc::new(strong_values(protection, tree))),
        HierarchySpec::Mask(side) | HierarchySpec::MaskOfLength { side, .. } => match side {
            MaskSide::Right => ProtectedLabels::Prefixes(affixes(MaskSide::Right)),
            MaskSide::Left => ProtectedLabels::Suffixes(affixes(MaskSide::Left)),
        },
        spec => ProtectedLabels::Ranges(protected.filter_map(|label| label_range(spec, label)).collect()),
    })
}

/// Maps each leaf of the hierarchy to its highest protected ancestor, or to itself.
fn strong_values(protection: &Protection, tree: &Tree) -> HashMap<String, String> {
    let strong = |path: Vec<&str>| {
        let value = path.first()?;
        let strong = path.iter().rfind(|label| protection.protected.iter().any(|known| known == *label));
        Some(((*value).to_owned(), strong.unwrap_or(value).to_string()))
    };
    paths(tree).into_iter().filter_map(strong).collect()
}

/// Maps each leaf of the hierarchy to the labels above it, or returns the rule for them.
fn leaf_reading(hierarchy: &HierarchySpec) -> SensitiveReading {
    let tree = match hierarchy {
        HierarchySpec::Tree(tree) => tree,
        HierarchySpec::Mask(side) | HierarchySpec::MaskOfLength { side, .. } => {
            return SensitiveReading::Levels(LevelRule::Mask(*side));
        }
        HierarchySpec::Intervals { origin, widths } => {
            return SensitiveReading::Levels(LevelRule::Intervals {
                origin: *origin,
                widths: widths.as_slice().into(),
            });
        }
        HierarchySpec::DateParts(parts) => {
            return SensitiveReading::Levels(LevelRule::DateParts(parts.as_slice().into()));
        }
        // Policies can't name these.
        HierarchySpec::Flat | HierarchySpec::MeanDifference => return SensitiveReading::Leaves(Arc::default()),
    };
    let owned = |path: Vec<&str>| -> Option<(String, Vec<String>)> {
        let (value, above) = path.split_first()?;
        Some(((*value).to_owned(), above.iter().map(|label| (*label).to_owned()).collect()))
    };
    SensitiveReading::Leaves(Arc::new(paths(tree).into_iter().filter_map(owned).collect()))
}

fn category_reading(name: &str, categories: &Categories, release: SensitiveRelease) -> SensitiveReading {
    let numbered = categories.list.iter().zip(0..);
    let of: HashMap<String, u32> = match release {
        SensitiveRelease::Category => numbered.map(|(category, number)| (category.name.clone(), number)).collect(),
        SensitiveRelease::Value | SensitiveRelease::Both => numbered
            .flat_map(|(category, number)| category.values.iter().map(move |value| (value.clone(), number)))
            .collect(),
    };
    let numbered = || categories.list.iter().zip(0..).filter(|_| release != SensitiveRelease::Category);
    let prefixes = numbered().flat_map(|(one, number)| one.prefixes.iter().map(move |text| (text.clone(), number)));
    let bands = numbered().flat_map(|(one, number)| one.bands.iter().map(move |band| (*band, number)));
    let rules = CategoryRules { prefixes: prefixes.collect(), bands: bands.collect() };
    let names = || categories.list.iter().map(|category| category.name.clone()).collect();
    let labels = (release == SensitiveRelease::Both)
        .then(|| LabelColumn { column: SensitiveRelease::category_name(name), names: names() });
    SensitiveReading::Categories { of: Arc::new(of), rules, count: categories.list.len() as u32, labels }
}

/// Returns the values that a limited column may show, as far as they follow from the policy: in trees and bands. Labels
/// of other hierarchies depend on the data, and sets can't be parsed without them; those limits are checked when
/// classes are recoded.
fn limit_promise(name: &str, names: &[String], quasi: &Quasi) -> Option<LimitPromise> {
    let allowed = match (quasi.limit.as_ref()?, quasi.hierarchy.as_deref()) {
        (Limit::Bands(borders), _) => AllowedValues::Bands { columns: names.to_vec(), borders: Arc::clone(borders) },
        (_, _) if quasi.release == Some(ColumnRecoding::Set) => return None,
        (Limit::Level(level), Some(HierarchySpec::Tree(tree))) => {
            let nodes = (0..tree.leaf_count() as u32).flat_map(|leaf| upwards(tree, leaf));
            let below = nodes.filter(|node| tree.height(*node) <= *level);
            AllowedValues::Labels(Arc::new(below.map(|node| tree.label(node).to_owned()).collect()))
        }
        (Limit::Values(values), Some(HierarchySpec::Tree(tree))) => {
            let allowed = paths(tree).into_iter().flat_map(|path| {
                let highest = path.iter().rposition(|label| values.iter().any(|value| value == label));
                path.into_iter().take(highest.unwrap_or(0) + 1)
            });
            AllowedValues::Labels(Arc::new(allowed.map(str::to_owned).collect()))
        }
        _ => return None,
    };
    Some(LimitPromise { column: name.to_owned(), allowed })
}

/// Returns the nodes from a leaf to the root.
fn upwards(tree: &Tree, leaf: u32) -> impl Iterator<Item = Node> {
    std::iter::successors(Some(tree.leaf_node(leaf)), |node| tree.parent(*node))
}

/// Returns the labels from each leaf to the root.
fn paths(tree: &Tree) -> Vec<Vec<&str>> {
    let path = |leaf: u32| upwards(tree, leaf).map(|node| tree.label(node)).collect();
    (0..tree.leaf_count() as u32).map(path).collect()
}
