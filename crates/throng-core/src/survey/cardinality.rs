//! Whether the values of a column repeat, or nearly every row has one of its own.

use rustc_hash::FxHashSet;

/// How values are spread over rows.
#[derive(Debug)]
pub(super) enum Cardinality {
    /// Every value is looked up. Nothing is known yet of how often they repeat.
    Unknown,
    /// Nearly every row has a value of its own; of the values that a hash chooses, those that were seen, and in how many rows.
    Scattered { seen: FxHashSet<i64>, rows: usize },
    /// Every value is looked up, and will be.
    Repeated,
}

/// A column with so many values may be scattered, when of a batch nearly all were new.
const LEAST_VALUES: usize = 1 << 15;
const NEARLY_ALL: f64 = 0.9;

/// Of a scattered column one value in so many is looked up, a power of two.
const CHOSEN: u64 = 32;
/// It is scattered no more when of so many rows or more that were looked up fewer than this share had a new value.
const CHOSEN_ROWS: usize = 256;
const LEAST_NEW: f64 = 0.6;

impl Cardinality {
    /// Notes that a batch of so many rows, all looked up, brought so many new values to what are now so many.
    pub(super) fn look(&mut self, values: usize, new: usize, rows: usize) {
        if matches!(self, Self::Unknown) && values > LEAST_VALUES && new as f64 >= NEARLY_ALL * rows as f64 {
            *self = Self::Scattered { seen: FxHashSet::default(), rows: 0 };
        }
    }

    /// What is remembered takes of the memory.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Scattered { seen, .. } => seen.capacity() * size_of::<i64>(),
            Self::Unknown | Self::Repeated => 0,
        }
    }

    /// Whether another batch needs no numbers that are known; looks at its values to tell.
    pub(super) fn is_scattered(&mut self, values: impl Iterator<Item = i64>) -> bool {
        let Self::Scattered { seen, rows } = self else { return false };
        for value in values.filter(|value| hashed(*value).is_multiple_of(CHOSEN)) {
            seen.insert(value);
            *rows += 1;
        }
        if *rows >= CHOSEN_ROWS && (seen.len() as f64) < LEAST_NEW * *rows as f64 {
            *self = Self::Repeated;
            return false;
        }
        true
    }
}

/// Bits that follow from all bits of a number.
#[inline]
fn hashed(key: i64) -> u64 {
    key.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
