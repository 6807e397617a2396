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
//!
//! If the table is cut into parts, rows are distributed to the parts first, and the groups and shares of one part are in
//! memory at a time.

use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::interleave;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{Stream, StreamExt, TryStreamExt};
use throng_core::out_of_core::{BucketBorders, GroupsInParts, GroupsOfPart, LowestRanks, Workspace};
use throng_core::row_hash::Checksum;
use throng_core::survey::SUPPRESSED;

use super::buckets::Buckets;
use super::labels::{Form, ReleasedLabels, Run};
use super::{Lexicons, STRINGS, for_each_batch, for_each_chunk_batch, released_checksum, row_assignment};
use crate::AnonymizeError;
use crate::buffered_rows::{content, kept_column, numbers, with_numbers};
use crate::release_plan::ReleasePlan;
use crate::resources::{Resources, out_of_memory, reserve};
use crate::snapshot::Snapshot;
use crate::spill_buffer::BufferedBatches;
use crate::threads::Threads;

/// Maximum size of a bucket: the memory for rows divided by `BUCKET_SHARE`, and at most `BUCKET_BYTES`.
const BUCKET_SHARE: usize = 4;
const BUCKET_BYTES: usize = 64 << 20;

/// Maximum number of buckets; each is an open file.
const MAX_BUCKETS: usize = 512;

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
        let group_of = plan.groups_of(&mut snapshot.survey)?;
        let mut lexicons = Lexicons::new(&snapshot.row_schema());
        let mut assignment = row_assignment(&snapshot, plan, &group_of, |batch| {
            lexicons.add(std::slice::from_ref(batch));
            reserve(lexicon_room, lexicons.size(), STRINGS)
        })?;
        let mut classed = ClassedRows::new(&snapshot, plan, &lexicons);
        let mut next_group = 0;
        for stream in &snapshot.streams {
            for_each_batch(stream, &group_of, &mut next_group, |batch, groups| {
                workspace.check()?;
                let numbered = lexicons.numbered(batch, classed.buckets.schema())?;
                classed.push(&numbered, |row, hash| assignment.class(&plan.shares, groups[row], hash))
            })?;
        }
        // The input buffers are no longer needed; free their disk space.
        drop(snapshot);
        let (rows, checksum) = classed.finish(workspace)?;
        Ok((rows, lexicons, checksum))
    }

    /// Same as [`SpilledRows::new`] for a table that is cut into parts. Rows are first distributed to the parts, so that
    /// only the groups of one part are in memory at a time.
    pub(super) fn of_parts(
        snapshot: Snapshot,
        plan: &ReleasePlan,
        parts: &GroupsInParts,
        lexicon_room: &MemoryReservation,
    ) -> Result<(Self, Lexicons, Checksum), AnonymizeError> {
        let workspace = snapshot.workspace.clone();
        let mut lexicons = Lexicons::of(&snapshot)?;
        reserve(lexicon_room, lexicons.size(), STRINGS)?;
        let mut classed = ClassedRows::new(&snapshot, plan, &lexicons);
        let mut rows_of_parts = rows_of_parts(snapshot, parts, &mut lexicons, &classed)?.into_iter();
        parts.for_each_part(|_, GroupsOfPart { numbers: group_of, shares, .. }| {
            let Some(rows) = rows_of_parts.next() else { return Err(AnonymizeError::Task) };
            let group = |number: &u32| group_of[*number as usize];
            let mut ranks = LowestRanks::new(plan.key, workspace.budget("row assignment"));
            if (0..shares.groups() as u32).any(|group| shares.lends(group) > 0) {
                let mut batches = rows.read()?;
                while let Some(batch) = batches.next()? {
                    workspace.check()?;
                    ranks.add(&shares, numbers(&batch).iter().map(group).zip(content(&batch)))?;
                }
            }
            let (mut assignment, mut batches) = (ranks.finish(), rows.read()?);
            while let Some(batch) = batches.next()? {
                workspace.check()?;
                let groups = numbers(&batch);
                classed.push(&batch, |row, hash| assignment.class(&shares, group(&groups[row]), hash))?;
            }
            Ok(())
        })?;
        let (rows, checksum) = classed.finish(workspace)?;
        Ok((rows, lexicons, checksum))
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

/// Distributes the rows of a table that is cut into parts to its parts. The number of a row is the index of its group
/// among those that were routed to the part, in order of arrival.
fn rows_of_parts(
    snapshot: Snapshot,
    parts: &GroupsInParts,
    lexicons: &mut Lexicons,
    classed: &ClassedRows,
) -> Result<Vec<BufferedBatches>, AnonymizeError> {
    let (schema, most_bytes) = (classed.buckets.schema(), classed.buckets.most_bytes());
    let mut rows = Buckets::new(&snapshot.workspace, Arc::clone(schema), parts.parts(), most_bytes, "rows of parts");
    let (mut part_of, mut next) = (parts.part_of()?, vec![0_u32; parts.parts()]);
    for stream in &snapshot.streams {
        let mut of_chunk = |_| {
            let chunk = part_of.next().ok_or(AnonymizeError::Task)??;
            let number = |part: &u32| {
                let next = &mut next[*part as usize];
                *next += 1;
                (*part, *next - 1)
            };
            Ok(chunk.iter().map(number).collect::<Vec<_>>())
        };
        for_each_chunk_batch(stream, &mut of_chunk, |batch, groups: Vec<(u32, u32)>| {
            snapshot.workspace.check()?;
            let in_part = groups.iter().map(|(_, number)| *number).collect();
            let numbered = with_numbers(&lexicons.numbered(batch, schema)?, in_part)?;
            rows.push(numbered, groups.iter().map(|(part, _)| Some(*part)))
        })?;
    }
    rows.finish()
}

/// Rows on their way to the buckets of the release.
struct ClassedRows {
    borders: BucketBorders,
    buckets: Buckets,
    checksum: Checksum,
}

impl ClassedRows {
    fn new(snapshot: &Snapshot, plan: &ReleasePlan, lexicons: &Lexicons) -> Self {
        let workspace = &snapshot.workspace;
        let schema = lexicons.numbered_schema(&snapshot.row_schema());
        let bucket_bytes = (workspace.memory_for_rows() / BUCKET_SHARE).min(BUCKET_BYTES);
        let row_bytes = snapshot.row_bytes() + KEY_BYTES;
        let rows: u64 = plan.class_rows.iter().sum();
        let bucket_rows = (bucket_bytes / row_bytes).max(1024).max(2 * rows as usize / MAX_BUCKETS);
        let borders = BucketBorders::new(&plan.class_rows, bucket_rows as u64);
        let buckets = Buckets::new(workspace, schema, borders.len(), bucket_bytes / 2, "buckets");
        Self { borders, buckets, checksum: Checksum::default() }
    }

    /// Adds rows. `class` returns the class of a row, given its index and row hash.
    fn push(&mut self, rows: &RecordBatch, mut class: impl FnMut(usize, u128) -> u32) -> Result<(), AnonymizeError> {
        let hashes: Vec<u128> = content(rows).collect();
        let classes: Vec<u32> = hashes.iter().enumerate().map(|(row, hash)| class(row, *hash)).collect();
        self.checksum.merge(released_checksum(&classes, &hashes));
        let borders = &self.borders;
        let bucket = |(class, hash): (&u32, &u128)| (*class != SUPPRESSED).then(|| borders.bucket(*class, *hash));
        let placed: Vec<Option<u32>> = classes.iter().zip(&hashes).map(bucket).collect();
        self.buckets.push(with_numbers(rows, classes)?, placed.into_iter())
    }

    fn finish(self, workspace: Resources) -> Result<(SpilledRows, Checksum), AnonymizeError> {
        Ok((SpilledRows { buckets: Arc::new(self.buckets.finish()?), workspace }, self.checksum))
    }
}

/// A bucket in memory, sorted.
struct SortedBucket {
    batches: Vec<RecordBatch>,
    /// Batch, row and class, in release order.
    order: Vec<(u32, u32, u32)>,
    threads: Threads,
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
        Ok(Self { batches, order, threads: workspace.threads().clone(), _reservation: reservation })
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
            let kept = |kept| {
                let column = |batch| RecordBatch::column(batch, kept_column(kept)).as_ref();
                let arrays: Vec<&dyn Array> = self.batches.iter().map(column).collect();
                interleave(&arrays, &places).map_err(|source| AnonymizeError::Kernel("interleave", source))
            };
            let batch = self.threads.run(|| labels.batch(form, &runs, kept));
            batch.map_err(DataFusionError::from)
        })
    }
}
