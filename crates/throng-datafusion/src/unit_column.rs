//! The unit of privacy of each row, as a keyed hash of the columns that identify it.
//!
//! The hash is surveyed, so that k and p count units, and it accompanies every row until the release has been verified.
//! It is never part of what a query or a reader of the release sees. Two units with the same hash count as one, which
//! makes a class look smaller than it is.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::DataType;
use throng_core::CoreError;
use throng_core::columns::{SensitiveCoding, SensitiveSpec};
use throng_core::row_hash::RowHasher;
use throng_policy::{BoundColumn, BoundUnit, UNIT_COLUMN, UnitNulls};

use crate::AnonymizeError;

/// Derives the units of batches.
#[derive(Clone, Debug)]
pub(crate) struct UnitColumn {
    /// Indices of the columns that identify a unit.
    places: Vec<usize>,
    /// Their names, for errors.
    names: Vec<String>,
    nulls: UnitNulls,
    seed: u64,
}

impl UnitColumn {
    /// Creates the column of a bound unit; `place` returns the index of an input column in the batches that are read.
    pub(crate) fn new(unit: &BoundUnit, seed: u64, place: impl FnMut(&String) -> usize) -> Self {
        let names: Vec<String> = unit.columns.iter().map(|column| column.name.clone()).collect();
        let places = names.iter().map(place).collect();
        Self { places, names, nulls: unit.nulls, seed: seed.rotate_left(17) ^ UNIT_SALT }
    }

    /// Returns the unit of each row; null for a row in which a column of the unit is null.
    pub(crate) fn of(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef, AnonymizeError> {
        let own: Vec<ArrayRef> = self.places.iter().map(|place| Arc::clone(&columns[*place])).collect();
        let types: Vec<DataType> = own.iter().map(|column| column.data_type().clone()).collect();
        let hashes = RowHasher::new(&types, self.seed)?.hash(&own, rows)?;
        let nulls = own.iter().map(|column| column.logical_nulls());
        let nulls = nulls.fold(None, |known, nulls| NullBuffer::union(known.as_ref(), nulls.as_ref()));
        let without = nulls.as_ref().map_or(0, NullBuffer::null_count);
        if without > 0 && self.nulls == UnitNulls::Error {
            return Err(CoreError::Null { column: self.names.join("`, `"), rows: without }.into());
        }
        Ok(Arc::new(UInt64Array::new(hashes.into_iter().map(|hash| hash as u64).collect(), nulls)))
    }
}

/// Separates the hash of units from that of rows.
const UNIT_SALT: u64 = 0x756e_6974_206f_6620;

/// Returns the derived column, after all columns of the input.
pub(crate) fn unit_source() -> BoundColumn {
    BoundColumn { name: UNIT_COLUMN.to_owned(), index: usize::MAX, data_type: DataType::UInt64 }
}

/// Returns how the survey counts units.
pub(crate) fn unit_spec() -> (SensitiveSpec, DataType) {
    (SensitiveSpec { facets: vec![SensitiveCoding::Units], ..SensitiveSpec::plain(UNIT_COLUMN) }, DataType::UInt64)
}
