//! Distinct tuples in order of arrival, with their row counts.

use std::hash::Hasher;

use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::FxHasher;

use super::SUPPRESSED;
use super::counted_tuples::CountedTuples;
use super::packing::Packing;
use super::radix::{RadixEntry, by_key};
use crate::error::{CoreError, Result};

pub(super) const TOO_LARGE: CoreError = CoreError::TooLarge { limit: SUPPRESSED - 1 };

/// Set of tuples, numbered in order of arrival.
#[derive(Debug)]
pub(super) struct DistinctTuples {
    width: usize,
    keys: TupleKeys,
    rows: Vec<u32>,
}

/// Keys by which tuples are compared.
#[derive(Debug)]
enum TupleKeys {
    /// Tuples packed into one u64 each. The index holds the key next to the number, so a lookup needs no second access.
    Packed { packing: Packing, keys: Vec<u64>, index: HashTable<(u64, u32)> },
    /// Tuples that need more than 64 bits.
    Wide { numbers: Vec<u32>, index: HashTable<u32> },
}

impl DistinctTuples {
    /// Creates an empty set. `sizes` has the number of values of each column.
    pub(super) fn new(sizes: &[usize]) -> Self {
        let keys = match Packing::of(sizes) {
            Some(packing) => TupleKeys::Packed { packing, keys: Vec::new(), index: HashTable::new() },
            None => TupleKeys::Wide { numbers: Vec::new(), index: HashTable::new() },
        };
        Self { width: sizes.len(), keys, rows: Vec::new() }
    }

    /// Returns the number of tuples.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Widens the packed keys, if necessary, to hold columns with `sizes` values.
    pub(super) fn grow(&mut self, sizes: &[usize]) {
        let TupleKeys::Packed { packing, keys, .. } = &self.keys else { return };
        if packing.fits(sizes) {
            return;
        }
        // A column that has grown is likely to grow again: reserve two more bits per column if they fit.
        let roomy: Vec<usize> = sizes.iter().map(|size| size.saturating_mul(4)).collect();
        self.keys = match Packing::of(&roomy).or_else(|| Packing::of(sizes)) {
            Some(larger) => {
                let keys: Vec<u64> =
                    keys.iter().map(|key| larger.key(&packing.tuple(*key).collect::<Vec<_>>())).collect();
                let mut index = HashTable::with_capacity(keys.len());
                for (key, number) in keys.iter().zip(0..) {
                    index.insert_unique(mix(*key), (*key, number), |(key, _)| mix(*key));
                }
                TupleKeys::Packed { packing: larger, keys, index }
            }
            None => {
                let numbers: Vec<u32> = keys.iter().flat_map(|key| packing.tuple(*key)).collect();
                let mut index = HashTable::with_capacity(keys.len());
                let hash_of = |number: &u32| hash(tuple(&numbers, self.width, *number));
                (0..keys.len() as u32).for_each(|number| {
                    index.insert_unique(hash_of(&number), number, hash_of);
                });
                TupleKeys::Wide { numbers, index }
            }
        };
    }

    /// Adds rows to a tuple and returns the number of the tuple.
    pub(super) fn count(&mut self, tuple: &[u32], rows: u32) -> Result<u32> {
        match &mut self.keys {
            TupleKeys::Packed { packing, keys, index } => {
                let key = packing.key(tuple);
                count_key(keys, index, &mut self.rows, key, rows)
            }
            TupleKeys::Wide { numbers, index } => count_wide(numbers, index, &mut self.rows, tuple, rows),
        }
    }

    /// Adds one row to each tuple, given by columns, and returns the numbers of the tuples.
    pub(super) fn count_each(&mut self, columns: &[Vec<u32>], rows: usize) -> Result<Vec<u32>> {
        match &mut self.keys {
            TupleKeys::Packed { packing, keys, index } => {
                let rows = packing.keys(columns, rows);
                rows.into_iter().map(|key| count_key(keys, index, &mut self.rows, key, 1)).collect()
            }
            TupleKeys::Wide { numbers, index } => {
                let mut tuple = vec![0; columns.len()];
                let count = |row: usize| {
                    tuple.iter_mut().zip(columns).for_each(|(slot, column)| *slot = column[row]);
                    count_wide(numbers, index, &mut self.rows, &tuple, 1)
                };
                (0..rows).map(count).collect()
            }
        }
    }

    /// Appends tuples, given by columns, and returns their numbers. Each must differ from every other tuple, past and
    /// future: they are not indexed, and [`DistinctTuples::count`] does not find them.
    pub(super) fn append_each(&mut self, columns: &[Vec<u32>], rows: usize) -> Result<Vec<u32>> {
        let first = self.rows.len();
        let end = u32::try_from(first + rows).ok().filter(|end| *end < SUPPRESSED).ok_or(TOO_LARGE)?;
        match &mut self.keys {
            TupleKeys::Packed { packing, keys, .. } => keys.extend(packing.keys(columns, rows)),
            TupleKeys::Wide { numbers, .. } => {
                let width = self.width;
                numbers.resize((first + rows) * width, 0);
                for (column, values) in columns.iter().enumerate() {
                    let slots = numbers[first * width..].iter_mut().skip(column).step_by(width);
                    slots.zip(values).for_each(|(slot, value)| *slot = *value);
                }
            }
        }
        self.rows.resize(first + rows, 1);
        Ok((first as u32..end).collect())
    }

