//! Streaming row assignment of shared groups, equal to the assignment in memory.
//!
//! The rank of a row within its group, by keyed hash, decides its class, and it is known only once all rows of the
//! group have been seen. The rows are therefore read twice. The largest share of a group is assigned last: only the
//! lowest ranks of each group are buffered, as many as it lends to other classes, and all other rows go to the class
//! with the largest share.

use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::memory::reserve;
use super::{MemoryBudget, OutOfCoreError};
use crate::key::ReleaseKey;
use crate::recode::Shares;
use crate::survey::SUPPRESSED;

/// The rows that shared groups lend to other classes.
pub struct RowAssignment {
    key: ReleaseKey,
    lent: FxHashMap<u32, Lent>,
    _memory: Box<dyn MemoryBudget>,
}

/// The rows that one group lends.
struct Lent {
    /// Lowest ranks, ascending.
    ranks: Vec<AssignmentRank>,
    /// Number of rows seen per rank. Rows with equal values share a rank.
    seen: Vec<u32>,
}

/// First pass over the rows: collects the lowest ranks of each lending group.
pub struct LowestRanks {
    key: ReleaseKey,
    least: FxHashMap<u32, BinaryHeap<AssignmentRank>>,
    rows: usize,
    memory: Box<dyn MemoryBudget>,
}

impl LowestRanks {
    /// Creates an empty pass. `memory` accounts for the ranks.
    pub fn new(key: ReleaseKey, memory: Box<dyn MemoryBudget>) -> Self {
        Self { key, least: FxHashMap::default(), rows: 0, memory }
    }

    /// Adds rows by group and row hash. Fails if there is no memory for the rows that are lent.
    pub fn add(&mut self, shares: &Shares, rows: impl Iterator<Item = (u32, u128)>) -> Result<(), OutOfCoreError> {
        for (group, hash) in rows {
            let most = shares.lends(group);
            if most == 0 {
                continue;
            }
            let ranks = self.least.entry(group).or_default();
            let rank = self.key.hash(hash).to_be_bytes();
            if ranks.len() < most {
                ranks.push(rank);
                self.rows += 1;
            } else if let Some(mut highest) = ranks.peek_mut()
                && rank < *highest
            {
                *highest = rank;
            }
        }
        let size = self.rows * ROW_BYTES + self.least.len() * GROUP_BYTES;
        reserve(self.memory.as_ref(), size, "the rows that classes share")
    }

    /// Ends the first pass.
    pub fn finish(self) -> RowAssignment {
        let lent = self.least.into_iter().map(|(group, ranks)| {
            let ranks = ranks.into_sorted_vec();
            (group, Lent { seen: vec![0; ranks.len()], ranks })
        });
        RowAssignment { key: self.key, lent: lent.collect(), _memory: self.memory }
    }
}

/// Keyed hash of a row, big-endian so that bytes compare like numbers.
type AssignmentRank = [u8; 16];

/// Memory per lent row and per lending group.
const ROW_BYTES: usize = 24;
const GROUP_BYTES: usize = 96;

impl RowAssignment {
    /// Returns the class of a row, or [`SUPPRESSED`]. Must be called once per row.
    #[inline]
    pub fn class(&mut self, shares: &Shares, group: u32, hash: u128) -> u32 {
        let (lent_to, largest_share) = match shares.of(group) {
            [] => return SUPPRESSED,
            [lent_to @ .., largest_share] => (lent_to, largest_share),
        };
        let Some(mut rank) = self.rank(group, hash) else { return largest_share.class };
        for share in lent_to {
            match rank.checked_sub(share.rows) {
                Some(rest) => rank = rest,
                None => return share.class,
            }
        }
        largest_share.class
    }

    /// Returns the index of a row among those that its group lends, or `None` if it is not lent. Must be called once
    /// per row.
    #[inline]
    pub fn rank(&mut self, group: u32, hash: u128) -> Option<u32> {
        let lent = self.lent.get_mut(&group)?;
        let rank = self.key.hash(hash).to_be_bytes();
        let at = lent.ranks.partition_point(|known| *known < rank);
        if lent.ranks.get(at) != Some(&rank) {
            return None;
        }
        let index = at as u32 + lent.seen[at];
        lent.seen[at] += 1;
        ((index as usize) < lent.ranks.len()).then_some(index)
    }
}
