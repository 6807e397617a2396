//! Dictionary-encodes the strings of a batch, so that later steps process each distinct string once.
//!
//! A Parquet reader returns the strings of dictionary pages as views, and equal views are equal strings: comparing 16
//! bytes avoids reading the string. Strings of up to 12 bytes are inlined in their views. A longer string may be stored
//! at several offsets, and then has several dictionary entries. Entries are therefore *mostly* distinct; callers that
//! need distinct entries must compare their bytes.

use std::hash::Hasher;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, GenericStringArray, OffsetSizeTrait, StringArray, StringBuilder,
    StringViewArray, UInt32Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, UInt32Type};
use arrow::error::ArrowError;
use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Returns the data type of dictionary-encoded strings.
pub fn dictionary_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
}

/// Returns whether a column of this type holds strings, plain or dictionary-encoded.
pub fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_text(value),
        other => other.is_string(),
    }
}

/// Number of cache slots for the views of a batch; a power of two.
const SLOTS: usize = 4096;

/// Maximum number of probed slots. A view that finds all of them taken becomes a new entry; a batch with that many
/// distinct views gains little from deduplication.
const PROBES: usize = 8;

/// Dictionary-encodes string columns, batch by batch.
#[derive(Debug)]
pub struct DictionaryEncoder {
    slots: Vec<CacheSlot>,
    /// Number of the current batch. Slots of earlier batches are free.
    batch: u32,
    by_bytes: HashTable<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CacheSlot {
    view: u128,
    batch: u32,
    entry: u32,
}

impl Default for DictionaryEncoder {
    fn default() -> Self {
        Self { slots: vec![CacheSlot::default(); SLOTS], batch: 0, by_bytes: HashTable::new() }
    }
}

impl DictionaryEncoder {
    /// Encodes strings as [`dictionary_type`], without unused entries; returns other columns unchanged.
    pub fn compact(&mut self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match array.data_type() {
            DataType::Utf8View => self.views(array.as_string_view()),
            DataType::Utf8 => self.strings(array.as_string::<i32>()),
            DataType::LargeUtf8 => self.strings(array.as_string::<i64>()),
            DataType::Dictionary(_, value) if value.is_string() => self.dictionary(array),
            DataType::Dictionary(_, value) if is_text(value) => self.compact(&cast(array, value)?),
            _ => Ok(Arc::clone(array)),
        }
    }

    fn views(&mut self, array: &StringViewArray) -> Result<ArrayRef, ArrowError> {
        self.batch = match self.batch.checked_add(1) {
            Some(next) => next,
            None => {
                self.slots.fill(CacheSlot::default());
                1
            }
        };
        let mut first = Vec::new();
        let keys: Vec<u32> = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => (0..).zip(array.views().iter()).map(|(row, view)| self.entry(*view, row, &mut first)).collect(),
            Some(nulls) => {
                let rows = (0..).zip(array.views().iter()).zip(nulls.iter());
                rows.map(|((row, view), is_valid)| if is_valid { self.entry(*view, row, &mut first) } else { 0 })
                    .collect()
            }
        };
        let bytes = first.iter().map(|row| array.views()[*row as usize] as u32 as usize).sum();
        check_offsets(bytes)?;
        let mut values = StringBuilder::with_capacity(first.len(), bytes);
        first.iter().for_each(|row| values.append_value(array.value(*row as usize)));
        dictionary(keys, array.nulls(), values.finish())
    }

    /// Returns the entry of a view. `first` holds the first row of each entry.
    #[inline]
    fn entry(&mut self, view: u128, row: u32, first: &mut Vec<u32>) -> u32 {
        let start = slot(view);
        for at in start..start + PROBES {
            let slot = &mut self.slots[at % SLOTS];
            if slot.batch != self.batch {
                *slot = CacheSlot { view, batch: self.batch, entry: first.len() as u32 };
                break;
            }
            if slot.view == view {
                return slot.entry;
            }
        }
        first.push(row);
        first.len() as u32 - 1
    }

    fn strings<O: OffsetSizeTrait>(&mut self, array: &GenericStringArray<O>) -> Result<ArrayRef, ArrowError> {
        self.by_bytes.clear();
        let mut first: Vec<u32> = Vec::new();
        let mut entry = |row: usize| {
            let value = array.value(row);
            let known = |entry: &u32| array.value(first[*entry as usize] as usize) == value;
            if let Some(entry) = self.by_bytes.find(hash(value), known) {
                return *entry;
            }
            let entry = first.len() as u32;
            first.push(row as u32);
            self.by_bytes.insert_unique(hash(value), entry, |entry| hash(array.value(first[*entry as usize] as usize)));
            entry
        };
        let keys = (0..array.len()).map(|row| if array.is_valid(row) { entry(row) } else { 0 }).collect();
        check_offsets(first.iter().map(|row| array.value(*row as usize).len()).sum())?;
        let values: StringArray = first.iter().map(|row| Some(array.value(*row as usize))).collect();
        dictionary(keys, array.nulls(), values)
    }

    fn dictionary(&mut self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let known = array.as_any_dictionary();
        let nulls = array.logical_nulls();
        if known.values().is_empty() {
            return dictionary(vec![0; array.len()], nulls.as_ref(), StringArray::new_null(0));
        }
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let mut entry_of: Vec<Option<u32>> = vec![None; known.values().len()];
        let mut used: Vec<u32> = Vec::new();
        let mut entry = |key: usize| {
            *entry_of[key].get_or_insert_with(|| {
                used.push(key as u32);
                used.len() as u32 - 1
            })
        };
        let keys = known.normalized_keys();
        let keys = keys.iter().enumerate().map(|(row, key)| if is_valid(row) { entry(*key) } else { 0 }).collect();
        let values = cast(&take(known.values(), &UInt32Array::from(used), None)?, &DataType::Utf8)?;
        dictionary(keys, nulls.as_ref(), values.as_string::<i32>().clone())
    }
}

/// Builds a dictionary array. Keys of null rows are ignored.
fn dictionary(keys: Vec<u32>, nulls: Option<&NullBuffer>, values: StringArray) -> Result<ArrayRef, ArrowError> {
    let keys = UInt32Array::try_new(keys.into(), nulls.cloned())?;
    Ok(Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(values))?))
}

/// Checks that `bytes` can be addressed by 32-bit offsets.
fn check_offsets(bytes: usize) -> Result<(), ArrowError> {
    i32::try_from(bytes).map(|_| ()).map_err(|_| ArrowError::OffsetOverflowError(bytes))
}

/// Returns the first slot to probe for a view.
#[inline]
fn slot(view: u128) -> usize {
    let (low, high) = (view as u64, (view >> 64) as u64);
    let mixed = (low ^ high.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 52) as usize
}

fn hash(value: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(value.as_bytes());
    hasher.finish()
}

#[cfg(test)]
#[path = "dictionary_encode_tests.rs"]
mod tests;
