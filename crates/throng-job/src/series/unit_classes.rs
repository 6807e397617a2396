//! Counts the units that a release shows in more than one class.
//!
//! The rows of a unit may be in classes of different parts of the ledger. So units are counted in separate buckets on disk.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use datafusion::prelude::SessionContext;

use crate::error::JobError;

use super::buckets::{BUCKETS, BucketWriter, reservation, reserve};
use super::kernel;
use super::rows::bucket_of;

/// Collects the classes of units: the halves of the unit, and the class.
pub(super) struct UnitClasses {
    rows: BucketWriter,
}

impl UnitClasses {
    pub(super) fn new(session: &SessionContext) -> Result<Self, JobError> {
        let number = |name: &str| Field::new(name, DataType::UInt64, false);
        let schema = Schema::new(vec![number("unit 1"), number("unit 2"), number("class")]);
        Ok(Self { rows: BucketWriter::narrow(Arc::new(schema), session)? })
    }

    /// Adds the unit and class of rows of the release.
    pub(super) fn add(&mut self, rows: impl Iterator<Item = (u128, u64)>) -> Result<(), JobError> {
        let rows: Vec<(u128, u64)> = rows.collect();
        let column = |number: fn(&(u128, u64)) -> u64| Arc::new(rows.iter().map(number).collect::<UInt64Array>());
        let columns: Vec<ArrayRef> = vec![
            column(|(unit, _)| (unit >> 64) as u64),
            column(|(unit, _)| *unit as u64),
            column(|(_, class)| *class),
        ];
        let batch = RecordBatch::try_new(self.rows.schema(), columns).map_err(kernel)?;
        self.rows.push(batch, rows.iter().map(|(unit, _)| bucket_of(*unit)))
    }

    /// Returns the number of units with rows in more than one class.
    pub(super) fn finish(self, session: &SessionContext) -> Result<u64, JobError> {
        let room = reservation(session);
        let stored = self.rows.finish()?;
        let mut count = 0;
        for bucket in 0..BUCKETS {
            reserve(&room, stored.room(bucket))?;
            let batch = stored.read(bucket)?;
            let column = |at: usize| batch.column(at).as_primitive::<UInt64Type>().values().iter().copied();
            let mut rows: Vec<(u64, u64, u64)> =
                column(0).zip(column(1)).zip(column(2)).map(|((high, low), class)| (high, low, class)).collect();
            rows.sort_unstable();
            rows.dedup();
            let units = rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
            count += units.filter(|classes| classes.len() > 1).count() as u64;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_counts_once_if_its_rows_are_in_different_classes() {
        let session = SessionContext::new();
        let mut classes = UnitClasses::new(&session).unwrap();
        let unit = |number: u128| number << 96 | 1;
        classes.add([(unit(1), 7), (unit(2), 7), (unit(2), 7), (unit(3), 7)].into_iter()).unwrap();
        classes.add([(unit(1), 8), (unit(1), 9), (unit(4), 9), (unit(3), 9)].into_iter()).unwrap();
        assert_eq!(classes.finish(&session).unwrap(), 2, "units 1 and 3");
    }
}
