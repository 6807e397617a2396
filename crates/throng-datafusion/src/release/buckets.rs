//! Distributes rows to many files.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::interleave_record_batch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use throng_core::out_of_core::SharedQuota;

use crate::AnonymizeError;
use crate::resources::Resources;
use crate::spill_buffer::{BufferedBatches, SpillBuffer};

/// Buckets of rows on disk that are being written.
///
/// Rows of all buckets wait together until they take `most_bytes`. A bucket then gets one batch of all of its rows among
/// them, however few each arriving batch had.
pub(super) struct Buckets {
    stores: Vec<SpillBuffer>,
    waiting: Vec<RecordBatch>,
    /// Bucket, waiting batch and row of each waiting row.
    places: Vec<(u32, u32, u32)>,
    waiting_bytes: usize,
    most_bytes: usize,
    schema: SchemaRef,
}

impl Buckets {
    /// Creates empty buckets.
    pub(super) fn new(
        workspace: &Resources,
        schema: SchemaRef,
        buckets: usize,
        most_bytes: usize,
        name: &'static str,
    ) -> Self {
        // The rows did not fit into memory, so buckets are written to disk from the start.
        let quota = SharedQuota::new(0);
        let store = |_| SpillBuffer::new(workspace, SchemaRef::clone(&schema), &quota, name);
        let stores = (0..buckets).map(store).collect();
        Self { stores, waiting: Vec::new(), places: Vec::new(), waiting_bytes: 0, most_bytes, schema }
    }

    /// Returns the schema of the rows.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the size of the rows that wait.
    pub(super) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Adds rows, given the bucket of each; rows without a bucket are left out.
    pub(super) fn push(
        &mut self,
        rows: RecordBatch,
        buckets: impl Iterator<Item = Option<u32>>,
    ) -> Result<(), AnonymizeError> {
        let batch = self.waiting.len() as u32;
        let placed = buckets.zip(0..).filter_map(|(bucket, row)| bucket.map(|bucket| (bucket, batch, row)));
        self.places.extend(placed);
        self.waiting_bytes += get_record_batch_memory_size(&rows) + rows.num_rows() * size_of::<(u32, u32, u32)>();
        self.waiting.push(rows);
        if self.waiting_bytes >= self.most_bytes { self.write() } else { Ok(()) }
    }

    /// Appends all waiting rows to their buckets, in order of arrival.
    fn write(&mut self) -> Result<(), AnonymizeError> {
        self.places.sort_unstable();
        let waiting: Vec<&RecordBatch> = self.waiting.iter().collect();
        for run in self.places.chunk_by(|a, b| a.0 == b.0) {
            let rows: Vec<(usize, usize)> =
                run.iter().map(|(_, batch, row)| (*batch as usize, *row as usize)).collect();
            let rows = interleave_record_batch(&waiting, &rows);
            let rows = rows.map_err(|source| AnonymizeError::Kernel("interleave", source))?;
            self.stores[run[0].0 as usize].push(rows)?;
        }
        self.waiting.clear();
        self.places.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Ends writing and returns the buckets.
    pub(super) fn finish(mut self) -> Result<Vec<BufferedBatches>, AnonymizeError> {
        self.write()?;
        self.stores.into_iter().map(SpillBuffer::finish).collect()
    }
}
