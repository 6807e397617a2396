//! A sample of distinct values in which every value has all of its rows (Gibbons, "Distinct sampling", 2001).
//!
//! A value is kept when its hash ends in so many zeros. When there are too many, one more zero is asked for, and half of
//! them go. A value that is kept has been kept from the beginning, so that its rows are counted in full, and the share of
//! values with one row is that of the table.

use rustc_hash::FxHashMap;

use super::shape::TextShape;

/// How many distinct values are kept at most. Up to here figures are exact.
pub const CAPACITY: usize = 1 << 16;

/// What was seen of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ValueSummary {
    /// Its size, for numbers and dates.
    pub(super) number: f64,
    /// How it is written, for text.
    pub(super) shape: TextShape,
}

/// Distinct values with their rows.
#[derive(Clone, Debug, Default)]
pub(super) struct DistinctSample {
    kept: FxHashMap<u64, (u64, ValueSummary)>,
    /// How many zeros a hash must end in.
    zeros: u32,
}

impl DistinctSample {
    /// One more row with the value of this hash; `look` is asked for when the value is new.
    pub(super) fn add(&mut self, hash: u64, look: impl FnOnce() -> ValueSummary) {
        if hash.trailing_zeros() < self.zeros {
            return;
        }
        self.kept.entry(hash).or_insert_with(|| (0, look())).0 += 1;
        while self.kept.len() > CAPACITY {
            self.zeros += 1;
            let zeros = self.zeros;
            self.kept.retain(|hash, _| hash.trailing_zeros() >= zeros);
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.zeros == 0
    }

    pub(super) fn distinct(&self) -> u64 {
        (self.kept.len() as u64) << self.zeros
    }

    pub(super) fn uniques(&self) -> u64 {
        (self.kept.values().filter(|(rows, _)| *rows == 1).count() as u64) << self.zeros
    }

    pub(super) fn shape_share(&self, shape: TextShape) -> f64 {
        let found = self.kept.values().filter(|(_, look)| look.shape.has(shape)).count();
        if self.kept.is_empty() { 0.0 } else { found as f64 / self.kept.len() as f64 }
    }

    pub(super) fn longest(&self) -> usize {
        self.kept.values().map(|(_, look)| look.shape.characters()).max().unwrap_or(0)
    }

    /// The size below which this share of the rows lies.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let mut sizes: Vec<(f64, u64)> = self.kept.values().map(|(rows, look)| (look.number, *rows)).collect();
        sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: u64 = sizes.iter().map(|(_, rows)| rows).sum();
        let wanted = share * total as f64;
        let mut below = 0;
        for (size, rows) in &sizes {
            below += rows;
            if below as f64 >= wanted {
                return Some(*size);
            }
        }
        None
    }
}
