//! The privacy models of the suite, one line each, and their promises to a verifier.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use throng_core::columns::{ColumnRecoding, Limit, QuasiSpec, SensitiveCoding};
use throng_core::hierarchy::{HierarchySpec, Tree};
use throng_core::model::{
    CategoryWeight, CodeMeaning, FrequencyRequirement, GroundDistance, KAnonymity, ListDiversity, ListShare, Model,
    PSensitive, Privacy, frequency_model,
};
use throng_core::verify::{AllowedValues, CategoryRules, LimitPromise, Promise, SensitivePromise, SensitiveReading};
use throng_testkit::{RandomCoding, RandomTable};

/// A privacy model, for any k and p.
pub struct ModelCase {
    pub name: &'static str,
    /// Requirements on the first sensitive columns; the others are left out.
    asks: &'static [Ask],
    /// Whether quasi-identifiers have limits.
    pub limited: bool,
    /// Whether the ends of intervals are rounded outwards to a grid.
    pub covered: bool,
}

/// Requirement on a sensitive column.
#[derive(Clone, Copy)]
struct Ask {
    look: RandomCoding,
    /// The p of the column as a function of the p of the case.
    p: fn(u64) -> u64,
    alpha: Option<f64>,
    frequencies: &'static [FrequencyRequirement],
}

const VALUES: Ask = Ask { look: RandomCoding::Values, p: |p| p, alpha: None, frequencies: &[] };
const TWO_VALUES: Ask = Ask { p: |_| 2, ..VALUES };
const STRONG: Ask = Ask { look: RandomCoding::Strong, ..VALUES };
const CATEGORIES: Ask = Ask { look: RandomCoding::Categories, p: |p| p.min(3), ..VALUES };
const WEIGHTED: Ask = Ask { alpha: Some(1.5), ..CATEGORIES };

/// Requires only k and frequencies of values.
const fn frequencies(frequencies: &'static [FrequencyRequirement]) -> Ask {
    Ask { p: |_| 1, frequencies, ..VALUES }
}

const SHARES: Ask = frequencies(&[FrequencyRequirement::MaxShare(0.7)]);
const ENTROPY: Ask = frequencies(&[FrequencyRequirement::EntropyDiversity { l: 1.6 }]);
const RECURSIVE: Ask = frequencies(&[FrequencyRequirement::RecursiveDiversity { c: 3.0, l: 2 }]);
const CLOSE: Ask = frequencies(&[FrequencyRequirement::Closeness { t: 0.35, distance: GroundDistance::Equal }]);
const CLOSE_BY_TREE: Ask = Ask {
    look: RandomCoding::Leaves,
    ..frequencies(&[FrequencyRequirement::Closeness { t: 0.25, distance: GroundDistance::Hierarchical }])
};
const ALIKE: Ask = frequencies(&[FrequencyRequirement::Likeness { beta: 2.0 }]);
const DISCLOSED: Ask = frequencies(&[FrequencyRequirement::Disclosure { delta: 1.2 }]);
const LISTS: Ask = Ask { look: RandomCoding::Lists, ..VALUES };
const LIST_SHARES: Ask = Ask { look: RandomCoding::Lists, ..frequencies(&[FrequencyRequirement::MaxShare(0.8)]) };
const SEVERAL: Ask = Ask {
    frequencies: &[FrequencyRequirement::MaxShare(0.8), FrequencyRequirement::EntropyDiversity { l: 1.4 }],
    ..VALUES
};

