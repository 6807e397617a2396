//! Spilled rows of a release, in buckets on disk that each fit into memory.
//!
//! ```text
//!  rows by arrival ──► group ──► class ──► bucket: a range of classes, or of hashes within a large class
//!                        │ shared groups: by a keyed hash (throng_core::key::ReleaseKey)
//!                        ▼
//!  bucket by bucket: read, sort by class and hash, emit
//! ```
//!
//! Class sizes are known before any row is moved, so bucket boundaries are chosen by size, and the release is the
//! concatenation of the sorted buckets. No merge is needed.

use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{interleave, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{Stream, StreamExt, TryStreamExt};
use throng_core::row_hash::Checksum;

use super::labels::{Form, ReleasedLabels, Run};
use super::row_assignment::RowAssignment;
use super::{Lexicons, STRINGS, for_each_batch, released_checksum};
use crate::AnonymizeError;
use crate::buffered_rows::{content, kept_column, numbers, with_numbers};
use crate::release_plan::ReleasePlan;
use crate::resources::{Resources, out_of_memory, reserve};
use crate::snapshot::Snapshot;
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};

/// Maximum size of a bucket: the memory for rows divided by the first number, and at most the second.
const BUCKET_SHARE: usize = 4;
const BUCKET_BYTES: usize = 64 << 20;

/// Maximum number of buckets; each is an open file.
const MOST_BUCKETS: usize = 256;

/// Memory per row to sort a bucket: class, hash, batch and row, and the resulting order.
const KEY_BYTES: usize = 48;

/// Spilled rows. Buckets are in release order; rows within a bucket are not.
pub(super) struct SpilledRows {
    buckets: Arc<Vec<BufferedBatches>>,
    workspace: Resources,
}

impl SpilledRows {
    /// Assigns the rows of a snapshot to classes and distributes them to buckets.
    pub(super) fn new(
        mut snapshot: Snapshot,
        plan: &ReleasePlan,
        lexicon_room: &MemoryReservation,
    ) -> Result<(Self, Lexicons, Checksum), AnonymizeError> {
        let workspace = snapshot.workspace.clone();
        let group_of = plan.groups_of(&mut snapshot)?;
        let mut lexicons = Lexicons::new(&snapshot.row_schema());
        let mut assignment = RowAssignment::new(&snapshot, plan, &group_of, |batch| {
            lexicons.add(batch);
            reserve(lexicon_room, lexicons.size(), STRINGS)
        })?;
        let schema = lexicons.numbered_schema(&snapshot.row_schema());
        let bucket_bytes = (workspace.memory_for_rows() / BUCKET_SHARE).min(BUCKET_BYTES);
        let row_bytes = snapshot.row_bytes() + KEY_BYTES;
        let rows: u64 = plan.class_rows.iter().sum();
        let bucket_rows = (bucket_bytes / row_bytes).max(1024).max(2 * rows as usize / MOST_BUCKETS);
        let borders = Borders::new(&plan.class_rows, bucket_rows as u64);
        let waiting_rows = bucket_bytes / row_bytes / borders.len().max(1);
        let mut buckets = Buckets::new(&workspace, Arc::clone(&schema), borders.len(), waiting_rows);
        let (mut checksum, mut next_group) = (Checksum::default(), 0);
        for stream in &snapshot.streams {
            for_each_batch(stream, snapshot.width(), &group_of, &mut next_group, |batch, groups| {
                workspace.check()?;
                let hashes: Vec<u128> = content(batch).collect();
                let classes: Vec<u32> = groups
                    .iter()
                    .zip(&hashes)
                    .map(|(group, hash)| assignment.class(&plan.shares, *group, *hash))
                    .collect();
                checksum.merge(released_checksum(&classes, &hashes));
                let bucket = |row: usize| borders.bucket(classes[row], hashes[row]);
                let mut rows: Vec<(u32, u32)> = (0..classes.len())
                    .filter(|row| classes[*row] != throng_core::survey::SUPPRESSED)
                    .map(|row| (bucket(row), row as u32))
                    .collect();
                rows.sort_unstable();
                let classed = with_numbers(&lexicons.numbered(batch, &schema)?, classes.clone())?;
                for run in rows.chunk_by(|a, b| a.0 == b.0) {
                    let indices: UInt32Array = run.iter().map(|(_, row)| Some(*row)).collect();
                    let taken = take_record_batch(&classed, &indices)
                        .map_err(|source| AnonymizeError::Kernel("take", source))?;
                    buckets.push(run[0].0 as usize, taken)?;
                }
                Ok(())
            })?;
        }
        // The input buffers are no longer needed; free their disk space.
        drop(snapshot);
        Ok((Self { buckets: Arc::new(buckets.finish()?), workspace }, lexicons, checksum))
    }

