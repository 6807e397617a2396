//! Detects columns in which nearly every row has a distinct value.

use rustc_hash::FxHashSet;

/// Observed cardinality of a column.
#[derive(Debug)]
pub(super) enum Cardinality {
    /// Every value is looked up; the cardinality is not known yet.
    Unknown,
    /// Nearly every row has a distinct value. Of the values sampled by hash: those seen so far and their number of
    /// rows.
    Scattered { seen: FxHashSet<i64>, rows: usize },
    /// Nearly every row has a distinct value, and repeated values no longer matter.
    Settled,
    /// Values repeat: every value is looked up from now on.
    Repeated,
}

/// A column is scattered if it has more than `MIN_VALUES` values and at least this share of a batch was new.
const MIN_VALUES: usize = 1 << 15;
const NEARLY_ALL: f64 = 0.9;

/// One in `CHOSEN` values of a scattered column is sampled; a power of two.
const CHOSEN: u64 = 32;
/// A column stops being scattered once `CHOSEN_ROWS` sampled rows have less than the share `MIN_NEW` of distinct
/// values.
const CHOSEN_ROWS: usize = 256;
const MIN_NEW: f64 = 0.6;

impl Cardinality {
    /// Records that a batch of `rows` rows, all looked up, added `new` distinct values, for a total of `values`.
    pub(super) fn look(&mut self, values: usize, new: usize, rows: usize) {
        if matches!(self, Self::Unknown) && values > MIN_VALUES && new as f64 >= NEARLY_ALL * rows as f64 {
            *self = Self::Scattered { seen: FxHashSet::default(), rows: 0 };
        }
    }

    /// Returns the memory of the sample, in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Scattered { seen, .. } => seen.capacity() * size_of::<i64>(),
            Self::Unknown | Self::Settled | Self::Repeated => 0,
        }
    }

    /// Stops sampling: a scattered column stays one.
    pub(super) fn settle(&mut self) {
        if let Self::Scattered { .. } = self {
            *self = Self::Settled;
        }
    }

    /// Returns whether the values of the next batch need no lookup. Samples them to detect repetition.
    pub(super) fn is_scattered(&mut self, values: impl Iterator<Item = i64>) -> bool {
        let Self::Scattered { seen, rows } = self else { return matches!(self, Self::Settled) };
        for value in values.filter(|value| hashed(*value).is_multiple_of(CHOSEN)) {
            seen.insert(value);
            *rows += 1;
        }
        if *rows >= CHOSEN_ROWS && (seen.len() as f64) < MIN_NEW * *rows as f64 {
            *self = Self::Repeated;
            return false;
        }
        true
    }
}

/// Multiplicative hash of a key.
#[inline]
fn hashed(key: i64) -> u64 {
    key.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
