//! Sample of distinct values with the full row count of each [Gibbons 2001].
//!
//! A value is kept if its hash has at least `zeros` trailing zeros. If the sample exceeds its capacity, `zeros` is
//! incremented and about half of the values are dropped. A value in the sample has been there since its first row, so
//! that its row count is exact, and the share of values with one row is unbiased.

use rustc_hash::FxHashMap;

use super::shape::TextShape;

/// Maximum number of distinct values kept. Up to it figures are exact.
pub const CAPACITY: usize = 1 << 16;

/// What is remembered of a distinct value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ValueSummary {
    /// Coordinate, for numbers and dates.
    pub(super) number: f64,
    /// Shape, for text.
    pub(super) shape: TextShape,
}

/// Sampled distinct values with their row counts.
#[derive(Clone, Debug, Default)]
pub(super) struct DistinctSample {
    kept: FxHashMap<u64, (u64, ValueSummary)>,
    /// Number of trailing zeros that a hash must have.
    zeros: u32,
}

impl DistinctSample {
    /// Adds a row with the value of this hash. Calls `look` if the value is new.
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

    /// Returns the quantile of the rows at this share.
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