pub const MODELS: [ModelCase; 24] = [
    ModelCase { name: "k-anonymity", asks: &[], limited: false, covered: false },
    ModelCase { name: "p-sensitive, 1 column", asks: &[VALUES], limited: false, covered: false },
    ModelCase { name: "p-sensitive, 2 columns", asks: &[VALUES; 2], limited: false, covered: false },
    ModelCase { name: "p-sensitive, 3 columns", asks: &[VALUES; 3], limited: false, covered: false },
    ModelCase { name: "a p of its own", asks: &[VALUES, TWO_VALUES], limited: false, covered: false },
    ModelCase { name: "extended", asks: &[STRONG], limited: false, covered: false },
    ModelCase { name: "p+", asks: &[CATEGORIES], limited: false, covered: false },
    ModelCase { name: "(p+, alpha)", asks: &[WEIGHTED], limited: false, covered: false },
    ModelCase { name: "constrained k-anonymity", asks: &[], limited: true, covered: false },
    ModelCase { name: "constrained p-sensitive", asks: &[VALUES], limited: true, covered: false },
    ModelCase { name: "extended, (p+, alpha) and limits", asks: &[STRONG, WEIGHTED], limited: true, covered: false },
    ModelCase { name: "(alpha, k)", asks: &[SHARES], limited: false, covered: false },
    ModelCase { name: "entropy l", asks: &[ENTROPY], limited: false, covered: false },
    ModelCase { name: "recursive (c, l)", asks: &[RECURSIVE], limited: false, covered: false },
    ModelCase { name: "t-closeness", asks: &[CLOSE], limited: false, covered: false },
    ModelCase { name: "t-closeness by hierarchy", asks: &[CLOSE_BY_TREE], limited: false, covered: false },
    ModelCase { name: "beta-likeness", asks: &[ALIKE], limited: false, covered: false },
    ModelCase { name: "delta-disclosure", asks: &[DISCLOSED], limited: false, covered: false },
    ModelCase { name: "lists", asks: &[LISTS], limited: false, covered: false },
    ModelCase { name: "shares of lists", asks: &[LIST_SHARES, VALUES], limited: false, covered: false },
    ModelCase { name: "p, shares and entropy", asks: &[SEVERAL, VALUES], limited: false, covered: false },
    ModelCase { name: "t-closeness and limits", asks: &[CLOSE], limited: true, covered: false },
    ModelCase { name: "p-sensitive with covers", asks: &[VALUES], limited: false, covered: true },
    ModelCase { name: "t-closeness, limits and covers", asks: &[CLOSE], limited: true, covered: true },
];

impl ModelCase {
    /// Returns the table with the columns, codings, limits and covers of this model.
    pub fn table(&self, whole: &RandomTable) -> RandomTable {
        let looks: Vec<RandomCoding> = self.asks.iter().map(|ask| ask.look).collect();
        let table = whole.with_codings(&looks);
        let table = if self.limited { table.with_limits() } else { table };
        if self.covered { table.with_covers() } else { table }
    }

    pub fn privacy(&self, k: u64, p: u64) -> Privacy {
        let mut models: Vec<Arc<dyn Model>> = vec![Arc::new(KAnonymity::new(k))];
        for (column, ask) in self.asks.iter().enumerate() {
            if ask.look == RandomCoding::Lists {
                models.extend(list_models(ask, p, column));
                continue;
            }
            let counted = match ask.look {
                RandomCoding::Values | RandomCoding::Leaves | RandomCoding::Lists => CodeMeaning::Values,
                RandomCoding::Strong => CodeMeaning::StrongValues,
                RandomCoding::Categories => CodeMeaning::Categories,
            };
            if (ask.p)(p) > 1 {
                models.push(Arc::new(PSensitive::new((ask.p)(p), column, counted)));
            }
            if let Some(alpha) = ask.alpha {
                models.push(Arc::new(CategoryWeight::new(alpha, column, 3)));
            }
            models.extend(ask.frequencies.iter().map(|requirement| frequency_model(*requirement, column)));
        }
        Privacy::new(models)
    }

