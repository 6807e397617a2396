//! Samples of distinct tuples by their hash [Gibbons 2001].
//!
//! A tuple is kept if its hash has at least `zeros` trailing zeros. Above the capacity `zeros` grows, and about half of the tuples are
//! dropped. Tuples that are kept have been kept since their first row, so their counts are exact.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

/// Tracks which tuples have a single row.
#[derive(Clone, Debug)]
pub(super) struct UniqueTuples {
    /// Whether each tuple has more than one row.
    is_repeated: FxHashMap<u64, bool>,
    /// Cache of tuples with more than one row, by bits of their hash: most rows of a column with few values are found
    /// here.
    repeated: Box<[u64; CACHED]>,
    zeros: u32,
    capacity: usize,
}

/// Number of repeated tuples that are found without the table; a power of two.
const CACHED: usize = 256;

impl UniqueTuples {
    pub(super) fn new(capacity: usize) -> Self {
        // No slot but the first holds the hash of zero; its own slot starts with one that belongs elsewhere.
        let mut repeated = Box::new([0; CACHED]);
        repeated[slot(0)] = u64::MAX;
        Self { is_repeated: FxHashMap::default(), repeated, zeros: 0, capacity }
    }

    /// Adds a row of the tuple with this hash.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        if hash.trailing_zeros() >= self.zeros && self.repeated[slot(hash)] != hash {
            self.insert(hash, false);
        }
    }

    fn insert(&mut self, hash: u64, is_repeated: bool) {
        match self.is_repeated.entry(hash) {
            Entry::Occupied(mut known) => {
                known.insert(true);
                self.repeated[slot(hash)] = hash;
            }
            Entry::Vacant(new) => {
                new.insert(is_repeated);
                while self.is_repeated.len() > self.capacity && self.zeros < u64::BITS {
                    self.sample_at(self.zeros + 1);
                }
            }
        }
    }

    fn sample_at(&mut self, zeros: u32) {
        self.zeros = zeros;
        self.is_repeated.retain(|hash, _| hash.trailing_zeros() >= zeros);
    }

    /// Adds the rows of other tuples.
    pub(super) fn merge(&mut self, other: Self) {
        if other.zeros > self.zeros {
            self.sample_at(other.zeros);
        }
        for (hash, is_repeated) in other.is_repeated {
            if hash.trailing_zeros() >= self.zeros {
                self.insert(hash, is_repeated);
            }
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.zeros == 0
    }

    /// Returns the number of tuples with a single row, estimated if tuples are sampled.
    pub(super) fn count(&self) -> u64 {
        let found = self.is_repeated.values().filter(|is_repeated| !**is_repeated).count() as u64;
        found.saturating_mul(1_u64.checked_shl(self.zeros).unwrap_or(u64::MAX))
    }

    pub(super) fn size(&self) -> usize {
        self.is_repeated.capacity() * (size_of::<(u64, bool)>() + 1) + size_of::<[u64; CACHED]>()
    }

    /// Writes the counts as numbers.
    pub(super) fn write(&self, numbers: &mut Vec<u64>) {
        numbers.extend([u64::from(self.zeros), self.is_repeated.len() as u64]);
        numbers.extend(self.is_repeated.iter().flat_map(|(hash, is_repeated)| [*hash, u64::from(*is_repeated)]));
    }

    /// Reads counts of this capacity; `None` if the numbers are invalid.
    pub(super) fn read(capacity: usize, numbers: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let (zeros, len) = (u32::try_from(numbers.next()?).ok()?, numbers.next()?);
        let mut counts = Self { zeros, ..Self::new(capacity) };
        for _ in 0..len {
            let (hash, is_repeated) = (numbers.next()?, numbers.next()? > 0);
            counts.is_repeated.insert(hash, is_repeated);
        }
        (counts.is_repeated.len() <= capacity).then_some(counts)
    }
}

/// Returns the slot of a hash. Uses its high bits, which sampling leaves alone.
#[inline]
fn slot(hash: u64) -> usize {
    (hash >> 56) as usize % CACHED
}

/// Tuples with the hash of each of their values, and their rows.
#[derive(Clone, Debug)]
pub(super) struct TupleSample {
    kept: FxHashMap<u64, (Box<[u64]>, u64)>,
    zeros: u32,
    capacity: usize,
}

impl TupleSample {
    pub(super) fn new(capacity: usize) -> Self {
        Self { kept: FxHashMap::default(), zeros: 0, capacity }
    }

    /// Returns whether the tuple with this hash is kept.
    #[inline]
    pub(super) fn takes(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.zeros
    }

    /// Adds a row of a tuple that is kept.
    pub(super) fn add(&mut self, hash: u64, tuple: impl Iterator<Item = u64>) {
        self.add_rows(hash, tuple, 1);
    }

    fn add_rows(&mut self, hash: u64, tuple: impl Iterator<Item = u64>, rows: u64) {
        self.kept.entry(hash).or_insert_with(|| (tuple.collect(), 0)).1 += rows;
        while self.kept.len() > self.capacity && self.zeros < u64::BITS {
            self.zeros += 1;
            let zeros = self.zeros;
            self.kept.retain(|hash, _| hash.trailing_zeros() >= zeros);
        }
    }

    /// Adds the rows of another sample.
    pub(super) fn merge(&mut self, other: Self) {
        if other.zeros > self.zeros {
            self.zeros = other.zeros;
            self.kept.retain(|hash, _| hash.trailing_zeros() >= other.zeros);
        }
        for (hash, (tuple, rows)) in other.kept {
            if self.takes(hash) {
                self.add_rows(hash, tuple.iter().copied(), rows);
            }
        }
    }

    /// Returns the tuples that are kept, with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u64], u64)> {
        self.kept.values().map(|(tuple, rows)| (&**tuple, *rows))
    }

    pub(super) fn size(&self) -> usize {
        let width = self.kept.values().next().map_or(0, |(tuple, _)| tuple.len());
        self.kept.capacity() * (size_of::<(u64, (Box<[u64]>, u64))>() + 1) + self.kept.len() * width * size_of::<u64>()
    }

    /// Writes the tuples as numbers.
    pub(super) fn write(&self, numbers: &mut Vec<u64>) {
        numbers.extend([u64::from(self.zeros), self.kept.len() as u64]);
        for (hash, (tuple, rows)) in &self.kept {
            numbers.extend([*hash, *rows]);
            numbers.extend(tuple);
        }
    }

    /// Reads tuples of `width` values; `None` if the numbers are invalid.
    pub(super) fn read(capacity: usize, width: usize, numbers: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let (zeros, len) = (u32::try_from(numbers.next()?).ok()?, numbers.next()?);
        let mut sample = Self { zeros, ..Self::new(capacity) };
        for _ in 0..len {
            let (hash, rows) = (numbers.next()?, numbers.next()?);
            let tuple: Box<[u64]> = numbers.take(width).collect();
            (tuple.len() == width).then_some(())?;
            sample.kept.insert(hash, (tuple, rows));
        }
        (sample.kept.len() <= capacity).then_some(sample)
    }
}
