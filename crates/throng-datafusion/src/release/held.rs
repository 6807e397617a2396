//! Rows of a release that are all in memory: any range of them can be made at any time.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::interleave;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{FutureExt, Stream, StreamExt};
use throng_core::content::Checksum;
use throng_core::recode::{DealKey, Recoding, ReleaseOrder};

use super::{ReleasedLabels, add_released, for_each_batch};
use crate::Error;
use crate::rows::{content, kept_column};
use crate::snapshot::Snapshot;

/// What a row takes besides what is kept of it: its group, its hash, its class and its place.
pub(super) const ROW_BYTES: usize = 28;

/// What a row of a shared group takes while it is dealt.
const DEALT_BYTES: usize = 48;

/// What is left of that: its class and its place.
const ORDER_BYTES: usize = 8;

/// Rows in memory, and their order.
pub(super) struct HeldRows {
    order: ReleaseOrder,
    batches: Vec<RecordBatch>,
    /// The number of the first row of each batch.
    first_row: Vec<u32>,
    /// For the rows and their order.
    _reservations: Vec<MemoryReservation>,
}

impl HeldRows {
    /// The memory that the order of a snapshot's rows takes; none when the rows are not, or it can't be, in memory.
    pub(super) fn room(snapshot: &Snapshot, recoding: &Recoding) -> Option<MemoryReservation> {
        let rows = snapshot.rows - snapshot.suppressed;
        if snapshot.is_spilled() || u32::try_from(rows).is_err() {
            return None;
        }
        let reservation = snapshot.workspace.reservation("order");
        let shares = (0..recoding.group_count() as u32).map(|group| recoding.shares(group));
        let dealt: u64 = shares.filter(|shares| shares.len() > 1).flatten().map(|share| u64::from(share.rows)).sum();
        reservation.try_grow(rows as usize * ROW_BYTES + dealt as usize * DEALT_BYTES).is_ok().then_some(reservation)
    }

    /// Orders the rows of a snapshot.
    pub(super) fn new(
        snapshot: Snapshot,
        room: MemoryReservation,
        recoding: &Recoding,
        group_of: &[u32],
        key: &DealKey,
    ) -> Result<(Self, Checksum), Error> {
        let rows = (snapshot.rows - snapshot.suppressed) as usize;
        let (mut groups, mut hashes) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let (mut checksum, mut next_group) = (Checksum::default(), 0);
        for stream in &snapshot.streams {
            for_each_batch(stream, snapshot.width(), group_of, &mut next_group, |batch, of_batch| {
                snapshot.workspace.check()?;
                add_released(&mut checksum, recoding, batch, &of_batch);
                hashes.extend(content(batch));
                groups.extend(of_batch);
                Ok(())
            })?;
        }
        let order = ReleaseOrder::new(recoding, &groups, &hashes, key);
        room.resize(rows * ORDER_BYTES);
        let (mut batches, mut reservations) = (Vec::new(), vec![room]);
        for stream in snapshot.streams {
            let (held, reservation) = stream.rows.into_held();
            batches.extend(held);
            reservations.push(reservation);
        }
        let mut first_row = Vec::with_capacity(batches.len());
        let mut next = 0;
        for batch in &batches {
            first_row.push(next);
            next += batch.num_rows() as u32;
        }
        Ok((Self { order, batches, first_row, _reservations: reservations }, checksum))
    }

    /// All rows, `ahead` batches at the same time.
    pub(super) fn stream(
        rows: Arc<Self>,
        labels: Arc<ReleasedLabels>,
        batch_rows: usize,
        ahead: usize,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> {
        let total = rows.order.rows.len();
        let ranges = (0..total).step_by(batch_rows).map(move |first| first..total.min(first + batch_rows));
        let batch = move |range| {
            let (rows, labels) = (Arc::clone(&rows), Arc::clone(&labels));
            SpawnedTask::spawn_blocking(move || rows.batch(range, &labels))
                .map(|batch| batch.map_err(|_| DataFusionError::from(Error::Task))?.map_err(DataFusionError::from))
        };
        futures::stream::iter(ranges).map(batch).buffered(ahead)
    }

    /// A range of the release.
    fn batch(&self, range: Range<usize>, labels: &ReleasedLabels) -> Result<RecordBatch, Error> {
        let rows = &self.order.rows[range];
        let places: Vec<(usize, usize)> = rows.iter().map(|row| self.place(*row)).collect();
        let classes: Vec<u32> = rows.iter().map(|row| self.order.class_of[*row as usize]).collect();
        labels.batch(&classes, |kept| {
            let column = |batch| RecordBatch::column(batch, kept_column(kept)).as_ref();
            let arrays: Vec<&dyn Array> = self.batches.iter().map(column).collect();
            interleave(&arrays, &places).map_err(|source| Error::Kernel("interleave", source))
        })
    }

    /// The batch of a row, and its row there.
    fn place(&self, row: u32) -> (usize, usize) {
        let batch = self.first_row.partition_point(|first| *first <= row) - 1;
        (batch, (row - self.first_row[batch]) as usize)
    }
}
