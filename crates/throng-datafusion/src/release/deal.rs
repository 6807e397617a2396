//! Deals the rows of shared groups one by one, as they come, in the same way as all at once.
//!
//! A row's place among those of its group decides its class, and a place is known only once all rows of the group have been
//! seen. So the rows are looked at twice. The largest share of a group is dealt last: of each group only the least places
//! are remembered, as many as it lends to other classes, and every row that is not among them stays at home.

use std::collections::BinaryHeap;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryReservation;
use rustc_hash::FxHashMap;
use throng_core::recode::{DealKey, Recoding};
use throng_core::survey::SUPPRESSED;

use super::for_each_batch;
use crate::Error;
use crate::rows::content;
use crate::snapshot::Snapshot;
use crate::workspace::reserve;

/// The rows that shared groups lend.
pub(super) struct Deal {
    key: DealKey,
    lent: FxHashMap<u32, Lent>,
    _reservation: MemoryReservation,
}

/// The rows that one group lends.
struct Lent {
    /// The least places, ascending.
    places: Vec<Place>,
    /// How many rows have been seen of each place; several have the same place when they are all alike.
    seen: Vec<u32>,
}

/// The bytes of a place, so that it needs no more room than them.
type Place = [u8; 16];

/// What a lent row and a group that lends take of the memory.
const ROW_BYTES: usize = 24;
const GROUP_BYTES: usize = 96;

impl Deal {
    /// Looks at all rows, and shows every batch of them to somebody else.
    pub(super) fn new(
        snapshot: &Snapshot,
        recoding: &Recoding,
        group_of: &[u32],
        key: &DealKey,
        mut and_also: impl FnMut(&RecordBatch) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let reservation = snapshot.workspace.reservation("deal");
        let mut least: FxHashMap<u32, BinaryHeap<Place>> = FxHashMap::default();
        let (mut next_group, mut rows) = (0, 0);
        for stream in &snapshot.streams {
            for_each_batch(stream, snapshot.width(), group_of, &mut next_group, |batch, groups| {
                snapshot.workspace.check()?;
                and_also(batch)?;
                for (group, hash) in groups.iter().zip(content(batch)) {
                    let most = lends(recoding, *group);
                    if most == 0 {
                        continue;
                    }
                    let places = least.entry(*group).or_default();
                    let place = key.place(hash).to_be_bytes();
                    if places.len() < most {
                        places.push(place);
                        rows += 1;
                    } else if let Some(mut highest) = places.peek_mut()
                        && place < *highest
                    {
                        *highest = place;
                    }
                }
                reserve(&reservation, rows * ROW_BYTES + least.len() * GROUP_BYTES, "the rows that classes share")
            })?;
        }
        let lent = least.into_iter().map(|(group, places)| {
            let places = places.into_sorted_vec();
            (group, Lent { seen: vec![0; places.len()], places })
        });
        Ok(Self { key: key.clone(), lent: lent.collect(), _reservation: reservation })
    }

    /// The class of a row; [`SUPPRESSED`] for a row that is left out.
    pub(super) fn class(&mut self, recoding: &Recoding, group: u32, hash: u128) -> u32 {
        let (lent_to, home) = match recoding.shares(group) {
            [] => return SUPPRESSED,
            [lent_to @ .., home] => (lent_to, home.class),
        };
        let Some(lent) = self.lent.get_mut(&group) else { return home };
        let place = self.key.place(hash).to_be_bytes();
        let at = lent.places.partition_point(|known| *known < place);
        if lent.places.get(at) != Some(&place) {
            return home;
        }
        let mut rank = at as u32 + lent.seen[at];
        lent.seen[at] += 1;
        for share in lent_to {
            match rank.checked_sub(share.rows) {
                Some(rest) => rank = rest,
                None => return share.class,
            }
        }
        home
    }
}

/// How many rows of a group go to other classes than that of its largest share.
fn lends(recoding: &Recoding, group: u32) -> usize {
    match recoding.shares(group) {
        [lent_to @ .., _] => lent_to.iter().map(|share| share.rows as usize).sum(),
        [] => 0,
    }
}