    /// Streams all rows, bucket by bucket.
    pub(super) fn stream(
        &self,
        labels: Arc<ReleasedLabels>,
        form: Form,
        batch_rows: usize,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> + use<> {
        let (buckets, workspace) = (Arc::clone(&self.buckets), self.workspace.clone());
        let sorted = move |number: usize| {
            let (buckets, workspace, labels) = (Arc::clone(&buckets), workspace.clone(), Arc::clone(&labels));
            async move {
                let read = move || SortedBucket::read(&buckets[number], &workspace);
                let bucket = SpawnedTask::spawn_blocking(read).await.map_err(|_| AnonymizeError::Task)??;
                Ok::<_, DataFusionError>(bucket.stream(labels, form, batch_rows))
            }
        };
        futures::stream::iter(0..self.buckets.len()).then(sorted).try_flatten()
    }
}

/// Lower bounds of buckets: a class, or a row hash within a large class.
#[derive(Debug, PartialEq, Eq)]
struct Borders {
    /// First class and lowest row hash of each bucket, ascending.
    first: Vec<(u32, u128)>,
}

impl Borders {
    fn new(class_rows: &[u64], bucket_rows: u64) -> Self {
        let mut first = Vec::new();
        let mut filled = u64::MAX;
        for (class, rows) in (0_u32..).zip(class_rows) {
            if *rows > bucket_rows {
                // Row hashes are uniform, so equal ranges hold about equally many rows.
                let pieces = u128::from(rows.div_ceil(bucket_rows));
                let step = u128::MAX / pieces;
                first.extend((0..pieces).map(|piece| (class, piece * step)));
                filled = u64::MAX;
            } else if filled.saturating_add(*rows) > bucket_rows {
                first.push((class, 0));
                filled = *rows;
            } else {
                filled += rows;
            }
        }
        Self { first }
    }

    fn len(&self) -> usize {
        self.first.len()
    }

    fn bucket(&self, class: u32, hash: u128) -> u32 {
        self.first.partition_point(|first| *first <= (class, hash)) as u32 - 1
    }
}

/// Buckets that are being written.
struct Buckets {
    stores: Vec<SpillBuffer>,
    waiting: Vec<Vec<RecordBatch>>,
    most: usize,
    schema: SchemaRef,
}

impl Buckets {
    /// Creates empty buckets. About `waiting_rows` rows of each are buffered before they are written.
    fn new(workspace: &Resources, schema: SchemaRef, buckets: usize, waiting_rows: usize) -> Self {
        // The rows did not fit into memory, so buckets are written to disk from the start.
        let allowance = SharedQuota::new(0);
        let store = |_| SpillBuffer::new(workspace, Arc::clone(&schema), &allowance, "buckets");
        let stores = (0..buckets).map(store).collect();
        Self { stores, waiting: vec![Vec::new(); buckets], most: waiting_rows.clamp(1, 8192), schema }
    }

    fn push(&mut self, bucket: usize, rows: RecordBatch) -> Result<(), AnonymizeError> {
        self.waiting[bucket].push(rows);
        let waiting: usize = self.waiting[bucket].iter().map(RecordBatch::num_rows).sum();
        if waiting >= self.most { self.write(bucket) } else { Ok(()) }
    }

    fn write(&mut self, bucket: usize) -> Result<(), AnonymizeError> {
        let waiting = std::mem::take(&mut self.waiting[bucket]);
        let rows = datafusion::arrow::compute::concat_batches(&self.schema, &waiting);
        self.stores[bucket].push(rows.map_err(|source| AnonymizeError::Kernel("concat", source))?)
    }

    fn finish(mut self) -> Result<Vec<BufferedBatches>, AnonymizeError> {
        for bucket in 0..self.stores.len() {
            self.write(bucket)?;
        }
        self.stores.into_iter().map(SpillBuffer::finish).collect()
    }
}

/// A bucket in memory, sorted.
struct SortedBucket {
    batches: Vec<RecordBatch>,
    /// Batch, row and class, in release order.
    order: Vec<(u32, u32, u32)>,
    _reservation: MemoryReservation,
}

impl SortedBucket {
    fn read(stored: &BufferedBatches, workspace: &Resources) -> Result<Self, AnonymizeError> {
        let reservation = workspace.reservation("bucket");
        let full = |error| out_of_memory(error, "the rows of a few classes");
        reservation.try_grow(stored.bytes()).map_err(full)?;
        let (mut batches, mut keys) = (Vec::new(), Vec::new());
        let mut reader = stored.read()?;
        while let Some(batch) = reader.next()? {
            reservation.try_grow(batch.num_rows() * KEY_BYTES).map_err(full)?;
            let number = batches.len() as u32;
            let of_batch = numbers(&batch).iter().zip(content(&batch)).zip(0_u32..);
            keys.extend(of_batch.map(|((class, hash), row)| (*class, hash, number, row)));
            batches.push(batch);
        }
        keys.sort_unstable();
        let order = keys.into_iter().map(|(class, _, batch, row)| (batch, row, class)).collect();
        Ok(Self { batches, order, _reservation: reservation })
    }

    fn stream(
        self,
        labels: Arc<ReleasedLabels>,
        form: Form,
        batch_rows: usize,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> {
        let rows = self.order.len();
        let firsts = (0..rows).step_by(batch_rows);
        futures::stream::iter(firsts).map(move |first| {
            let order = &self.order[first..rows.min(first + batch_rows)];
            let runs = order.chunk_by(|a, b| a.2 == b.2).map(|run| Run { class: run[0].2, rows: run.len() });
            let runs: Vec<Run> = runs.collect();
            let places: Vec<(usize, usize)> =
                order.iter().map(|(batch, row, _)| (*batch as usize, *row as usize)).collect();
            let batch = labels.batch(form, &runs, |kept| {
                let column = |batch| RecordBatch::column(batch, kept_column(kept)).as_ref();
                let arrays: Vec<&dyn Array> = self.batches.iter().map(column).collect();
                interleave(&arrays, &places).map_err(|source| AnonymizeError::Kernel("interleave", source))
            });
            batch.map_err(DataFusionError::from)
        })
    }
}

#[cfg(test)]
#[path = "spilled_tests.rs"]
mod tests;
