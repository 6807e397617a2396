//! Learning: what do models trained on the release add to what the class of a person reveals? [Kifer 2009],
//! [Cormode 2011]
//!
//! A model of the relation between values and quasi-identifiers is the utility of a release, and says as much about people who are not
//! in it. As an attack it matters where it distinguishes the members of one class. So the intruder starts from the classes that cover
//! a person, and weights each value by how much more likely the model considers it for the person's exact quasi-identifiers than for
//! the labels of the class. `prior` is the belief without the model, that of `homogeneity`. In the original nothing is hidden, so a
//! model adds nothing to its cells.
//!
//! The details have the accuracy of the best guess of the model alone, trained on the release and on the original, next to that
//! of the most frequent value.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::chance;
use crate::statistics::rounded;
use crate::table::ReleasedTable;
use crate::utility::{Binning, DecisionTree, Example, FeatureSpace, LabelShares};

/// Number of bins per column of the naive Bayes model.
const BINS: usize = 20;

/// Number of values with a separate label in the tree; the others share one.
const TREE_LABELS: usize = 20;

/// Number of training examples of the tree.
const TREE_EXAMPLES: usize = 30_000;

/// Number of iterations of expectation maximization.
const ITERATIONS: usize = 8;

/// Description of the prior.
const CLASSES: &str = "the share of the value in the classes that cover the person";

pub(super) fn naive_bayes(intruder: &Intruder<'_>) -> Attempts {
    let (lexicon, release) = (intruder.input.lexicon, intruder.input.release);
    let binnings: Vec<Binning> =
        (0..lexicon.quasi.len()).map(|column| Binning::new(lexicon, &intruder.exact, column, BINS)).collect();
    intruder.for_each_column(|sensitive| {
        let values = intruder.totals[sensitive].len();
        let on_release = BayesModel::fit(release, &binnings, sensitive, values);
        let on_original = BayesModel::fit(&intruder.exact, &binnings, sensitive, values);
        let targets: Vec<(usize, u32, u32)> = intruder.targets(sensitive).collect();
        let trials: Vec<Success> = targets
            .par_iter()
            .map(|(target, cell, value)| {
                let exact = intruder.exact.labels(*cell);
                let weight = |class: u32, other: u32| {
                    let labels = release.labels(class).iter().zip(exact).enumerate();
                    labels
                        .map(|(column, (label, point))| {
                            let of_class =
                                on_release.likelihood(column, &on_release.shares[column][*label as usize], other);
                            let of_person =
                                on_release.likelihood(column, &on_original.shares[column][*point as usize], other);
                            of_person / of_class
                        })
                        .product()
                };
                let belief = weighed(intruder, *target, sensitive, weight);
                success(intruder, *target, *cell, sensitive, *value, &belief)
            })
            .collect();
        let accuracy = |model: &BayesModel| {
            let right = targets.iter().filter(|(_, cell, value)| {
                let points = intruder.exact.labels(*cell).iter().enumerate();
                let points: Vec<&[(u32, f64)]> =
                    points.map(|(column, label)| on_original.shares[column][*label as usize].as_slice()).collect();
                model.best(&points) == Some(*value)
            });
            right.count() as f64 / targets.len().max(1) as f64
        };
        let outcome =
            AttackOutcome::of("naive_bayes", intruder.column(sensitive), CLASSES, &trials, intruder.input.seed)?;
        Some(with_accuracies(outcome, intruder, sensitive, accuracy(&on_release), accuracy(&on_original)))
    })
}

