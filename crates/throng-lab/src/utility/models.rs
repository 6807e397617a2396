//! Models that are trained on the release and tested on rows of the original that the other model has not seen.
//!
//! What is predicted from the quasi-identifiers: whether a person has the most frequent value of a column. One model is trained
//! on 70 % of the original, one on the release; both are tested on the other 30 % of the original. The release was made from
//! all rows, so that the test favours it a little.

use serde::Serialize;

use super::logistic::Logistic;
use super::{DecisionTree, Example, FeatureSpace};
use crate::lexicon::Lexicon;
use crate::random::LabRandom;
use crate::statistics::rounded;
use crate::table::ReleasedTable;

/// Share of the original that trains.
const TRAINING: f64 = 0.7;

/// Largest number of examples of a tree.
const TREE_EXAMPLES: usize = 60_000;

/// Models of one column.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// The column that is predicted.
    pub column: String,
    /// Rows of the original in the test.
    pub test_rows: u64,
    /// Accuracy of always predicting the more frequent answer.
    pub majority_accuracy: f64,
    /// Logistic regression.
    pub logistic_regression: ModelScore,
    /// Decision tree.
    pub decision_tree: ModelScore,
    /// Mean overlap of the 95 % intervals of the coefficients, from 0 to 1 [Karr 2006].
    pub coefficient_overlap: f64,
}

/// Scores of a kind of model, trained on the original and on the release.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ModelScore {
    /// Accuracy when trained on the original.
    pub original_accuracy: f64,
    /// Accuracy when trained on the release.
    pub release_accuracy: f64,
    /// Area under the receiver operating characteristic when trained on the original.
    pub original_auc: f64,
    /// Area under the receiver operating characteristic when trained on the release.
    pub release_auc: f64,
}

pub(super) fn measure(
    lexicon: &Lexicon,
    exact: &ReleasedTable,
    release: &ReleasedTable,
    target: usize,
    seed: u64,
) -> Option<ModelReport> {
    let totals = exact.tallies[target].totals(lexicon.sensitive[target].len());
    let most = (0..totals.len()).max_by_key(|value| (totals[*value], std::cmp::Reverse(*value)))? as u32;
    if totals.iter().filter(|rows| **rows > 0).count() < 2 {
        return None;
    }
    let space = FeatureSpace::new(lexicon, exact);
    let label = |value: u32| u32::from(value == most);
    let (train, test) = split(space.examples(exact, target, label), &mut LabRandom::new(seed, "held-out rows"));
    let released = space.examples(release, target, label);
    let (on_original, on_release) = (Logistic::fit(&train, space.len()), Logistic::fit(&released, space.len()));
    let logistic = |model: &Logistic| score(&test, |example| model.predict(example));
    let [tree_original, tree_release] = [&train, &released].map(|examples| {
        let mut random = LabRandom::new(seed, "examples of a tree");
        let chosen = random.sample(examples.len(), TREE_EXAMPLES);
        let chosen: Vec<Example> = chosen.into_iter().map(|at| examples[at].clone()).collect();
        let tree = DecisionTree::fit(&chosen, space.len(), 2);
        score(&test, |example| tree.predict(example)[1])
    });
    let (by_original, by_release) = (logistic(&on_original), logistic(&on_release));
    let rows: f64 = test.iter().map(|example| example.weight).sum();
    let positive: f64 = test.iter().filter(|example| example.label == 1).map(|example| example.weight).sum();
    let paired = |original: (f64, f64), release: (f64, f64)| ModelScore {
        original_accuracy: rounded(original.0),
        release_accuracy: rounded(release.0),
        original_auc: rounded(original.1),
        release_auc: rounded(release.1),
    };
    Some(ModelReport {
        column: lexicon.spec.sensitive[target].name.clone(),
        test_rows: rows as u64,
        majority_accuracy: rounded(positive.max(rows - positive) / rows.max(1.0)),
        logistic_regression: paired(by_original, by_release),
        decision_tree: paired(tree_original, tree_release),
        coefficient_overlap: rounded(overlap(&on_original, &on_release)),
    })
}

/// Draws for each row whether it trains or tests.
fn split(examples: Vec<Example>, random: &mut LabRandom) -> (Vec<Example>, Vec<Example>) {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for example in examples {
        let rows = example.weight as u64;
        let training = (0..rows).filter(|_| random.unit() < TRAINING).count() as u64;
        for (set, rows) in [(&mut train, training), (&mut test, rows - training)] {
            if rows > 0 {
                set.push(Example { weight: rows as f64, ..example.clone() });
            }
        }
    }
    (train, test)
}

/// Returns accuracy and area under the curve.
fn score(test: &[Example], predict: impl Fn(&Example) -> f64) -> (f64, f64) {
    let mut scored: Vec<(f64, bool, f64)> =
        test.iter().map(|example| (predict(example), example.label == 1, example.weight)).collect();
    let rows: f64 = scored.iter().map(|(_, _, weight)| weight).sum();
    let right = |(chance, is_positive, _): &&(f64, bool, f64)| (*chance > 0.5) == *is_positive;
    let right: f64 = scored.iter().filter(right).map(|(_, _, weight)| weight).sum();
    (right / rows.max(1.0), auc(&mut scored))
}

/// Returns the chance that a positive example has a higher score than a negative one; ties count half.
pub(crate) fn auc(scored: &mut [(f64, bool, f64)]) -> f64 {
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut positive, mut negative, mut wins, mut at) = (0.0, 0.0, 0.0, 0);
    while at < scored.len() {
        let (mut tied_positive, mut tied_negative, score) = (0.0, 0.0, scored[at].0);
        while at < scored.len() && scored[at].0.total_cmp(&score).is_eq() {
            *(if scored[at].1 { &mut tied_positive } else { &mut tied_negative }) += scored[at].2;
            at += 1;
        }
        wins += tied_positive * (negative + tied_negative / 2.0);
        positive += tied_positive;
        negative += tied_negative;
    }
    if positive == 0.0 || negative == 0.0 { 0.5 } else { wins / (positive * negative) }
}

/// Returns the mean overlap of the intervals of the coefficients.
fn overlap(original: &Logistic, release: &Logistic) -> f64 {
    let interval = |model: &Logistic, at: usize| {
        let half = 1.96 * model.errors[at];
        (model.coefficients[at] - half, model.coefficients[at] + half)
    };
    let mut overlaps = Vec::new();
    for at in 0..original.coefficients.len() {
        let (a, b) = (interval(original, at), interval(release, at));
        let common = (a.1.min(b.1) - a.0.max(b.0)).max(0.0);
        let share = |whole: (f64, f64)| if whole.1 > whole.0 { common / (whole.1 - whole.0) } else { 0.0 };
        overlaps.push((share(a) + share(b)) / 2.0);
    }
    crate::statistics::mean(&overlaps)
}

#[cfg(test)]
mod tests {
    use super::auc;

    #[test]
    fn the_area_counts_ties_half() {
        assert_eq!(auc(&mut [(0.1, false, 1.0), (0.9, true, 1.0)]), 1.0);
        assert_eq!(auc(&mut [(0.9, false, 1.0), (0.1, true, 1.0)]), 0.0);
        assert_eq!(auc(&mut [(0.5, false, 3.0), (0.5, true, 1.0)]), 0.5);
        assert_eq!(auc(&mut [(0.1, false, 1.0), (0.5, true, 1.0), (0.5, false, 1.0), (0.9, true, 1.0)]), 0.875);
        assert_eq!(auc(&mut [(f64::NAN, false, 1.0), (f64::NAN, true, 1.0)]), 0.5);
    }
}
