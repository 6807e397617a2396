//! Distinct tuples of numbers with their row counts: groups, before and after their columns are merged.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::SUPPRESSED;
use crate::error::{Error, Result};

/// Tuples of one width, each with a count of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuples {
    width: usize,
    numbers: Vec<u32>,
    rows: Vec<u32>,
}

impl Tuples {
    /// No tuples of this width.
    pub fn new(width: usize) -> Self {
        Self { width, numbers: Vec::new(), rows: Vec::new() }
    }

    /// How many numbers a tuple has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many tuples there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no tuple.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One tuple.
    pub fn tuple(&self, index: usize) -> &[u32] {
        &self.numbers[index * self.width..(index + 1) * self.width]
    }

    /// How many rows have a tuple.
    pub fn rows(&self, index: usize) -> u32 {
        self.rows[index]
    }

    /// One more tuple.
    pub fn push(&mut self, tuple: &[u32], rows: u32) {
        self.numbers.extend_from_slice(tuple);
        self.rows.push(rows);
    }

    /// The tuples with their rows.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], u32)> {
        (0..self.len()).map(|index| (self.tuple(index), self.rows[index]))
    }

    /// What the tuples take of the memory.
    pub fn size(&self) -> usize {
        (self.numbers.capacity() + self.rows.capacity()) * size_of::<u32>()
    }

    fn add_rows(&mut self, index: usize, rows: u32) -> Result<()> {
        let count = &mut self.rows[index];
        *count = count.checked_add(rows).ok_or(TOO_LARGE)?;
        Ok(())
    }
}

const TOO_LARGE: Error = Error::TooLarge { limit: SUPPRESSED - 1 };

/// Tuples in the order of their arrival, each of them once.
#[derive(Debug)]
pub(super) struct DistinctTuples {
    pub(super) tuples: Tuples,
    index: HashTable<u32>,
}

impl DistinctTuples {
    pub(super) fn new(width: usize) -> Self {
        Self { tuples: Tuples::new(width), index: HashTable::new() }
    }

    pub(super) fn find(&self, tuple: &[u32]) -> Option<u32> {
        self.index.find(hash(tuple), |number| self.tuples.tuple(*number as usize) == tuple).copied()
    }

    /// Adds rows to a tuple and returns its number.
    pub(super) fn count(&mut self, tuple: &[u32], rows: u32) -> Result<u32> {
        let hashed = hash(tuple);
        let Self { tuples, index } = self;
        if let Some(number) = index.find(hashed, |number| tuples.tuple(*number as usize) == tuple) {
            tuples.add_rows(*number as usize, rows)?;
            return Ok(*number);
        }
        let number = u32::try_from(tuples.len()).ok().filter(|number| *number < SUPPRESSED).ok_or(TOO_LARGE)?;
        tuples.push(tuple, rows);
        index.insert_unique(hashed, number, |number| hash(tuples.tuple(*number as usize)));
        Ok(number)
    }

    pub(super) fn size(&self) -> usize {
        self.tuples.size() + self.index.allocation_size()
    }
}

fn hash(tuple: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    for code in tuple {
        hasher.write_u32(*code);
    }
    hasher.finish()
}