pub(super) fn tree(intruder: &Intruder<'_>) -> Attempts {
    let (lexicon, release) = (intruder.input.lexicon, intruder.input.release);
    let space = FeatureSpace::new(lexicon, &intruder.exact);
    intruder.for_each_column(|sensitive| {
        let labels = tree_labels(&intruder.totals[sensitive]);
        let [on_release, on_original] = [release, &intruder.exact].map(|table| {
            let examples = space.examples(table, sensitive, |value| labels[value as usize]);
            let mut random = crate::random::LabRandom::new(intruder.input.seed, "examples of the tree");
            let chosen = random.sample(examples.len(), TREE_EXAMPLES);
            let chosen: Vec<Example> = chosen.into_iter().map(|at| examples[at].clone()).collect();
            DecisionTree::fit(&chosen, space.len(), TREE_LABELS + 1)
        });
        let features = [release, &intruder.exact].map(|table| space.label_features(table));
        let example = |table: usize, labels: &[u32]| {
            let of_labels = labels.iter().enumerate().map(|(column, label)| &features[table][column][*label as usize]);
            let mut all = vec![(0, 1.0)];
            of_labels.for_each(|of_label| all.extend_from_slice(of_label));
            Example { features: all, label: 0, weight: 1.0 }
        };
        let targets: Vec<(usize, u32, u32)> = intruder.targets(sensitive).collect();
        let trials: Vec<Success> = targets
            .par_iter()
            .map(|(target, cell, value)| {
                let person = example(1, intruder.exact.labels(*cell));
                let of_person = on_release.predict(&person);
                let weight = |class: u32, other: u32| {
                    let of_class = example(0, release.labels(class));
                    let label = labels[other as usize] as usize;
                    (of_person[label] + SMOOTHING) / (on_release.predict(&of_class)[label] + SMOOTHING)
                };
                let belief = weighed(intruder, *target, sensitive, weight);
                success(intruder, *target, *cell, sensitive, *value, &belief)
            })
            .collect();
        let accuracy = |tree: &DecisionTree| {
            let right = targets.iter().filter(|(_, cell, value)| {
                let shares = tree.predict(&example(1, intruder.exact.labels(*cell)));
                let best = (0..TREE_LABELS).max_by(|a, b| shares[*a].total_cmp(&shares[*b]));
                best == Some(labels[*value as usize] as usize)
            });
            right.count() as f64 / targets.len().max(1) as f64
        };
        let outcome = AttackOutcome::of("tree", intruder.column(sensitive), CLASSES, &trials, intruder.input.seed)?;
        Some(with_accuracies(outcome, intruder, sensitive, accuracy(&on_release), accuracy(&on_original)))
    })
}

/// Smoothing that keeps ratios of small shares from dominating.
const SMOOTHING: f64 = 0.01;

fn with_accuracies(
    outcome: AttackOutcome,
    intruder: &Intruder<'_>,
    sensitive: usize,
    release: f64,
    original: f64,
) -> AttackOutcome {
    let most = intruder.totals[sensitive].iter().copied().max().unwrap_or(0);
    outcome
        .with("accuracy_of_most_frequent", rounded(most as f64 / intruder.input.original.rows as f64))
        .with("accuracy_trained_on_release", rounded(release))
        .with("accuracy_trained_on_original", rounded(original))
}

/// Returns the belief of an intruder who weights the rows of the classes that cover a person.
fn weighed(
    intruder: &Intruder<'_>,
    target: usize,
    sensitive: usize,
    weight: impl Fn(u32, u32) -> f64,
) -> FxHashMap<u32, f64> {
    let mut belief: FxHashMap<u32, f64> = FxHashMap::default();
    for class in &intruder.candidates[target] {
        // The model's weights are normalized within the class, so they shift belief between values and not between classes.
        let values = intruder.input.release.tallies[sensitive].of(*class);
        let weights: Vec<f64> = values.iter().map(|(value, rows)| f64::from(*rows) * weight(*class, *value)).collect();
        let rows: u32 = values.iter().map(|(_, rows)| rows).sum();
        let total: f64 = weights.iter().sum();
        for ((value, _), weight) in values.iter().zip(weights) {
            *belief.entry(*value).or_default() += f64::from(rows) * weight / total.max(f64::MIN_POSITIVE);
        }
    }
    belief
}

fn success(
    intruder: &Intruder<'_>,
    target: usize,
    cell: u32,
    sensitive: usize,
    value: u32,
    belief: &FxHashMap<u32, f64>,
) -> Success {
    let prior = chance(&intruder.pooled(target, sensitive), value);
    let total: f64 = belief.values().sum();
    let release = belief.get(&value).map_or(0.0, |weight| weight / total.max(f64::MIN_POSITIVE));
    Success::new(prior, release, chance(&intruder.cell(cell, sensitive), value))
}

