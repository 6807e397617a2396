//! Rows of releases as an intruder sees them, on disk.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::prelude::SessionContext;

use crate::error::JobError;

use super::buckets::{BUCKETS, BucketWriter, StoredBuckets};
use super::kernel;
use super::rows::{bucket_of, code_columns, code_fields, codes_of};

/// Columns before the values: the halves of both classes and of the other columns, a bit for each class that is known, and
/// the number of rows.
const COLUMNS: [&str; 8] =
    ["earlier 1", "earlier 2", "later 1", "later 2", "rest 1", "rest 2", "known classes", "rows"];

/// Bits of the column of known classes.
const IN_EARLIER: u64 = 1;
const IN_LATER: u64 = 2;

/// Equal rows, as an intruder sees them. Their values accompany them, and are determined by `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenRows {
    /// Class in the earlier release; `None` if they are not known to be in it.
    pub(super) earlier: Option<u128>,
    /// Class in the later release; `None` if they are not known to be in it.
    pub(super) later: Option<u128>,
    /// Hash of all released columns except the quasi-identifiers.
    pub(super) rest: u128,
    /// Number of rows.
    pub(super) rows: u64,
}

/// The class in the earlier release and in the later one of rows that are singled out together.
pub(super) type SetKey = (Option<u128>, Option<u128>);

impl SeenRows {
    /// Returns the key of the set with which they are singled out.
    pub(super) fn set(&self) -> SetKey {
        (self.earlier, self.later)
    }
}

/// How rows are distributed over buckets.
#[derive(Clone, Copy, Debug)]
pub(super) enum BucketBy {
    /// Equal rows of one class share a bucket.
    Row,
    /// Rows that are equal except for their class share a bucket.
    Rest,
    /// Rows that are singled out together share a bucket.
    Set,
}

impl BucketBy {
    fn hash(self, seen: &SeenRows) -> u128 {
        // Hashes are uniform; one of them is rotated so that the sum of equal hashes is uniform too.
        let both = |a: Option<u128>, b: Option<u128>| a.unwrap_or(0).wrapping_add(b.unwrap_or(0).rotate_left(64));
        match self {
            Self::Row => both(seen.earlier.or(seen.later), Some(seen.rest)),
            Self::Rest => seen.rest,
            Self::Set => both(seen.earlier, seen.later),
        }
    }
}

/// Rows in memory, column by column.
pub(super) struct SeenColumns {
    numbers: [Vec<u64>; COLUMNS.len()],
    values: Vec<u64>,
    buckets: Vec<u32>,
    by: BucketBy,
}

impl SeenColumns {
    fn new(by: BucketBy) -> Self {
        Self { numbers: Default::default(), values: Vec::new(), buckets: Vec::new(), by }
    }

    /// Adds rows with these values.
    pub(super) fn push(&mut self, seen: &SeenRows, values: &[u64]) {
        let known = |class: Option<u128>, bit: u64| if class.is_some() { bit } else { 0 };
        let (earlier, later) = (seen.earlier.unwrap_or(0), seen.later.unwrap_or(0));
        let bits = known(seen.earlier, IN_EARLIER) | known(seen.later, IN_LATER);
        let halves = [earlier, later, seen.rest].map(|hash| [(hash >> 64) as u64, hash as u64]);
        let numbers = halves.into_iter().flatten().chain([bits, seen.rows]);
        self.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
        self.values.extend(values);
        self.buckets.push(bucket_of(self.by.hash(seen)));
    }
}

/// Rows that are being written to buckets.
pub(super) struct SeenWriter {
    writer: BucketWriter,
    width: usize,
    by: BucketBy,
    /// Number of buckets that are used.
    buckets: usize,
}

impl SeenWriter {
    /// Creates buckets for rows with `width` values each. Results do not depend on the number of buckets.
    pub(super) fn new(width: usize, by: BucketBy, buckets: usize, session: &SessionContext) -> Result<Self, JobError> {
        let numbers = COLUMNS.into_iter().map(|name| Field::new(name, DataType::UInt64, false));
        let schema: SchemaRef = Arc::new(Schema::new(numbers.chain(code_fields(width)).collect::<Vec<_>>()));
        Ok(Self { writer: BucketWriter::new(schema, session)?, width, by, buckets: buckets.clamp(1, BUCKETS) })
    }

    /// Returns an empty set of columns for rows to be added.
    pub(super) fn columns(&self) -> SeenColumns {
        SeenColumns::new(self.by)
    }

    /// Adds rows.
    pub(super) fn push(&mut self, rows: SeenColumns) -> Result<(), JobError> {
        let mut columns: Vec<ArrayRef> =
            rows.numbers.into_iter().map(|column| Arc::new(UInt64Array::from(column)) as ArrayRef).collect();
        columns.extend(code_columns(&rows.values, self.width));
        let batch = RecordBatch::try_new(self.writer.schema(), columns).map_err(kernel)?;
        let buckets = self.buckets as u32;
        self.writer.push(batch, rows.buckets.into_iter().map(|bucket| bucket % buckets))
    }

    pub(super) fn finish(self) -> Result<StoredSeen, JobError> {
        Ok(StoredSeen { stored: self.writer.finish()?, width: self.width })
    }
}

/// Rows on disk.
pub(super) struct StoredSeen {
    stored: StoredBuckets,
    width: usize,
}

impl StoredSeen {
    /// Reads a bucket part by part, in the order in which its rows were added.
    pub(super) fn parts(&self, bucket: usize) -> impl Iterator<Item = Result<SeenPart, JobError>> {
        self.stored.pieces(bucket).map(|batch| Ok(SeenPart::new(&batch?, self.width)))
    }
}

/// A part of a bucket.
pub(super) struct SeenPart {
    rows: Vec<SeenRows>,
    values: Vec<u64>,
    width: usize,
}

impl SeenPart {
    fn new(batch: &RecordBatch, width: usize) -> Self {
        let order: Vec<u32> = (0..batch.num_rows() as u32).collect();
        let values = codes_of(batch, COLUMNS.len(), width, &order);
        let numbers: Vec<&[u64]> =
            (0..COLUMNS.len()).map(|at| batch.column(at).as_primitive::<UInt64Type>().values().as_ref()).collect();
        let seen = |row: usize| {
            let hash = |column: usize| u128::from(numbers[column][row]) << 64 | u128::from(numbers[column + 1][row]);
            let known = |bit: u64, column: usize| (numbers[6][row] & bit != 0).then(|| hash(column));
            SeenRows { earlier: known(IN_EARLIER, 0), later: known(IN_LATER, 2), rest: hash(4), rows: numbers[7][row] }
        };
        Self { rows: (0..batch.num_rows()).map(seen).collect(), values, width }
    }

    /// Returns the rows and their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SeenRows, &[u64])> {
        let values = |row: usize| &self.values[row * self.width..(row + 1) * self.width];
        self.rows.iter().enumerate().map(move |(row, seen)| (seen, values(row)))
    }
}
