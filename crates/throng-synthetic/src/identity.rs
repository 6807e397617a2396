//! Unique person identifiers in an order unrelated to the rows.

use crate::rng::scramble;

/// Number of shuffled bits; ids of extracts of up to 2^40 rows have at most 13 digits.
const SHUFFLED_BITS: u32 = 40;
const HALF_BITS: u32 = SHUFFLED_BITS / 2;
const HALF_MASK: u64 = (1 << HALF_BITS) - 1;
const ROUNDS: u64 = 4;

/// A bijection from row numbers to identifiers: a Feistel network over the low 40 bits, keyed by the seed; higher bits
/// are kept. Identifiers are unique without a set of used ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    keys: [u64; ROUNDS as usize],
}

impl Identity {
    /// Creates the identifiers of a seed.
    pub fn new(seed: u64) -> Self {
        Self { keys: std::array::from_fn(|round| scramble(!seed ^ scramble(round as u64))) }
    }

    /// Returns the identifier of a row, below 2^63 for rows below 2^63.
    #[inline]
    pub fn of_row(&self, row: u64) -> i64 {
        let (mut left, mut right) = (row >> HALF_BITS & HALF_MASK, row & HALF_MASK);
        for key in self.keys {
            (left, right) = (right, left ^ (scramble(right ^ key) & HALF_MASK));
        }
        ((row >> SHUFFLED_BITS << SHUFFLED_BITS) | (left << HALF_BITS) | right) as i64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_rows_share_an_identifier() {
        let identity = Identity::new(5);
        let rows = (0..200_000).chain((1 << 40)..(1 << 40) + 1000).chain((1 << 62)..(1 << 62) + 1000);
        let ids: Vec<i64> = rows.map(|row| identity.of_row(row)).collect();
        assert!(ids.iter().all(|id| *id >= 0));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }

    #[test]
    fn neighbours_are_not_in_order() {
        let identity = Identity::new(5);
        let ids: Vec<i64> = (0..10_000).map(|row| identity.of_row(row)).collect();
        let rising = ids.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((4_800..5_200).contains(&rising), "{rising} of 9,999 pairs rise");
    }
}
