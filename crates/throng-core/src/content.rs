//! A keyed hash of what a row shows besides its quasi-identifiers.
//!
//! Equal rows have equal hashes, whatever file, batch or encoding they came in. The hash breaks ties in the order of a
//! release, and its sum over all rows tells whether every row came out once.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use twox_hash::XxHash3_128;

use crate::error::{Result, kernel};

/// Hashes rows of certain columns.
#[derive(Debug)]
pub struct ContentHasher {
    converter: Option<RowConverter>,
    seed: u64,
}

impl ContentHasher {
    /// A hasher for columns of these types.
    pub fn new(types: &[DataType], seed: u64) -> Result<Self> {
        let fields = types.iter().map(|data_type| SortField::new(data_type.clone())).collect::<Vec<_>>();
        let converter = match fields.is_empty() {
            true => None,
            false => Some(RowConverter::new(fields).map_err(kernel("rows"))?),
        };
        Ok(Self { converter, seed })
    }

    /// The hash of each row.
    pub fn hash(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u128>> {
        let Some(converter) = &self.converter else { return Ok(vec![0; rows]) };
        let encoded = converter.convert_columns(columns).map_err(kernel("rows"))?;
        Ok(encoded.iter().map(|row| XxHash3_128::oneshot_with_seed(self.seed, row.data())).collect())
    }
}

/// The sum of row hashes: the same for the same rows in any order, and different when a row is lost, changed or doubled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u128,
    rows: u64,
}

impl Checksum {
    /// Adds rows.
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

    /// How many rows were added.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
