//! Rows of a release in memory, with random access to ranges.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{FutureExt, Stream, StreamExt};
use rayon::prelude::*;
use throng_core::global_dictionary::GlobalDictionary;
use throng_core::recode::ReleaseOrder;
use throng_core::row_hash::Checksum;

use super::columns::{KeptColumn, Wanted};
use super::labels::{Form, ReleasedLabels, Run};
use super::{Lexicons, released_checksum, visit_batches};
use crate::AnonymizeError;
use crate::buffered_rows::{content, kept_column, numbers};
use crate::release_plan::ReleasePlan;
use crate::snapshot::Snapshot;
use crate::threads::Threads;

/// Memory per row besides its pass-through columns: group, row hash, class and position.
pub(super) const ROW_BYTES: usize = 28;

/// Memory per row of a shared group during the row assignment.
const DEALT_BYTES: usize = 48;

/// Memory per row after ordering: its position.
const ORDER_BYTES: usize = 4;

/// Memory per string without a global dictionary: its view.
const VIEW_BYTES: usize = 16;

/// Rows in memory, and their release order.
pub(super) struct HeldRows {
    order: ScalarBuffer<u32>,
    class_ends: Vec<u32>,
    columns: Vec<KeptColumn>,
    batch_rows: BatchRows,
    threads: Threads,
    /// Memory for rows and order.
    _reservations: Vec<MemoryReservation>,
}

impl HeldRows {
    /// Reserves memory for ordering the rows of a snapshot. Returns `None` if the rows were spilled or are too many, or
    /// if the pool refuses.
    pub(super) fn room(snapshot: &Snapshot, plan: &ReleasePlan, lexicons: &Lexicons) -> Option<MemoryReservation> {
        let rows = snapshot.kept_rows();
        if snapshot.is_spilled() || u32::try_from(rows).is_err() {
            return None;
        }
        let reservation = snapshot.workspace.reservation("order");
        let shares = (0..plan.shares.groups() as u32).map(|group| plan.shares.of(group));
        let dealt: u64 = shares.filter(|shares| shares.len() > 1).flatten().map(|share| u64::from(share.rows)).sum();
        let bytes = rows as usize * (ROW_BYTES + lexicons.scattered() * VIEW_BYTES) + dealt as usize * DEALT_BYTES;
        reservation.try_grow(bytes).is_ok().then_some(reservation)
    }

    /// Assigns the rows of a snapshot to classes and orders them.
    pub(super) fn new(
        mut snapshot: Snapshot,
        room: MemoryReservation,
        plan: &ReleasePlan,
        lexicons: Lexicons,
    ) -> Result<(Self, Checksum), AnonymizeError> {
        let rows = snapshot.kept_rows() as usize;
        let threads = snapshot.workspace.threads().clone();
        let group_of = plan.groups_of(&mut snapshot.survey)?;
        let (groups, hashes) = groups_and_hashes(&snapshot, &group_of, rows)?;
        let (mut batches, mut reservations) = (Vec::new(), vec![room]);
        for stream in snapshot.streams {
            let (held, reservation) = stream.rows.into_held();
            batches.extend(held);
            reservations.push(reservation);
        }
        let batch_rows = BatchRows::new(batches.iter().map(RecordBatch::num_rows));
        let order = || {
            let placed = ReleaseOrder::new(&plan.shares, &plan.class_rows, &groups, &hashes, plan.key);
            #[cfg(feature = "leaky")]
            let placed = crate::leaky::keep_arrival(placed);
            let checksum = released_checksum(&placed.class_of, &hashes);
            (placed.rows, placed.class_ends, checksum)
        };
        let ((order, class_ends, checksum), columns) = rayon::join(order, || kept_columns(batches, lexicons));
        let columns = columns?;
        drop((groups, hashes));
        let scattered = columns.iter().filter(|column| column.is_scattered()).count();
        reservations[0].resize(rows * (ORDER_BYTES + scattered * VIEW_BYTES));
        let order = order.into();
        Ok((Self { order, class_ends, columns, batch_rows, threads, _reservations: reservations }, checksum))
    }

