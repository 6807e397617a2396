//! Buffers batches in memory, and spills them to disk when memory is refused.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::SpillFile;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use futures::TryStreamExt;
use throng_core::out_of_core::SharedQuota;
use tokio::runtime::Handle;

use crate::AnonymizeError;
use crate::borrowed_rows::owned_rows;
use crate::resources::Resources;

/// Appends a batch to a spill file, or finishes it with `None`. The engine's type of files in progress is not public.
type Spilling = Box<dyn FnMut(Option<&RecordBatch>) -> DataFusionResult<Option<Arc<dyn SpillFile>>> + Send>;

/// A buffer of batches that spills.
pub(crate) struct SpillBuffer {
    spill: SpillManager,
    schema: SchemaRef,
    quota: SharedQuota,
    reservation: MemoryReservation,
    held: Vec<RecordBatch>,
    file: Option<Spilling>,
    name: &'static str,
}

impl SpillBuffer {
    pub(crate) fn new(workspace: &Resources, schema: SchemaRef, quota: &SharedQuota, name: &'static str) -> Self {
        let spill = workspace.spill_manager(Arc::clone(&schema));
        let reservation = match quota.most() {
            // No batch is ever buffered in memory.
            0 => workspace.reservation(name),
            _ => workspace.spillable_reservation(name),
        };
        let quota = quota.clone();
        Self { spill, schema, quota, reservation, held: Vec::new(), file: None, name }
    }

    /// Appends a batch. If no memory can be reserved for it, all batches are spilled.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<(), AnonymizeError> {
        let size = get_record_batch_memory_size(&batch);
        self.push_sized(batch, size)
    }

    /// Appends a batch of this size, which may hold views in place of dictionaries as long as it is in memory.
    pub(crate) fn push_sized(&mut self, batch: RecordBatch, size: usize) -> Result<(), AnonymizeError> {
        if self.file.is_none() {
            if self.quota.take(size) {
                if self.reservation.try_grow(size).is_ok() {
                    self.held.push(batch);
                    return Ok(());
                }
                self.quota.give_back(size);
            }
            self.spill()?;
        }
        match &mut self.file {
            Some(file) => file(Some(&owned_rows(batch, &self.schema)?)).map(|_| ()).map_err(AnonymizeError::Spill),
            None => Ok(()),
        }
    }

    /// Spills all batches, and writes later ones directly to disk.
    pub(crate) fn spill(&mut self) -> Result<(), AnonymizeError> {
        if self.file.is_some() {
            return Ok(());
        }
        let mut in_progress = self.spill.create_in_progress_file(self.name).map_err(AnonymizeError::Spill)?;
        let mut file: Spilling = Box::new(move |batch| match batch {
            Some(batch) => in_progress.append_batch(batch).map(|_| None),
            None => in_progress.finish(),
        });
        for batch in std::mem::take(&mut self.held) {
            file(Some(&owned_rows(batch, &self.schema)?)).map_err(AnonymizeError::Spill)?;
        }
        self.quota.give_back(self.reservation.free());
        self.file = Some(file);
        Ok(())
    }

    pub(crate) fn is_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the memory of batches that are not spilled.
    pub(crate) fn held_bytes(&self) -> usize {
        self.reservation.size()
    }

    /// Ends writing and returns the batches for reading.
    pub(crate) fn finish(mut self) -> Result<BufferedBatches, AnonymizeError> {
        let file = match &mut self.file {
            Some(file) => file(None).map_err(AnonymizeError::Spill)?,
            None => None,
        };
        let (held, reservation) = (std::mem::take(&mut self.held), self.reservation.take());
        Ok(BufferedBatches { spill: self.spill.clone(), quota: self.quota.clone(), held, file, reservation })
    }
}

/// Finished batches, in the order in which they were pushed.
pub(crate) struct BufferedBatches {
    spill: SpillManager,
    quota: SharedQuota,
    held: Vec<RecordBatch>,
    file: Option<Arc<dyn SpillFile>>,
    reservation: MemoryReservation,
}

impl std::fmt::Debug for BufferedBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferedBatches")
            .field("held", &self.held.len())
            .field("spilled", &self.file.is_some())
            .finish()
    }
}

impl Drop for BufferedBatches {
    fn drop(&mut self) {
        self.quota.give_back(self.reservation.size());
    }
}

impl BufferedBatches {
    /// Returns whether the batches were spilled.
    pub(crate) fn is_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the batches in memory and their reservation.
    pub(crate) fn into_held(mut self) -> (Vec<RecordBatch>, MemoryReservation) {
        (std::mem::take(&mut self.held), self.reservation.take())
    }

    /// Returns the number of bytes, in memory or on disk.
    pub(crate) fn bytes(&self) -> usize {
        let spilled = self.file.as_ref().and_then(|file| file.size()).unwrap_or(0);
        self.reservation.size() + spilled as usize
    }

    /// Reads the batches. Must be called on a thread that may block.
    pub(crate) fn read(&self) -> Result<BatchReader<'_>, AnonymizeError> {
        let spilled = match &self.file {
            Some(file) => Some(self.spill.read_spill_as_stream(Arc::clone(file), None).map_err(AnonymizeError::Spill)?),
            None => None,
        };
        Ok(BatchReader { held: self.held.iter(), spilled })
    }
}

/// Iterates over batches.
pub(crate) struct BatchReader<'a> {
    held: std::slice::Iter<'a, RecordBatch>,
    spilled: Option<SendableRecordBatchStream>,
}

impl BatchReader<'_> {
    /// Returns the next batch. Blocks on disk reads, so it must not be called on an async worker thread.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, AnonymizeError> {
        match &mut self.spilled {
            Some(stream) => Handle::current().block_on(stream.try_next()).map_err(AnonymizeError::Spill),
            None => Ok(self.held.next().cloned()),
        }
    }
}