    /// Returns the requirements as a promise for the verifier.
    pub fn promise(&self, table: &RandomTable, k: u64, p: u64) -> Promise {
        let sensitive = table.sensitive.iter().zip(self.asks).map(|((spec, _), ask)| SensitivePromise {
            column: spec.name.clone(),
            reading: reading(&spec.facets[0]),
            p: (ask.p)(p),
            alpha: ask.alpha,
            frequencies: ask.frequencies.to_vec(),
            look_alikes: spec.look_alikes.clone(),
        });
        Promise {
            quasi: table.quasi.iter().flat_map(|(spec, _)| spec.released_names()).collect(),
            k,
            sensitive: sensitive.collect(),
            limits: table.quasi.iter().filter_map(|(spec, _)| limit(spec)).collect(),
            unit: None,
        }
    }
}

fn list_models(ask: &Ask, p: u64, column: usize) -> Vec<Arc<dyn Model>> {
    let mut models: Vec<Arc<dyn Model>> = Vec::new();
    if (ask.p)(p) > 1 {
        models.push(Arc::new(ListDiversity::new((ask.p)(p), column, None)));
    }
    for requirement in ask.frequencies {
        models.push(Arc::new(ListShare::new(requirement.limit(), column)));
    }
    models
}

fn reading(facet: &SensitiveCoding) -> SensitiveReading {
    match facet {
        SensitiveCoding::Values | SensitiveCoding::Elements { .. } | SensitiveCoding::Units => SensitiveReading::Values,
        SensitiveCoding::Leaves(hierarchy) => {
            let HierarchySpec::Tree(tree) = &**hierarchy else { return SensitiveReading::Leaves(Arc::default()) };
            let above = |path: Vec<String>| (path[0].clone(), path[1..].to_vec());
            SensitiveReading::Leaves(Arc::new(paths(tree).into_iter().map(above).collect()))
        }
        SensitiveCoding::Bands(borders) => SensitiveReading::Bands(Arc::clone(borders)),
        SensitiveCoding::Strong(protection) => {
            let HierarchySpec::Tree(tree) = &*protection.hierarchy else {
                return SensitiveReading::Strong(Arc::default());
            };
            let strong = |path: Vec<String>| {
                let above = path.iter().rfind(|label| protection.protected.contains(label)).unwrap_or(&path[0]);
                (path[0].clone(), above.clone())
            };
            SensitiveReading::Strong(Arc::new(paths(tree).into_iter().map(strong).collect::<HashMap<_, _>>()))
        }
        SensitiveCoding::Categories(categories) => {
            let lists = categories.list.iter().zip(0..);
            let of = lists.flat_map(|(category, number)| category.values.iter().map(move |v| (v.clone(), number)));
            SensitiveReading::Categories {
                of: Arc::new(of.collect()),
                rules: CategoryRules::default(),
                count: categories.list.len() as u32,
                labels: None,
            }
        }
    }
}

/// Returns the values that a limited column may show, if they do not depend on the data.
fn limit(spec: &QuasiSpec) -> Option<LimitPromise> {
    let allowed = match (spec.limit.as_ref()?, &*spec.hierarchy) {
        (Limit::Bands(borders), _) => AllowedValues::Bands { columns: spec.released_names(), borders: borders.clone() },
        (Limit::Level(level), HierarchySpec::Tree(tree)) if spec.release != ColumnRecoding::Set => {
            let below = |path: Vec<String>| path.into_iter().take(*level as usize + 1);
            AllowedValues::Labels(Arc::new(paths(tree).into_iter().flat_map(below).collect::<HashSet<_>>()))
        }
        _ => return None,
    };
    Some(LimitPromise { column: spec.name.clone(), allowed })
}

/// Returns the labels from each leaf to the root.
fn paths(tree: &Tree) -> Vec<Vec<String>> {
    let path = |leaf: u32| {
        let up = std::iter::successors(Some(tree.leaf_node(leaf)), |node| tree.parent(*node));
        up.map(|node| tree.label(node).to_owned()).collect()
    };
    (0..tree.leaf_count() as u32).map(path).collect()
}