/// Gives the most frequent values a label each, and one to all others.
fn tree_labels(totals: &[u64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by_key(|value| (std::cmp::Reverse(totals[*value]), *value));
    let mut labels = vec![TREE_LABELS as u32; totals.len()];
    order.iter().take(TREE_LABELS).zip(0..).for_each(|(value, label)| labels[*value] = label);
    labels
}

/// A naive Bayes model on bins of the quasi-identifiers.
struct BayesModel {
    /// Shares of the labels of the table that the model was trained on, by column.
    shares: Vec<LabelShares>,
    /// Probability of each bin of each column, given a value: `[column][value * bins + bin]`.
    bins: Vec<Vec<f64>>,
    lens: Vec<usize>,
    priors: Vec<f64>,
}

impl BayesModel {
    fn fit(table: &ReleasedTable, binnings: &[Binning], sensitive: usize, values: usize) -> Self {
        let shares: Vec<LabelShares> =
            binnings.iter().enumerate().map(|(column, binning)| binning.shares(table, column)).collect();
        let lens: Vec<usize> = binnings.iter().map(Binning::len).collect();
        let mut priors = vec![0.0; values];
        // Rows by value and label, column by column.
        let mut seen: Vec<FxHashMap<(u32, u32), f64>> = vec![FxHashMap::default(); binnings.len()];
        for class in 0..table.classes() as u32 {
            for (value, rows) in table.tallies[sensitive].of(class) {
                priors[*value as usize] += f64::from(*rows);
                for (seen, label) in seen.iter_mut().zip(table.labels(class)) {
                    *seen.entry((*value, *label)).or_default() += f64::from(*rows);
                }
            }
        }
        let bins =
            seen.iter().zip(&shares).zip(&lens).map(|((seen, shares), bins)| fitted(seen, shares, *bins, values));
        let bins = bins.collect();
        Self { shares, bins, lens, priors }
    }

    /// Returns how likely a label is for people with a value, relative to the size of the label.
    fn likelihood(&self, column: usize, label: &[(u32, f64)], value: u32) -> f64 {
        let of_value = &self.bins[column][value as usize * self.lens[column]..][..self.lens[column]];
        let total: f64 = label.iter().map(|(_, share)| share).sum();
        if label.is_empty() || total == 0.0 {
            return 1.0;
        }
        label.iter().map(|(bin, share)| share * of_value[*bin as usize]).sum::<f64>() / total
    }

    /// Returns the most likely value of a person.
    fn best(&self, labels: &[&[(u32, f64)]]) -> Option<u32> {
        let score = |value: u32| {
            let likelihoods =
                labels.iter().enumerate().map(|(column, label)| self.likelihood(column, label, value).ln());
            self.priors[value as usize].ln() + likelihoods.sum::<f64>()
        };
        let known = (0..self.priors.len() as u32).filter(|value| self.priors[*value as usize] > 0.0);
        known.map(|value| (score(value), value)).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, value)| value)
    }
}

/// Estimates the probability of each bin given a value. Rows with a coarse label are distributed over its values like the rows
/// that show them, by expectation maximization [Dempster 1977], so that coarse labels don't blur what is learned from fine ones.
fn fitted(seen: &FxHashMap<(u32, u32), f64>, shares: &LabelShares, bins: usize, values: usize) -> Vec<f64> {
    let mut rows: Vec<(&(u32, u32), &f64)> = seen.iter().collect();
    rows.sort_unstable_by_key(|(key, _)| **key);
    let mut known = vec![1.0 / bins as f64; bins * values];
    for _ in 0..ITERATIONS {
        let mut next = vec![1.0 / bins as f64; bins * values];
        for ((value, label), rows) in &rows {
            let (start, label) = (*value as usize * bins, &shares[*label as usize]);
            let total: f64 = label.iter().map(|(bin, share)| share * known[start + *bin as usize]).sum();
            for (bin, share) in label {
                next[start + *bin as usize] +=
                    **rows * share * known[start + *bin as usize] / total.max(f64::MIN_POSITIVE);
            }
        }
        for of_value in next.chunks_mut(bins) {
            let total: f64 = of_value.iter().sum();
            of_value.iter_mut().for_each(|count| *count /= total);
        }
        known = next;
    }
    known
}
