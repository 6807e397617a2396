//! The waiting rows of a stream.

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::memory_pool::MemoryReservation;
use throng_core::stream::{Arrivals, DelayLimits};

use crate::AnonymizeError;
use crate::resources::{Resources, reserve};

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "the rows of the stream that wait";

/// Rows in the order of their arrival.
#[derive(Debug)]
pub(super) struct RowBuffer {
    pub(super) arrivals: Arrivals,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    reservation: MemoryReservation,
}

impl RowBuffer {
    /// Creates an empty buffer for rows of this schema.
    pub(super) fn new(schema: SchemaRef, limits: DelayLimits, workspace: &Resources) -> Self {
        let reservation = workspace.reservation("stream");
        Self { arrivals: Arrivals::new(limits), schema, batches: Vec::new(), reservation }
    }

    /// Adds rows that arrive at `now`, up to the first one that makes an older row due. Returns the rest.
    pub(super) fn push(&mut self, batch: RecordBatch, now: u64) -> Result<Option<RecordBatch>, AnonymizeError> {
        let room = self.arrivals.room().map_or(usize::MAX, |room| usize::try_from(room).unwrap_or(usize::MAX));
        let added = room.min(batch.num_rows());
        let rest = (added < batch.num_rows()).then(|| batch.slice(added, batch.num_rows() - added));
        if added > 0 {
            self.arrivals.push(added, now);
            self.batches.push(if rest.is_some() { batch.slice(0, added) } else { batch });
        }
        self.reserve()?;
        Ok(rest)
    }

    /// Returns all buffered rows as one batch.
    pub(super) fn rows(&self) -> Result<RecordBatch, AnonymizeError> {
        concat_batches(&self.schema, &self.batches).map_err(|source| AnonymizeError::Kernel("concat", source))
    }

    /// Removes all rows but these, which are indices in ascending order. `rows` are all rows.
    pub(super) fn retain(&mut self, rows: &RecordBatch, waiting: &[u32]) -> Result<(), AnonymizeError> {
        self.arrivals.retain(waiting);
        self.batches.clear();
        if !waiting.is_empty() {
            self.batches.push(taken(rows, waiting)?);
        }
        self.reserve()
    }

    fn reserve(&self) -> Result<(), AnonymizeError> {
        reserve(&self.reservation, self.batches.iter().map(rows_size).sum(), WHAT)
    }
}

/// Returns the memory of the rows of a batch, which may be a small slice of its buffers.
fn rows_size(batch: &RecordBatch) -> usize {
    let size =
        |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size());
    batch.columns().iter().map(size).sum()
}

/// Returns the rows at the `chosen` positions, in that order; all of `rows` if there are as many.
pub(super) fn taken(rows: &RecordBatch, chosen: &[u32]) -> Result<RecordBatch, AnonymizeError> {
    if chosen.len() == rows.num_rows() {
        return Ok(rows.clone());
    }
    take_record_batch(rows, &UInt32Array::from(chosen.to_vec()))
        .map_err(|source| AnonymizeError::Kernel("take", source))
}
