//! Distances between distributions over the values of a hierarchy, from its labels alone.

use std::collections::{BTreeMap, HashMap};

use super::levels::{count, downwards};
use super::promise::{LevelRule, SensitiveReading};
use super::reader::{number_of_symbol, symbol_of_text};

/// Edges of a hierarchy of symbols.
///
/// The distance of two values is the height of their lowest common ancestor over that of the root. It is the length of
/// the path between them if the edge above a node is half as long as the difference in height, and along a tree the
/// earth mover's distance is the sum of what crosses each edge, times its length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LabelTree {
    /// Lengths of the edges above each node.
    lengths: Vec<f64>,
    /// Nodes from each symbol up to the one below the root.
    paths: BTreeMap<u64, Vec<usize>>,
}

impl LabelTree {
    /// Returns the hierarchy of a reading over the symbols of a release, if it has one. `codes` has the visible parts of masked
    /// values.
    pub(super) fn of(
        reading: &SensitiveReading,
        symbols: impl Iterator<Item = u64>,
        codes: &BTreeMap<u64, Vec<u64>>,
    ) -> Option<Self> {
        match reading {
            SensitiveReading::Leaves(above) => Some(Self::of_labels(above)),
            SensitiveReading::Levels(LevelRule::Mask(_)) => {
                let longest = codes.values().map(Vec::len).max().unwrap_or(0);
                let downwards = |symbol| (symbol, codes.get(&symbol).cloned().unwrap_or_default());
                Some(Self::of_levels(symbols.map(downwards), longest))
            }
            SensitiveReading::Levels(rule) => {
                let downwards = |symbol| (symbol, downwards(rule, number_of_symbol(symbol)));
                Some(Self::of_levels(symbols.map(downwards), count(rule) + 1))
            }
            _ => None,
        }
    }

    /// Returns the hierarchy of symbols whose nodes are given from the one below the root on. The height of the root is
    /// `highest`, and each further node is lower by one.
    fn of_levels(symbols: impl Iterator<Item = (u64, Vec<u64>)>, highest: usize) -> Self {
        let highest = highest.max(1);
        let mut nodes: HashMap<(usize, u64), usize> = HashMap::new();
        let (mut lengths, mut paths) = (Vec::new(), BTreeMap::new());
        for (symbol, downwards) in symbols {
            // The value itself lies at height zero below the last of its nodes.
            let own = lengths.len();
            lengths.push(highest.saturating_sub(downwards.len()) as f64 / highest as f64 / 2.0);
            let mut walk = vec![own];
            for (depth, node) in downwards.into_iter().enumerate().rev() {
                walk.push(*nodes.entry((depth, node)).or_insert_with(|| {
                    lengths.push(0.5 / highest as f64);
                    lengths.len() - 1
                }));
            }
            paths.insert(symbol, walk);
        }
        Self { lengths, paths }
    }

    fn of_labels(above: &HashMap<String, Vec<String>>) -> Self {
        // A node is identified by all labels from it to the root, because a label may occur at two levels.
        let mut nodes: HashMap<Vec<&str>, usize> = HashMap::new();
        let mut heights: Vec<usize> = Vec::new();
        let mut walks: Vec<(u64, Vec<usize>)> = Vec::new();
        for (value, above) in above.iter() {
            let labels: Vec<&str> = std::iter::once(value.as_str()).chain(above.iter().map(String::as_str)).collect();
            let mut walk = Vec::new();
            for steps in 0..labels.len() {
                let next = nodes.len();
                let node = *nodes.entry(labels[steps..].to_vec()).or_insert(next);
                heights.resize(heights.len().max(node + 1), 0);
                heights[node] = heights[node].max(steps);
                walk.push(node);
            }
            walks.push((symbol_of_text(value), walk));
        }
        let highest = heights.iter().copied().max().unwrap_or(0).max(1) as f64;
        let mut lengths = vec![0.0; heights.len()];
        for (_, walk) in &walks {
            for step in walk.windows(2) {
                lengths[step[0]] = (heights[step[1]] - heights[step[0]]) as f64 / highest / 2.0;
            }
        }
        let below_root = |(symbol, mut walk): (u64, Vec<usize>)| {
            walk.pop();
            (symbol, walk)
        };
        Self { lengths, paths: walks.into_iter().map(below_root).collect() }
    }

    /// Returns the earth mover's distance of two distributions, each as rows by symbol and their number.
    pub(super) fn distance(&self, one: (&BTreeMap<u64, u64>, f64), other: (&BTreeMap<u64, u64>, f64)) -> f64 {
        let mut crossing = vec![0.0; self.lengths.len()];
        for ((counts, rows), sign) in [(one, 1.0), (other, -1.0)] {
            for (symbol, count) in counts {
                for node in self.paths.get(symbol).into_iter().flatten() {
                    crossing[*node] += sign * *count as f64 / rows;
                }
            }
        }
        crossing.iter().zip(&self.lengths).map(|(crossing, length)| crossing.abs() * length).sum()
    }
}
