//! Counts of one class.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::lists::{ClassLists, Elements};
use super::units::ClassUnits;

/// Counts of one class.
#[derive(Clone, Debug)]
pub(super) struct ClassFacts {
    pub(super) rows: u64,
    /// Per sensitive promise.
    pub(super) sensitive: Vec<SensitiveTally>,
    /// Per constraint, the number of rows beyond it.
    pub(super) beyond: Vec<u64>,
    /// Units, if the promise counts them.
    units: Option<ClassUnits>,
}

/// Counts of one sensitive column in one class.
#[derive(Clone, Debug, Default)]
pub(super) struct SensitiveTally {
    /// Rows by the symbol of their value; nulls are not counted.
    pub(super) counts: SymbolCounts,
    /// The total weight in units; zero without categories.
    pub(super) weight: u64,
    /// Lists, if values are lists; `counts` then has their elements.
    pub(super) lists: Option<ClassLists>,
}

impl SensitiveTally {
    /// Returns the number of rows that shares are relative to, if it is not the sum over all symbols.
    pub(super) fn rows_of_lists(&self) -> Option<u64> {
        self.lists.as_ref().map(|lists| lists.rows)
    }
}

/// Symbols of the rows of a batch in one sensitive column.
#[derive(Debug)]
pub(super) struct ReadColumn {
    /// Symbol of each row; none for lists.
    pub(super) symbols: Vec<Option<u64>>,
    /// Whether symbols are category numbers.
    pub(super) are_categories: bool,
    /// Elements of each row, if values are lists.
    pub(super) lists: Option<Vec<Elements>>,
}

/// Rows by symbol. Most classes have few distinct symbols, which a linear search finds fastest.
#[derive(Clone, Debug)]
pub(super) enum SymbolCounts {
    Few(Vec<(u64, u64)>),
    Many(FxHashMap<u64, u64>),
}

/// Maximum number of symbols that are searched linearly.
const FEW: usize = 24;

impl Default for SymbolCounts {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl SymbolCounts {
    /// Creates counts from pairs of symbol and rows.
    pub(super) fn of(counts: &[(u64, u64)]) -> Self {
        let mut all = Self::default();
        counts.iter().for_each(|(symbol, rows)| all.add(*symbol, *rows));
        all
    }

    fn add(&mut self, symbol: u64, rows: u64) {
        match self {
            Self::Few(known) => match known.iter().position(|(other, _)| *other == symbol) {
                Some(at) => known[at].1 += rows,
                None if known.len() < FEW => known.push((symbol, rows)),
                None => *self = Self::Many(known.iter().copied().chain([(symbol, rows)]).collect()),
            },
            Self::Many(known) => *known.entry(symbol).or_default() += rows,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let (few, many) = match self {
            Self::Few(known) => (known.as_slice(), None),
            Self::Many(known) => (&[][..], Some(known)),
        };
        few.iter().copied().chain(many.into_iter().flatten().map(|(symbol, rows)| (*symbol, *rows)))
    }

    /// Returns the number of distinct symbols.
    pub(super) fn distinct(&self) -> u64 {
        match self {
            Self::Few(known) => known.len() as u64,
            Self::Many(known) => known.len() as u64,
        }
    }

    /// Returns the rows of the most frequent symbol; zero if there is none.
    pub(super) fn most_frequent(&self) -> u64 {
        self.iter().map(|(_, rows)| rows).max().unwrap_or(0)
    }
}

/// A decoded batch: one entry per row in every list.
#[derive(Debug)]
pub(super) struct ReadBatch {
    /// Per sensitive promise.
    pub(super) sensitive: Vec<ReadColumn>,
    /// Per constraint, whether each row violates it.
    pub(super) is_beyond: Vec<Vec<bool>>,
    /// The unit of each row, if the promise counts units.
    pub(super) units: Option<Vec<Option<u64>>>,
}

impl ClassFacts {
    pub(super) fn new(sensitive: usize, limits: usize, counts_units: bool) -> Self {
        let units = counts_units.then(|| ClassUnits::new(sensitive));
        Self { rows: 0, sensitive: vec![SensitiveTally::default(); sensitive], beyond: vec![0; limits], units }
    }

    /// Returns what k counts: units if the promise counts them, and otherwise rows.
    pub(super) fn size(&self) -> u64 {
        self.units.as_ref().map_or(self.rows, ClassUnits::count)
    }

    /// Returns what p counts: values that different units carry if the promise counts units, and otherwise values.
    pub(super) fn diversity(&self, sensitive: usize) -> u64 {
        if let Some(lists) = &self.sensitive[sensitive].lists {
            return lists.diversity();
        }
        match &self.units {
            Some(units) => units.carried_values(sensitive),
            None => self.sensitive[sensitive].counts.distinct(),
        }
    }

    /// Returns the approximate memory behind the counts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let tally = |seen: &SensitiveTally| {
            let lists = seen.lists.as_ref().map_or(0, |lists| lists.rows as usize * size_of::<(u64, Elements)>());
            size_of::<SensitiveTally>() + seen.counts.distinct() as usize * size_of::<(u64, u64)>() + lists
        };
        let of_sensitive: usize = self.sensitive.iter().map(tally).sum();
        of_sensitive + self.beyond.len() * size_of::<u64>() + self.units.as_ref().map_or(0, ClassUnits::bytes)
    }

    /// Adds a run of rows.
    pub(super) fn add(&mut self, run: Range<usize>, batch: &ReadBatch) {
        self.rows += run.len() as u64;
        for (seen, column) in self.sensitive.iter_mut().zip(&batch.sensitive) {
            if let Some(lists) = &column.lists {
                let known = seen.lists.get_or_insert_default();
                for row in run.clone() {
                    known.add(batch.units.as_ref().and_then(|units| units[row]), &lists[row]);
                    lists[row].iter().for_each(|symbol| seen.counts.add(*symbol, 1));
                }
                continue;
            }
            let symbols = column.symbols[run.clone()].iter().flatten();
            if column.are_categories {
                seen.weight = symbols.clone().fold(seen.weight, |sum, units| sum.saturating_add(*units));
            }
            symbols.for_each(|symbol| seen.counts.add(*symbol, 1));
        }
        for (beyond, rows) in self.beyond.iter_mut().zip(&batch.is_beyond) {
            *beyond += rows[run.clone()].iter().filter(|is_beyond| **is_beyond).count() as u64;
        }
        if let (Some(units), Some(of_row)) = (&mut self.units, &batch.units) {
            for row in run {
                units.add(of_row[row], batch.sensitive.iter().map(|column| column.symbols.get(row).copied().flatten()));
            }
        }
    }

    /// Adds the counts of other rows of the class.
    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        for (known, seen) in self.sensitive.iter_mut().zip(other.sensitive) {
            seen.counts.iter().for_each(|(symbol, rows)| known.counts.add(symbol, rows));
            known.weight = known.weight.saturating_add(seen.weight);
            if let Some(lists) = seen.lists {
                known.lists.get_or_insert_default().merge(lists);
            }
        }
        for (known, rows) in self.beyond.iter_mut().zip(other.beyond) {
            *known += rows;
        }
        if let (Some(known), Some(seen)) = (&mut self.units, other.units) {
            known.merge(seen);
        }
    }
}
