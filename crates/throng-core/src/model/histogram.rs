//! Histogram of the values of a sensitive column in a class.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Up to this many distinct values are kept as a sorted list, which is smaller and faster than a map.
const SMALL: usize = 32;

/// Row counts by code, without null.
#[derive(Clone, Debug)]
pub(super) enum Histogram<C = u32> {
    /// Ascending by code.
    Small(Vec<(C, u64)>),
    Large(FxHashMap<C, u64>),
}

impl<C: Copy + Ord + Hash> Histogram<C> {
    pub(super) fn empty() -> Self {
        Self::Small(Vec::new())
    }

    pub(super) fn add(&mut self, code: C, rows: u64) {
        match self {
            Self::Large(map) => *map.entry(code).or_default() += rows,
            Self::Small(list) => match list.binary_search_by_key(&code, |entry| entry.0) {
                Ok(at) => list[at].1 += rows,
                Err(at) if list.len() < SMALL => list.insert(at, (code, rows)),
                Err(_) => {
                    let mut map: FxHashMap<C, u64> = list.drain(..).collect();
                    map.insert(code, rows);
                    *self = Self::Large(map);
                }
            },
        }
    }

    /// Removes rows, which must be present.
    pub(super) fn remove(&mut self, code: C, rows: u64) {
        match self {
            Self::Large(map) => {
                if let Some(count) = map.get_mut(&code) {
                    *count -= rows;
                    if *count == 0 {
                        map.remove(&code);
                    }
                }
            }
            Self::Small(list) => {
                if let Ok(at) = list.binary_search_by_key(&code, |entry| entry.0) {
                    list[at].1 -= rows;
                    if list[at].1 == 0 {
                        list.remove(at);
                    }
                }
            }
        }
    }

    pub(super) fn distinct(&self) -> usize {
        match self {
            Self::Small(list) => list.len(),
            Self::Large(map) => map.len(),
        }
    }

    /// Returns the codes that occur, with their row counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (C, u64)> + Clone {
        let (list, map) = match self {
            Self::Small(list) => (list.as_slice(), None),
            Self::Large(map) => (&[][..], Some(map)),
        };
        list.iter().copied().chain(map.into_iter().flatten().map(|(code, rows)| (*code, *rows)))
    }

    pub(super) fn count(&self, code: C) -> u64 {
        match self {
            Self::Small(list) => list.binary_search_by_key(&code, |entry| entry.0).map_or(0, |at| list[at].1),
            Self::Large(map) => map.get(&code).copied().unwrap_or(0),
        }
    }
}
