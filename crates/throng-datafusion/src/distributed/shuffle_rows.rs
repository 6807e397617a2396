//! Schema of rows that are shuffled to their files.

use std::ops::RangeInclusive;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryArray, RecordBatch, UInt32Array, new_null_array,
};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::common::hash_utils::create_hashes;
use datafusion::physical_plan::repartition::REPARTITION_RANDOM_STATE;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::passthrough::passthrough_columns;

/// Sentinel class id of a control row that carries the sum of the row hashes that one reader has sent.
pub const CHECKSUM_ROW: u32 = u32::MAX;

/// Sentinel class id of a control row that carries the number of bytes that a task of [`ASSIGN_TASK`](super::ASSIGN_TASK) received.
pub const BYTES_ROW: u32 = u32::MAX - 1;

/// Sentinel group id of a row whose class is known.
pub(super) const NO_GROUP: u32 = u32::MAX;

/// Size of a row hash. Hashes are encoded big-endian, so that bytes sort like numbers.
const HASH_BYTES: i32 = 16;

/// Values that the engine's hash partitioning sends to different partitions.
///
/// Hashing the numbers of files or groups directly would distribute them unevenly over few partitions. This only
/// affects balance, never the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionKeys {
    keys: Vec<u32>,
}

impl PartitionKeys {
    /// Finds a value for each of `partitions` partitions.
    pub(super) fn for_partitions(partitions: usize) -> Self {
        let candidates = Arc::new(UInt32Array::from_iter_values(0..(64 * partitions as u32).max(64))) as ArrayRef;
        let mut hashes = vec![0; candidates.len()];
        let mut keys = vec![None; partitions.max(1)];
        if create_hashes([&candidates], REPARTITION_RANDOM_STATE.random_state(), &mut hashes).is_ok() {
            for (value, hash) in (0..).zip(hashes) {
                keys[hash as usize % partitions.max(1)].get_or_insert(value);
            }
        }
        Self { keys: keys.iter().zip(0..).map(|(key, number)| key.unwrap_or(number)).collect() }
    }

    pub(super) fn of_keys(keys: Vec<u32>) -> Self {
        Self { keys: if keys.is_empty() { vec![0] } else { keys } }
    }

    pub(super) fn keys(&self) -> &[u32] {
        &self.keys
    }

    pub(super) fn key(&self, number: u64) -> u32 {
        self.keys[(number % self.keys.len() as u64) as usize]
    }
}

/// Assignment of released rows to files: `rows_per_file` rows each, in release order.
#[derive(Clone, Debug)]
pub struct FileRanges {
    /// Cumulative number of rows by class.
    ends: Vec<u64>,
    rows_per_file: u64,
}

impl FileRanges {
    pub(super) fn new(class_rows: &[u64], rows_per_file: u64) -> Self {
        let mut total = 0;
        let end = |rows: &u64| {
            total += rows;
            total
        };
        Self { ends: class_rows.iter().map(end).collect(), rows_per_file: rows_per_file.max(1) }
    }

    /// Returns the number of files.
    pub fn len(&self) -> u64 {
        self.ends.last().map_or(0, |rows| rows.div_ceil(self.rows_per_file))
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the position of the first row of a class in the release, or `None` for an unknown class.
    pub fn start(&self, class: u32) -> Option<u64> {
        let end = self.ends.get(class as usize)?;
        Some((class as usize).checked_sub(1).map_or(0, |before| self.ends[before]).min(*end))
    }

    /// Returns the range of release positions of a file.
    pub fn rows(&self, file: u32) -> std::ops::Range<u64> {
        let first = u64::from(file) * self.rows_per_file;
        first..(first + self.rows_per_file).min(self.ends.last().copied().unwrap_or(0))
    }

    /// Returns the files that hold rows of a class.
    pub(super) fn of_class(&self, class: u32) -> Option<RangeInclusive<u32>> {
        let (start, end) = (self.start(class)?, self.ends[class as usize]);
        (start < end).then(|| (start / self.rows_per_file) as u32..=((end - 1) / self.rows_per_file) as u32)
    }
}

fn kept_fields(anonymizer: &Anonymizer) -> Vec<Field> {
    let kept = passthrough_columns(anonymizer.binding());
    let field = |(place, kept): (usize, &crate::passthrough::PassthroughColumn)| {
        Field::new(format!("kept_{place}"), kept.field(anonymizer.input_schema()).data_type().clone(), true)
    };
    kept.iter().enumerate().map(field).collect()
}

fn schema(numbers: &[&str], anonymizer: &Anonymizer) -> SchemaRef {
    let mut fields: Vec<Field> = numbers.iter().map(|name| Field::new(*name, DataType::UInt32, false)).collect();
    fields.push(Field::new("content", DataType::FixedSizeBinary(HASH_BYTES), false));
    fields.extend(kept_fields(anonymizer));
    Arc::new(Schema::new(fields))
}

/// Schema of rows that are shuffled to the row assignment: with their class, or with their group if the class is not
/// known yet.
pub(super) fn routed_schema(anonymizer: &Anonymizer) -> SchemaRef {
    schema(&["key", "group", "class"], anonymizer)
}

/// Schema of rows that are shuffled to their files.
pub(super) fn assigned_schema(anonymizer: &Anonymizer) -> SchemaRef {
    schema(&["key", "file", "class"], anonymizer)
}

pub(super) fn hashes(content: &[u128]) -> Result<ArrayRef, AnonymizeError> {
    let bytes: Vec<u8> = content.iter().flat_map(|hash| hash.to_be_bytes()).collect();
    let array = FixedSizeBinaryArray::try_new(HASH_BYTES, Buffer::from_vec(bytes), None);
    Ok(Arc::new(array.map_err(|source| AnonymizeError::Kernel("hashes", source))?))
}

/// Builds a control row that carries `number`.
pub(super) fn control_row(routed: &SchemaRef, class: u32, number: u128) -> Result<RecordBatch, AnonymizeError> {
    let mut columns: Vec<ArrayRef> =
        [0, NO_GROUP, class].map(|number| Arc::new(UInt32Array::from(vec![number])) as ArrayRef).into();
    columns.push(hashes(&[number])?);
    columns.extend(routed.fields()[4..].iter().map(|field| new_null_array(field.data_type(), 1)));
    RecordBatch::try_new(Arc::clone(routed), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// Returns the size of the rows of a batch, without buffers shared with other slices.
pub fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0) as u64).sum()
}

/// Accessors of routed or assigned rows.
pub struct ShuffledRows<'a>(pub &'a RecordBatch);

impl ShuffledRows<'_> {
    fn numbers(&self, column: usize) -> &[u32] {
        self.0.column(column).as_primitive::<UInt32Type>().values()
    }

    /// Returns the group of each row. Valid before the row assignment; afterwards the column holds files.
    pub(super) fn groups(&self) -> &[u32] {
        self.numbers(1)
    }

    /// Returns the file of each row.
    pub fn files(&self) -> &[u32] {
        self.numbers(1)
    }

    /// Returns the class of each row.
    pub fn classes(&self) -> &[u32] {
        self.numbers(2)
    }

    /// Returns the row hash of each row.
    pub fn content(&self) -> impl Iterator<Item = u128> {
        let hashes = self.0.column(3).as_fixed_size_binary();
        hashes.iter().map(|hash| hash.and_then(|hash| hash.try_into().ok()).map_or(0, u128::from_be_bytes))
    }

    /// Returns the pass-through columns.
    pub fn kept(&self) -> &[ArrayRef] {
        &self.0.columns()[4..]
    }
}
