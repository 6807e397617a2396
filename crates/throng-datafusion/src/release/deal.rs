//! Deals the rows of shared groups one by one, as they come, in the same way as all at once.
//!
//! A row's place among those of its group decides its class, and a place is known only once all rows of the group have been
//! seen. So the rows are looked at twice: first the places of all rows of shared groups are sorted, and then every row
//! finds itself among them.

use rustc_hash::FxHashMap;
use throng_core::recode::{DealKey, Recoding};
use throng_core::survey::SUPPRESSED;

use super::for_each_batch;
use crate::Error;
use crate::rows::content;
use crate::snapshot::Snapshot;
use crate::workspace::reserve;

/// The places of the rows of shared groups.
pub(super) struct Deal {
    key: DealKey,
    /// Group and place, ascending.
    places: Vec<(u32, Place)>,
    /// Of places that several rows have, how many of these have been seen.
    seen: FxHashMap<(u32, Place), u32>,
    _reservation: datafusion::execution::memory_pool::MemoryReservation,
}

type Place = [u8; 32];

impl Deal {
    pub(super) fn new(
        snapshot: &Snapshot,
        recoding: &Recoding,
        group_of: &[u32],
        key: &DealKey,
    ) -> Result<Self, Error> {
        let reservation = snapshot.workspace.reservation("deal");
        let mut places = Vec::new();
        let mut next_group = 0;
        for stream in &snapshot.streams {
            for_each_batch(stream, snapshot.width(), group_of, &mut next_group, |batch, groups| {
                snapshot.workspace.check()?;
                let shared = groups.iter().zip(content(batch)).filter(|(group, _)| recoding.shares(**group).len() > 1);
                places.extend(shared.map(|(group, hash)| (*group, key.place(hash))));
                reserve(&reservation, places.capacity() * size_of::<(u32, Place)>(), "the rows that classes share")
            })?;
        }
        places.sort_unstable();
        Ok(Self { key: key.clone(), places, seen: FxHashMap::default(), _reservation: reservation })
    }

    /// The class of a row; [`SUPPRESSED`] for a row that is left out.
    pub(super) fn class(&mut self, recoding: &Recoding, group: u32, hash: u128) -> u32 {
        let shares = match recoding.shares(group) {
            [] => return SUPPRESSED,
            [only] => return only.class,
            shares => shares,
        };
        let entry = (group, self.key.place(hash));
        let first = self.places.partition_point(|(of, _)| *of < group);
        let at = first + self.places[first..].partition_point(|known| *known < entry);
        let is_repeated = self.places.get(at + 1) == Some(&entry);
        let before = if is_repeated {
            let seen = self.seen.entry(entry).or_insert(0);
            *seen += 1;
            *seen - 1
        } else {
            0
        };
        let mut rank = (at - first) as u32 + before;
        for share in shares {
            match rank.checked_sub(share.rows) {
                Some(rest) => rank = rest,
                None => return share.class,
            }
        }
        SUPPRESSED
    }
}
