//! Histogram of the values of a sensitive column in a class.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Up to this many distinct values are kept as a sorted list, which is smaller than a map and faster to iterate over.
const SMALL: usize = 512;

/// Up to this many entries are searched one by one, which is faster than by bisection.
const SCANNED: usize = 16;

/// Row counts by code, without null.
#[derive(Clone, Debug)]
pub(super) struct Histogram<C = u32> {
    /// Sum of all counts.
    rows: u64,
    counts: CodeCounts<C>,
}

#[derive(Clone, Debug)]
enum CodeCounts<C> {
    /// Ascending by code.
    Small(Vec<(C, u64)>),
    Large(FxHashMap<C, u64>),
}

impl<C: Copy + Ord + Hash> Histogram<C> {
    pub(super) fn empty() -> Self {
        Self { rows: 0, counts: CodeCounts::Small(Vec::new()) }
    }

    pub(super) fn add(&mut self, code: C, rows: u64) {
        self.rows += rows;
        match &mut self.counts {
            CodeCounts::Large(map) => *map.entry(code).or_default() += rows,
            CodeCounts::Small(list) => match position(list, code) {
                Ok(at) => list[at].1 += rows,
                Err(at) if list.len() < SMALL => list.insert(at, (code, rows)),
                Err(_) => {
                    let mut map: FxHashMap<C, u64> = list.drain(..).collect();
                    map.insert(code, rows);
                    self.counts = CodeCounts::Large(map);
                }
            },
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows = 0;
        match &mut self.counts {
            CodeCounts::Small(list) => list.clear(),
            // A large histogram is rare, and a list is faster for what follows.
            CodeCounts::Large(_) => self.counts = CodeCounts::Small(Vec::new()),
        }
    }

    /// Removes rows, which must be present.
    pub(super) fn remove(&mut self, code: C, rows: u64) {
        self.rows -= rows;
        match &mut self.counts {
            CodeCounts::Large(map) => {
                if let Some(count) = map.get_mut(&code) {
                    *count -= rows;
                    if *count == 0 {
                        map.remove(&code);
                    }
                }
            }
            CodeCounts::Small(list) => {
                if let Ok(at) = position(list, code) {
                    list[at].1 -= rows;
                    if list[at].1 == 0 {
                        list.remove(at);
                    }
                }
            }
        }
    }

    /// Returns the sum of all counts.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn distinct(&self) -> usize {
        match &self.counts {
            CodeCounts::Small(list) => list.len(),
            CodeCounts::Large(map) => map.len(),
        }
    }

    /// Returns the codes that occur, with their row counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (C, u64)> + Clone {
        let (list, map) = match &self.counts {
            CodeCounts::Small(list) => (list.as_slice(), None),
            CodeCounts::Large(map) => (&[][..], Some(map)),
        };
        list.iter().copied().chain(map.into_iter().flatten().map(|(code, rows)| (*code, *rows)))
    }

    /// Returns the codes that occur, with their row counts, if they are kept as a list.
    pub(super) fn as_list(&self) -> Option<&[(C, u64)]> {
        match &self.counts {
            CodeCounts::Small(list) => Some(list),
            CodeCounts::Large(_) => None,
        }
    }

    pub(super) fn count(&self, code: C) -> u64 {
        match &self.counts {
            CodeCounts::Small(list) => position(list, code).map_or(0, |at| list[at].1),
            CodeCounts::Large(map) => map.get(&code).copied().unwrap_or(0),
        }
    }
}

/// Returns the index of a code in an ascending list, or else where to insert it.
#[inline]
fn position<C: Copy + Ord>(list: &[(C, u64)], code: C) -> Result<usize, usize> {
    if list.len() > SCANNED {
        return list.binary_search_by_key(&code, |entry| entry.0);
    }
    let below = list.iter().filter(|entry| entry.0 < code).count();
    if list.get(below).is_some_and(|entry| entry.0 == code) { Ok(below) } else { Err(below) }
}
