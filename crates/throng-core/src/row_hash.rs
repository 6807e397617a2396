//! Keyed hash of the pass-through values of a row.
//!
//! Equal rows have equal hashes, regardless of file, batch or encoding. The hash breaks ties in the order of a release,
//! and its sum over all rows is the checksum that detects lost, changed and duplicated rows.
//!
//! ```text
//!  column by column: value ──► two lanes of 64 bits ──► absorbed into the lanes of its row ──► at the end, mixed
//! ```
//!
//! A string is hashed once per batch and dictionary entry ([`DictionaryEncoder`]) and a number in a few instructions,
//! so rows need not be serialized. The finalizer mixes the lanes: without it the sum over all rows would not detect two
//! rows that exchanged a value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::datatypes::{DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt32Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};
use twox_hash::XxHash3_128;

use crate::dictionary_encode::{DictionaryEncoder, dictionary_type, is_text};
use crate::error::{Result, kernel};

/// Hashes rows of a fixed list of columns.
#[derive(Debug)]
pub struct RowHasher {
    columns: Vec<ColumnHasher>,
    compactor: DictionaryEncoder,
    seed: u64,
}

/// A 128-bit hash as two 64-bit lanes.
type HashLanes = (u64, u64);

/// Hashes the values of one column.
#[derive(Debug)]
struct ColumnHasher {
    kind: HashInput,
    /// Key that is mixed into the values.
    key: HashLanes,
    /// Odd multipliers of the lanes of a row.
    factors: HashLanes,
    /// Hash that stands for null in this column.
    null: HashLanes,
}

#[derive(Debug)]
enum HashInput {
    /// Strings, hashed as bytes.
    Text,
    /// Values of up to 64 bits, hashed as integers.
    Narrow,
    /// All other types, hashed in the Arrow row format.
    Rows(RowConverter),
}

impl RowHasher {
    /// Creates a hasher for columns of these types.
    pub fn new(types: &[DataType], seed: u64) -> Result<Self> {
        let columns = types.iter().enumerate().map(|(place, data_type)| ColumnHasher::new(data_type, place, seed));
        Ok(Self { columns: columns.collect::<Result<_>>()?, compactor: DictionaryEncoder::default(), seed })
    }

    /// Returns the hash of each row.
    pub fn hash(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u128>> {
        let Self { columns: hashers, compactor, seed } = self;
        // Filling the buffer also faults its pages in.
        let mut state: Vec<HashLanes> = std::iter::repeat_n((*seed, seed.rotate_left(32)), rows).collect();
        for (hasher, column) in hashers.iter().zip(columns) {
            let mix = |lanes: &mut HashLanes, value| *lanes = hasher.mixed(*lanes, value);
            hasher.for_each(column, compactor, &mut state, mix).map_err(kernel("hash"))?;
        }
        Ok(state.into_iter().map(finish).collect())
    }

    /// Calls `then` with each slot and the 64-bit hash of its row's value in one of the columns. Equal values of a column have
    /// equal hashes.
    pub(crate) fn for_each_value<T>(
        &mut self,
        (place, column): (usize, &ArrayRef),
        slots: &mut [T],
        mut then: impl FnMut(&mut T, u64),
    ) -> Result<()> {
        let Some(hasher) = self.columns.get(place) else { return Ok(()) };
        hasher.for_each(column, &mut self.compactor, slots, |slot, value| then(slot, value.0)).map_err(kernel("hash"))
    }
}

impl ColumnHasher {
    fn new(data_type: &DataType, place: usize, seed: u64) -> Result<Self> {
        let kind = match data_type {
            text if is_text(text) => HashInput::Text,
            DataType::Boolean => HashInput::Narrow,
            DataType::Interval(_) => HashInput::Rows(rows(data_type)?),
            narrow if narrow.primitive_width().is_some_and(|width| width <= 8) => HashInput::Narrow,
            other => HashInput::Rows(rows(other)?),
        };
        let draw = |what: u64| {
            let bytes = [seed, place as u64, what].map(u64::to_le_bytes).concat();
            let hash = XxHash3_128::oneshot(&bytes);
            (hash as u64, (hash >> 64) as u64)
        };
        let (key, factors, null) = (draw(0), draw(1), draw(2));
        Ok(Self { kind, key, factors: (factors.0 | 1, factors.1 | 1), null })
    }