    /// Returns the memory of the tuples, in bytes.
    pub(super) fn size(&self) -> usize {
        let keys = match &self.keys {
            TupleKeys::Packed { keys, index, .. } => keys.capacity() * size_of::<u64>() + index.allocation_size(),
            TupleKeys::Wide { numbers, index } => numbers.capacity() * size_of::<u32>() + index.allocation_size(),
        };
        keys + self.rows.capacity() * size_of::<u32>()
    }

    /// Calls `then` with the tuples and their row counts, in the given order of numbers.
    pub(super) fn for_each(&self, order: impl Iterator<Item = u32>, mut then: impl FnMut(&[u32], u32)) {
        let mut unpacked = Vec::with_capacity(self.width);
        for number in order {
            let rows = self.rows[number as usize];
            match &self.keys {
                TupleKeys::Packed { packing, keys, .. } => {
                    unpacked.clear();
                    unpacked.extend(packing.tuple(keys[number as usize]));
                    then(&unpacked, rows);
                }
                TupleKeys::Wide { numbers, .. } => then(tuple(numbers, self.width, number), rows),
            }
        }
    }

    /// Returns the tuples in the order of their numbers.
    pub(super) fn tuples(&self) -> CountedTuples {
        let mut tuples = CountedTuples::new(self.width);
        self.for_each(0..self.len() as u32, |tuple, rows| tuples.push(tuple, rows));
        tuples
    }

    /// Returns the tuples in the order of their numbers and clears the set, keeping its allocations.
    pub(super) fn take(&mut self) -> CountedTuples {
        let tuples = self.tuples();
        self.rows.clear();
        match &mut self.keys {
            TupleKeys::Packed { keys, index, .. } => {
                keys.clear();
                index.clear();
            }
            TupleKeys::Wide { numbers, index } => {
                numbers.clear();
                index.clear();
            }
        }
        tuples
    }

    /// Returns the numbers of the tuples in ascending order of content.
    pub(super) fn order(&self) -> Vec<u32> {
        match &self.keys {
            TupleKeys::Packed { packing, keys, .. } => {
                let entries = keys.iter().zip(0..).map(|(key, number)| RadixEntry { key: *key, number, rows: 0 });
                by_key(entries.collect(), packing.bits()).into_iter().map(|entry| entry.number).collect()
            }
            TupleKeys::Wide { numbers, .. } => {
                let mut order: Vec<u32> = (0..self.len() as u32).collect();
                let of = |number: &u32| tuple(numbers, self.width, *number);
                order.par_sort_unstable_by(|a, b| of(a).cmp(of(b)));
                order
            }
        }
    }
}

/// Deduplicates tuples and sums their row counts. `sizes` has the number of values of each column.
pub(crate) fn distinct_tuples<T: Iterator<Item = u32>>(
    sizes: &[usize],
    tuples: impl Iterator<Item = (T, u32)>,
) -> Result<CountedTuples> {
    let (mut distinct, mut tuple) = (DistinctTuples::new(sizes), Vec::with_capacity(sizes.len()));
    for (numbers, rows) in tuples {
        tuple.clear();
        tuple.extend(numbers);
        distinct.count(&tuple, rows)?;
    }
    Ok(distinct.tuples())
}

fn count_key(
    keys: &mut Vec<u64>,
    index: &mut HashTable<(u64, u32)>,
    counts: &mut Vec<u32>,
    key: u64,
    rows: u32,
) -> Result<u32> {
    let hashed = mix(key);
    if let Some((_, number)) = index.find(hashed, |(known, _)| *known == key) {
        add_rows(counts, *number, rows)?;
        return Ok(*number);
    }
    let number = next_number(counts, rows)?;
    keys.push(key);
    index.insert_unique(hashed, (key, number), |(key, _)| mix(*key));
    Ok(number)
}

fn count_wide(
    numbers: &mut Vec<u32>,
    index: &mut HashTable<u32>,
    counts: &mut Vec<u32>,
    counted: &[u32],
    rows: u32,
) -> Result<u32> {
    let (hashed, width) = (hash(counted), counted.len());
    if let Some(number) = index.find(hashed, |number| tuple(numbers, width, *number) == counted) {
        add_rows(counts, *number, rows)?;
        return Ok(*number);
    }
    let number = next_number(counts, rows)?;
    numbers.extend_from_slice(counted);
    index.insert_unique(hashed, number, |number| hash(tuple(numbers, width, *number)));
    Ok(number)
}

fn add_rows(counts: &mut [u32], number: u32, rows: u32) -> Result<()> {
    let count = &mut counts[number as usize];
    *count = count.checked_add(rows).ok_or(TOO_LARGE)?;
    Ok(())
}

fn next_number(counts: &mut Vec<u32>, rows: u32) -> Result<u32> {
    let number = u32::try_from(counts.len()).ok().filter(|number| *number < SUPPRESSED).ok_or(TOO_LARGE)?;
    counts.push(rows);
    Ok(number)
}

fn tuple(numbers: &[u32], width: usize, number: u32) -> &[u32] {
    &numbers[number as usize * width..(number as usize + 1) * width]
}

/// Folded multiplication: every bit of a key affects the high and the low bits.
#[inline]
fn mix(key: u64) -> u64 {
    let product = u128::from(key ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

fn hash(tuple: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    tuple.iter().for_each(|code| hasher.write_u32(*code));
    hasher.finish()
}

#[cfg(test)]
#[path = "distinct_tests.rs"]
mod tests;
