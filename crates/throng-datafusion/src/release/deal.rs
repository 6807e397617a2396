//! Deals the rows of shared groups one by one, as they come, in the same way as all at once.
//!
//! A row's place among those of its group decides its class, and a place is known only once all rows of the group have been
//! seen. So the rows are looked at twice. The largest share of a group is dealt last: of each group only the least places
//! are remembered, as many as it lends to other classes, and every row that is not among them stays at home.

use std::collections::BinaryHeap;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryReservation;
use rustc_hash::FxHashMap;
use throng_core::key::ReleaseKey;
use throng_core::recode::Shares;
use throng_core::survey::SUPPRESSED;

use super::for_each_batch;
use crate::AnonymizeError;
use crate::buffered_rows::content;
use crate::resources::reserve;
use crate::snapshot::Snapshot;

/// The rows that shared groups lend.
pub(crate) struct Deal {
    key: ReleaseKey,
    lent: FxHashMap<u32, Lent>,
    _reservation: MemoryReservation,
}

/// The rows that one group lends.
struct Lent {
    /// The least places, ascending.
    places: Vec<AssignmentRank>,
    /// How many rows have been seen of each place; several have the same place when they are all alike.
    seen: Vec<u32>,
}

/// The first look at rows: the least places of each group that lends.
pub(crate) struct FirstLook {
    key: ReleaseKey,
    least: FxHashMap<u32, BinaryHeap<AssignmentRank>>,
    rows: usize,
    reservation: MemoryReservation,
}

impl FirstLook {
    /// No rows yet. The memory is for the places.
    pub(crate) fn new(key: ReleaseKey, reservation: MemoryReservation) -> Self {
        Self { key, least: FxHashMap::default(), rows: 0, reservation }
    }

    /// Looks at rows, given the group and the content hash of each.
    pub(crate) fn add(
        &mut self,
        shares: &Shares,
        rows: impl Iterator<Item = (u32, u128)>,
    ) -> Result<(), AnonymizeError> {
        for (group, hash) in rows {
            let most = shares.lends(group);
            if most == 0 {
                continue;
            }
            let places = self.least.entry(group).or_default();
            let place = self.key.hash(hash).to_be_bytes();
            if places.len() < most {
                places.push(place);
                self.rows += 1;
            } else if let Some(mut highest) = places.peek_mut()
                && place < *highest
            {
                *highest = place;
            }
        }
        let size = self.rows * ROW_BYTES + self.least.len() * GROUP_BYTES;
        reserve(&self.reservation, size, "the rows that classes share")
    }

    /// All rows have been looked at.
    pub(crate) fn finish(self) -> Deal {
        let lent = self.least.into_iter().map(|(group, places)| {
            let places = places.into_sorted_vec();
            (group, Lent { seen: vec![0; places.len()], places })
        });
        Deal { key: self.key, lent: lent.collect(), _reservation: self.reservation }
    }
}

/// The bytes of a place, so that it needs no more room than them.
type AssignmentRank = [u8; 16];

/// What a lent row and a group that lends take of the memory.
const ROW_BYTES: usize = 24;
const GROUP_BYTES: usize = 96;

impl Deal {
    /// Looks at all rows, and shows every batch of them to somebody else.
    pub(crate) fn new(
        snapshot: &Snapshot,
        shares: &Shares,
        group_of: &[u32],
        key: ReleaseKey,
        mut and_also: impl FnMut(&RecordBatch) -> Result<(), AnonymizeError>,
    ) -> Result<Self, AnonymizeError> {
        let mut look = FirstLook::new(key, snapshot.workspace.reservation("deal"));
        let mut next_group = 0;
        for stream in &snapshot.streams {
            for_each_batch(stream, snapshot.width(), group_of, &mut next_group, |batch, groups| {
                snapshot.workspace.check()?;
                and_also(batch)?;
                look.add(shares, groups.iter().copied().zip(content(batch)))
            })?;
        }
        Ok(look.finish())
    }

    /// The class of a row; [`SUPPRESSED`] for a row that is left out.
    pub(crate) fn class(&mut self, shares: &Shares, group: u32, hash: u128) -> u32 {
        let (lent_to, home) = match shares.of(group) {
            [] => return SUPPRESSED,
            [lent_to @ .., home] => (lent_to, home.class),
        };
        let Some(mut rank) = self.rank(group, hash) else { return home };
        for share in lent_to {
            match rank.checked_sub(share.rows) {
                Some(rest) => rank = rest,
                None => return share.class,
            }
        }
        home
    }

    /// Which of the rows that its group lends a row is, among those of the first look; none for one that stays at home.
    /// To be asked for once per row.
    pub(crate) fn rank(&mut self, group: u32, hash: u128) -> Option<u32> {
        let lent = self.lent.get_mut(&group)?;
        let place = self.key.hash(hash).to_be_bytes();
        let at = lent.places.partition_point(|known| *known < place);
        if lent.places.get(at) != Some(&place) {
            return None;
        }
        let rank = at as u32 + lent.seen[at];
        lent.seen[at] += 1;
        ((rank as usize) < lent.places.len()).then_some(rank)
    }
}