    /// Calls `then` with the slot of each row and the hash of its value.
    fn for_each<T>(
        &self,
        column: &ArrayRef,
        compactor: &mut DictionaryEncoder,
        slots: &mut [T],
        then: impl FnMut(&mut T, HashLanes),
    ) -> Result<(), ArrowError> {
        match &self.kind {
            HashInput::Text => {
                let compact = match column.as_dictionary_opt::<UInt32Type>() {
                    Some(known) if column.data_type() == &dictionary_type() && known.values().len() <= known.len() => {
                        Arc::clone(column)
                    }
                    _ => compactor.compact(column)?,
                };
                let compact = compact.as_dictionary::<UInt32Type>();
                let values = compact.values().as_string::<i32>();
                let entries: Vec<HashLanes> =
                    (0..values.len()).map(|entry| self.bytes(values.value(entry).as_bytes())).collect();
                // If all rows are null, the dictionary is empty.
                let entry = |key: &u32| entries.get(*key as usize).copied().unwrap_or(self.null);
                self.zip(compact.keys().values().iter().map(entry), compact, slots, then);
            }
            HashInput::Narrow => self.narrow(column, slots, then)?,
            HashInput::Rows(converter) => {
                let rows = converter.convert_columns(std::slice::from_ref(column))?;
                self.zip(rows.iter().map(|row| self.bytes(row.data())), column, slots, then);
            }
        }
        Ok(())
    }

    /// Calls `then` with each slot and its hash, or that of null; hashes of null rows are ignored.
    fn zip<T>(
        &self,
        values: impl Iterator<Item = HashLanes>,
        column: &dyn Array,
        slots: &mut [T],
        mut then: impl FnMut(&mut T, HashLanes),
    ) {
        match column.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            None => slots.iter_mut().zip(values).for_each(|(slot, value)| then(slot, value)),
            Some(nulls) => {
                for ((slot, value), is_valid) in slots.iter_mut().zip(values).zip(&nulls) {
                    then(slot, if is_valid { value } else { self.null });
                }
            }
        }
    }

    fn narrow<T>(
        &self,
        column: &ArrayRef,
        slots: &mut [T],
        then: impl FnMut(&mut T, HashLanes),
    ) -> Result<(), ArrowError> {
        if let Some(values) = column.as_boolean_opt() {
            self.zip(values.values().iter().map(|value| self.number(value.into())), column, slots, then);
            return Ok(());
        }
        macro_rules! each {
            ($type:ty) => {{
                let bits = make_array(column.to_data().into_builder().data_type(<$type>::DATA_TYPE).build()?);
                let values = bits.as_primitive::<$type>().values().iter();
                self.zip(values.map(|value| self.number(i64::from(*value).cast_unsigned())), column, slots, then);
            }};
        }
        use arrow::datatypes::ArrowPrimitiveType;
        match column.data_type().primitive_width() {
            Some(1) => each!(Int8Type),
            Some(2) => each!(Int16Type),
            Some(4) => each!(Int32Type),
            _ => each!(Int64Type),
        }
        Ok(())
    }

    fn bytes(&self, bytes: &[u8]) -> HashLanes {
        let hash = XxHash3_128::oneshot_with_seed(self.key.0, bytes);
        (hash as u64, (hash >> 64) as u64)
    }

    /// Hashes a number. Each lane is a bijection, so distinct numbers have distinct hashes.
    #[inline]
    fn number(&self, bits: u64) -> HashLanes {
        (avalanche(bits ^ self.key.0), avalanche(bits.wrapping_add(self.key.1)))
    }

    #[inline]
    fn mixed(&self, lanes: HashLanes, value: HashLanes) -> HashLanes {
        (folded(lanes.0 ^ value.0, self.factors.0), folded(lanes.1 ^ value.1, self.factors.1))
    }
}

fn rows(data_type: &DataType) -> Result<RowConverter> {
    RowConverter::new(vec![SortField::new(data_type.clone())]).map_err(kernel("rows"))
}

/// Folded multiplication: XOR of both halves of the 128-bit product.
#[inline]
pub(crate) fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Finalizer in which every input bit flips every output bit with probability one half (that of MurmurHash3, with the
/// constants of variant 13 of [Stafford 2011]).
#[inline]
pub(crate) fn avalanche(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Mixes both lanes into each half of the hash; a bijection.
#[inline]
fn finish((low, high): HashLanes) -> u128 {
    let low = low.wrapping_add(high.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let high = high.wrapping_add(low.wrapping_mul(0xc2b2_ae3d_27d4_eb4f));
    u128::from(avalanche(high)) << 64 | u128::from(avalanche(low))
}

/// Sum of row hashes: independent of the order of rows, and different if a row is lost, changed or duplicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u128,
    rows: u64,
}

impl Checksum {
    /// Creates the checksum of `rows` rows whose hashes sum to `sum`.
    pub fn of(sum: u128, rows: u64) -> Self {
        Self { sum, rows }
    }

    /// Returns the sum of the hashes of all rows.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Adds the hashes of rows.
    pub fn add(&mut self, hashes: impl IntoIterator<Item = u128>) {
        for hash in hashes {
            self.sum = self.sum.wrapping_add(hash);
            self.rows += 1;
        }
    }

    /// Adds the rows of another checksum.
    pub fn merge(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.rows += other.rows;
    }

    /// Returns the number of added rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

#[cfg(test)]
#[path = "row_hash_tests.rs"]
mod tests;
