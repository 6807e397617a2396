//! Counts of one class.

use std::ops::Range;

use rustc_hash::FxHashSet;

/// Counts of one class.
#[derive(Debug)]
pub(super) struct ClassFacts {
    pub(super) rows: u64,
    /// Per sensitive promise.
    pub(super) sensitive: Vec<SensitiveTally>,
    /// Per constraint, the number of rows beyond it.
    pub(super) beyond: Vec<u64>,
}

/// Counts of one sensitive column in one class.
#[derive(Clone, Debug, Default)]
pub(super) struct SensitiveTally {
    /// Symbols of the distinct values.
    pub(super) distinct: Symbols,
    /// Total weight in units; zero without categories.
    pub(super) weight: u64,
}

/// A set of symbols. Most classes have few, for which a linear scan is fastest.
#[derive(Clone, Debug)]
pub(super) enum Symbols {
    Few(Vec<u64>),
    Many(FxHashSet<u64>),
}

/// Maximum size of [`Symbols::Few`].
const FEW: usize = 24;

impl Default for Symbols {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Symbols {
    fn insert(&mut self, symbol: u64) {
        match self {
            Self::Few(known) if known.contains(&symbol) => {}
            Self::Few(known) if known.len() < FEW => known.push(symbol),
            Self::Few(known) => *self = Self::Many(known.iter().copied().chain([symbol]).collect()),
            Self::Many(known) => {
                known.insert(symbol);
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        let (few, many) = match self {
            Self::Few(known) => (Some(known.iter()), None),
            Self::Many(known) => (None, Some(known.iter())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten()).copied()
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(known) => known.len(),
            Self::Many(known) => known.len(),
        }
    }
}

/// A decoded batch: one entry per row in every list.
#[derive(Debug)]
pub(super) struct ReadBatch {
    /// Per sensitive promise, the symbol of each row, and whether symbols are category numbers.
    pub(super) sensitive: Vec<(Vec<Option<u64>>, bool)>,
    /// Per constraint, whether each row violates it.
    pub(super) is_beyond: Vec<Vec<bool>>,
}

impl ClassFacts {
    pub(super) fn new(sensitive: usize, limits: usize) -> Self {
        Self { rows: 0, sensitive: vec![SensitiveTally::default(); sensitive], beyond: vec![0; limits] }
    }

    /// Adds a run of rows.
    pub(super) fn add(&mut self, run: Range<usize>, batch: &ReadBatch) {
        self.rows += run.len() as u64;
        for (seen, (symbols, are_categories)) in self.sensitive.iter_mut().zip(&batch.sensitive) {
            let symbols = symbols[run.clone()].iter().flatten();
            if *are_categories {
                seen.weight = symbols.clone().fold(seen.weight, |sum, units| sum.saturating_add(*units));
            }
            symbols.for_each(|symbol| seen.distinct.insert(*symbol));
        }
        for (beyond, rows) in self.beyond.iter_mut().zip(&batch.is_beyond) {
            *beyond += rows[run.clone()].iter().filter(|is_beyond| **is_beyond).count() as u64;
        }
    }

    /// Adds the counts of other rows of the class.
    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        for (known, seen) in self.sensitive.iter_mut().zip(other.sensitive) {
            seen.distinct.iter().for_each(|symbol| known.distinct.insert(symbol));
            known.weight = known.weight.saturating_add(seen.weight);
        }
        for (known, rows) in self.beyond.iter_mut().zip(other.beyond) {
            *known += rows;
        }
    }
}
