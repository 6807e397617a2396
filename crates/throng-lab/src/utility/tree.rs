//! A decision tree by Gini impurity [Breiman 1984] on weighted examples with any number of labels.

use super::Example;

/// Largest depth.
const DEPTH: usize = 7;

/// Rows that each side of a split must have at least.
const MIN_ROWS: f64 = 25.0;

/// Thresholds that are tried for one feature.
const THRESHOLDS: usize = 16;

/// A fitted tree.
#[derive(Clone, Debug)]
pub(crate) enum DecisionTree {
    /// Share of each label.
    Leaf(Vec<f64>),
    /// Examples whose feature is at most the threshold go left.
    Split { feature: u32, threshold: f64, left: Box<DecisionTree>, right: Box<DecisionTree> },
}

impl DecisionTree {
    /// Fits a tree for labels from 0 to `labels - 1`.
    pub(crate) fn fit(examples: &[Example], features: usize, labels: usize) -> Self {
        let dense: Vec<Vec<f64>> = examples
            .iter()
            .map(|example| {
                let mut values = vec![0.0; features];
                example.features.iter().for_each(|(feature, value)| values[*feature as usize] = *value);
                values
            })
            .collect();
        let thresholds: Vec<Vec<f64>> = (0..features).map(|feature| thresholds(&dense, feature)).collect();
        let all: Vec<usize> = (0..examples.len()).collect();
        grow(&Growth { examples, dense: &dense, thresholds: &thresholds, labels }, &all, DEPTH)
    }

    /// Returns the share of each label where the example ends.
    pub(crate) fn predict(&self, example: &Example) -> &[f64] {
        match self {
            Self::Leaf(shares) => shares,
            Self::Split { feature, threshold, left, right } => {
                let found = example.features.iter().find(|(known, _)| known == feature);
                let value = found.map_or(0.0, |(_, value)| *value);
                if value <= *threshold { left.predict(example) } else { right.predict(example) }
            }
        }
    }
}

/// What is the same in all nodes of a tree.
struct Growth<'a> {
    examples: &'a [Example],
    dense: &'a [Vec<f64>],
    thresholds: &'a [Vec<f64>],
    labels: usize,
}

/// Returns thresholds between the values of a feature, evenly over the examples.
fn thresholds(dense: &[Vec<f64>], feature: usize) -> Vec<f64> {
    let mut values: Vec<f64> = dense.iter().map(|values| values[feature]).collect();
    values.sort_unstable_by(f64::total_cmp);
    let mut found: Vec<f64> = (1..THRESHOLDS)
        .map(|step| values.get(values.len() * step / THRESHOLDS).copied().unwrap_or(0.0))
        .filter(|value| values.last().is_some_and(|last| value < last))
        .collect();
    // Indicators are zero in most examples, and must be splittable all the same.
    if let (Some(first), Some(last)) = (values.first(), values.last())
        && first < last
    {
        found.push(first + (last - first) / 2.0);
    }
    found.sort_unstable_by(f64::total_cmp);
    found.dedup();
    found
}

fn grow(growth: &Growth<'_>, members: &[usize], depth: usize) -> DecisionTree {
    let mut totals = vec![0.0; growth.labels];
    members.iter().for_each(|at| totals[growth.examples[*at].label as usize] += growth.examples[*at].weight);
    let weight: f64 = totals.iter().sum();
    let leaf = || DecisionTree::Leaf(totals.iter().map(|total| total / weight.max(f64::MIN_POSITIVE)).collect());
    if depth == 0 || weight < 2.0 * MIN_ROWS {
        return leaf();
    }
    let purity = |counts: &[f64], weight: f64| counts.iter().map(|count| count * count).sum::<f64>() / weight;
    let mut best: Option<(f64, u32, f64)> = None;
    for (feature, thresholds) in growth.thresholds.iter().enumerate() {
        if thresholds.is_empty() {
            continue;
        }
        // Labels by the first threshold that is not below the value.
        let mut below = vec![0.0; (thresholds.len() + 1) * growth.labels];
        for at in members {
            let slot = thresholds.partition_point(|threshold| *threshold < growth.dense[*at][feature]);
            below[slot * growth.labels + growth.examples[*at].label as usize] += growth.examples[*at].weight;
        }
        let mut left = vec![0.0; growth.labels];
        for (slot, threshold) in thresholds.iter().enumerate() {
            left.iter_mut().zip(&below[slot * growth.labels..]).for_each(|(sum, count)| *sum += count);
            let rows: f64 = left.iter().sum();
            if rows < MIN_ROWS || weight - rows < MIN_ROWS {
                continue;
            }
            let right: Vec<f64> = totals.iter().zip(&left).map(|(total, left)| total - left).collect();
            let gain = purity(&left, rows) + purity(&right, weight - rows) - purity(&totals, weight);
            if gain > 1e-9 * weight && best.is_none_or(|(known, _, _)| gain > known) {
                best = Some((gain, feature as u32, *threshold));
            }
        }
    }
    let Some((_, feature, threshold)) = best else { return leaf() };
    let (left, right): (Vec<usize>, Vec<usize>) =
        members.iter().partition(|at| growth.dense[**at][feature as usize] <= threshold);
    let grown = |members: &[usize]| Box::new(grow(growth, members, depth - 1));
    DecisionTree::Split { feature, threshold, left: grown(&left), right: grown(&right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_learns_an_exclusive_or() {
        let mut examples = Vec::new();
        for (a, b) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
            let label = u32::from(a != b);
            // A little noise, without which no first split gains anything.
            let weight = if a == 0.0 && b == 0.0 { 120.0 } else { 100.0 };
            examples.push(Example { features: vec![(0, a), (1, b)], label, weight });
        }
        let tree = DecisionTree::fit(&examples, 2, 2);
        for example in &examples {
            assert_eq!(tree.predict(example)[example.label as usize], 1.0, "{tree:?}");
        }
    }
}