    /// Streams all rows; `ahead` batches are built concurrently.
    pub(super) fn stream(
        rows: Arc<Self>,
        labels: Arc<ReleasedLabels>,
        form: Form,
        batch_rows: usize,
        ahead: usize,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> {
        let total = rows.order.len();
        let ranges = (0..total).step_by(batch_rows).map(move |first| first..total.min(first + batch_rows));
        let batch = move |range| {
            let (rows, labels) = (Arc::clone(&rows), Arc::clone(&labels));
            let built = move || rows.threads.run(|| rows.batch(range, &labels, form));
            SpawnedTask::spawn_blocking(built).map(|batch| {
                batch.map_err(|_| DataFusionError::from(AnonymizeError::Task))?.map_err(DataFusionError::from)
            })
        };
        futures::stream::iter(ranges).map(batch).buffered(ahead)
    }

    /// Builds a batch of a range of the release.
    fn batch(&self, range: Range<usize>, labels: &ReleasedLabels, form: Form) -> Result<RecordBatch, AnonymizeError> {
        let rows = UInt32Array::new(self.order.slice(range.start, range.len()), None);
        let places: Vec<_> = match self.batch_rows.first.len() {
            0 | 1 => Vec::new(),
            _ => rows.values().iter().map(|row| self.batch_rows.place(*row)).collect(),
        };
        labels.batch(form, &self.runs(range), |kept| self.columns[kept].take(&Wanted { rows: &rows, places: &places }))
    }

    /// Returns the class runs in a range of the release.
    fn runs(&self, range: Range<usize>) -> Vec<Run> {
        let first = self.class_ends.partition_point(|end| *end as usize <= range.start);
        let mut start = range.start;
        let classes = (first as u32..).zip(&self.class_ends[first..]).map(|(class, end)| {
            let end = (*end as usize).min(range.end);
            let rows = end - std::mem::replace(&mut start, end);
            Run { class, rows }
        });
        classes.take_while(|run| run.rows > 0).collect()
    }
}

/// Rows of consecutive batches.
struct BatchRows {
    /// Number of the first row of each batch.
    first: Vec<u32>,
    /// The batch of the first of every `1 << ENTRY_BITS` rows.
    batch_of: Vec<u32>,
}

/// Rows per entry of the index of batches, as a power of two: batches of a reader have more.
const ENTRY_BITS: u32 = 10;

impl BatchRows {
    fn new(sizes: impl Iterator<Item = usize>) -> Self {
        let (mut first, mut batch_of, mut next) = (Vec::new(), Vec::new(), 0_u32);
        for (batch, size) in (0..).zip(sizes) {
            first.push(next);
            next += size as u32;
            batch_of.resize(next.div_ceil(1 << ENTRY_BITS) as usize, batch);
        }
        Self { first, batch_of }
    }

    /// Returns the batch of a row, and its index there.
    #[inline]
    fn place(&self, row: u32) -> (usize, usize) {
        let mut batch = self.batch_of[(row >> ENTRY_BITS) as usize] as usize;
        while self.first.get(batch + 1).is_some_and(|first| *first <= row) {
            batch += 1;
        }
        (batch, (row - self.first[batch]) as usize)
    }
}

/// Returns the group and the row hash of each row, read in parallel.
fn groups_and_hashes(
    snapshot: &Snapshot,
    group_of: &[u32],
    rows: usize,
) -> Result<(Vec<u32>, Vec<u128>), AnonymizeError> {
    let (mut groups, mut hashes) = (vec![0; rows], vec![0; rows]);
    let (mut groups_left, mut hashes_left) = (groups.as_mut_slice(), hashes.as_mut_slice());
    let (mut pieces, mut next_group) = (Vec::new(), 0);
    for stream in &snapshot.streams {
        let of_chunk = |groups: usize| {
            let of_chunk = &group_of[next_group..next_group + groups];
            next_group += groups;
            Ok(of_chunk)
        };
        visit_batches(stream, of_chunk, |batch, of_chunk| {
            snapshot.workspace.check()?;
            let rows = batch.num_rows();
            let slices = groups_left.split_off_mut(..rows).zip(hashes_left.split_off_mut(..rows));
            let (groups, hashes) = slices.ok_or(AnonymizeError::Task)?;
            pieces.push((batch, *of_chunk, groups, hashes));
            Ok(())
        })?;
    }
    pieces.into_par_iter().for_each(|(batch, of_chunk, groups, hashes)| {
        groups.iter_mut().zip(numbers(&batch)).for_each(|(group, number)| *group = of_chunk[*number as usize]);
        hashes.iter_mut().zip(content(&batch)).for_each(|(hash, of_row)| *hash = of_row);
    });
    Ok((groups, hashes))
}

/// Builds the pass-through columns of all batches in parallel. The batches of each column are freed as soon as it is
/// built.
fn kept_columns(batches: Vec<RecordBatch>, mut lexicons: Lexicons) -> Result<Vec<KeptColumn>, AnonymizeError> {
    let mut pieces: Vec<Vec<ArrayRef>> = lexicons.columns.iter().map(|_| Vec::with_capacity(batches.len())).collect();
    for batch in batches {
        for (kept, pieces) in pieces.iter_mut().enumerate() {
            pieces.push(Arc::clone(batch.column(kept_column(kept))));
        }
    }
    let lexicons = lexicons.columns.iter_mut().map(|lexicon| lexicon.as_mut().filter(|lexicon| lexicon.is_whole()));
    let column = |(pieces, lexicon): (Vec<ArrayRef>, Option<&mut GlobalDictionary>)| KeptColumn::new(pieces, lexicon);
    pieces.into_par_iter().zip(lexicons.collect::<Vec<_>>()).map(column).collect()
}
