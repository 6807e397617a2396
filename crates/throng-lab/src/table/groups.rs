//! Counts rows by distinct tuples, with histograms of the sensitive values of each.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::NO_VALUE;

/// Distinct tuples with their rows, in the order in which they were first seen.
#[derive(Debug)]
pub(super) struct TupleGroups<K> {
    ids: FxHashMap<Box<[K]>, u32>,
    keys: Vec<K>,
    rows: Vec<u64>,
    counts: Vec<FxHashMap<(u32, u32), u32>>,
}

impl<K: Copy + Eq + Hash> TupleGroups<K> {
    pub(super) fn new(sensitive: usize) -> Self {
        Self {
            ids: FxHashMap::default(),
            keys: Vec::new(),
            rows: Vec::new(),
            counts: vec![FxHashMap::default(); sensitive],
        }
    }

    /// Adds a row, and returns the id of its tuple.
    pub(super) fn add(&mut self, tuple: &[K], values: impl Iterator<Item = u32>) -> u32 {
        let id = match self.ids.get(tuple) {
            Some(id) => *id,
            None => {
                let id = self.rows.len() as u32;
                self.ids.insert(tuple.into(), id);
                self.keys.extend_from_slice(tuple);
                self.rows.push(0);
                id
            }
        };
        self.rows[id as usize] += 1;
        for (counts, value) in self.counts.iter_mut().zip(values) {
            if value != NO_VALUE {
                *counts.entry((id, value)).or_default() += 1;
            }
        }
        id
    }

    /// Returns the approximate memory of the tuples in bytes, without the histograms.
    pub(super) fn size(&self) -> usize {
        let entry = size_of::<(Box<[K]>, u32)>();
        2 * size_of_val(self.keys.as_slice()) + size_of_val(self.rows.as_slice()) + 2 * self.rows.len() * entry
    }

    /// Returns the tuples, their rows, and a histogram of each sensitive column.
    pub(super) fn finish(self) -> (Vec<K>, Vec<u64>, Vec<ValueTallies>) {
        let groups = self.rows.len();
        let tallies = self.counts.into_iter().map(|counts| ValueTallies::new(groups, counts)).collect();
        (self.keys, self.rows, tallies)
    }
}

/// Histograms of a sensitive column, one per group.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueTallies {
    starts: Vec<usize>,
    entries: Vec<(u32, u32)>,
}

impl ValueTallies {
    pub(crate) fn new(groups: usize, counts: FxHashMap<(u32, u32), u32>) -> Self {
        let mut all: Vec<((u32, u32), u32)> = counts.into_iter().collect();
        all.sort_unstable();
        let mut starts = Vec::with_capacity(groups + 1);
        let mut at = 0;
        for group in 0..groups {
            starts.push(at);
            while at < all.len() && all[at].0.0 as usize == group {
                at += 1;
            }
        }
        starts.push(at);
        Self { starts, entries: all.into_iter().map(|((_, value), count)| (value, count)).collect() }
    }

    /// Returns the values of a group in ascending order, with their rows.
    pub(crate) fn of(&self, group: u32) -> &[(u32, u32)] {
        &self.entries[self.starts[group as usize]..self.starts[group as usize + 1]]
    }

    /// Returns the rows of each value over all groups.
    pub(crate) fn totals(&self, values: usize) -> Vec<u64> {
        let mut totals = vec![0; values];
        self.entries.iter().for_each(|(value, count)| totals[*value as usize] += u64::from(*count));
        totals
    }
}
