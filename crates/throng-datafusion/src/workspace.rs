//! The workspace of the core: the session's memory pool and spill files, the clock, and cancellation.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray, RecordBatch};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, Field, Schema, SchemaRef, UInt32Type, UInt64Type};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryReservation};
use throng_core::out_of_core::{
    ListReader, ListWriter, MemoryBudget, MemoryRefusal, OutOfCoreError, SharedQuota, StoredLists, Workspace,
};

use crate::AnonymizeError;
use crate::memory_refusal::refusal_of;
use crate::resources::{ROWS_SHARE, Resources};
use crate::spill_buffer::{BufferedBatches, SpillBuffer};

impl Workspace for Resources {
    fn budget(&self, name: &str) -> Box<dyn MemoryBudget> {
        Box::new(PoolBudget(self.reservation(name)))
    }

    fn numbers(&self, name: &'static str, quota: &SharedQuota) -> Box<dyn ListWriter<u32>> {
        Box::new(SpilledLists::<UInt32Type>::new(self, quota, name))
    }

    fn keys(&self, name: &'static str) -> Box<dyn ListWriter<u64>> {
        Box::new(SpilledLists::<UInt64Type>::new(self, &SharedQuota::new(0), name))
    }

    fn memory_for_rows(&self) -> usize {
        match self.memory_limit() {
            MemoryLimit::Finite(bytes) => bytes / ROWS_SHARE,
            MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
        }
    }

    fn least_beside_rows(&self, bytes: usize, rows: usize) -> Option<u64> {
        let least = bytes.saturating_add(rows.min(bytes / (ROWS_SHARE - 1)));
        match self.memory_limit() {
            MemoryLimit::Finite(size) if least > size => Some(least as u64),
            _ => None,
        }
    }

    fn may_continue(&self) -> bool {
        Resources::may_continue(self)
    }

    fn timer(&self, time: Duration) -> Box<dyn Fn() -> bool + Send + Sync> {
        let until = Instant::now() + time;
        Box::new(move || Instant::now() < until)
    }
}

/// A reservation of the session's memory pool.
#[derive(Debug)]
pub(crate) struct PoolBudget(pub(crate) MemoryReservation);

impl MemoryBudget for PoolBudget {
    fn try_resize(&self, bytes: usize) -> Result<(), MemoryRefusal> {
        self.0.try_resize(bytes).map_err(|error| refusal_of(&error).unwrap_or_default())
    }

    fn resize(&self, bytes: usize) {
        self.0.resize(bytes);
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// Writes lists as batches of one column.
struct SpilledLists<T> {
    schema: SchemaRef,
    batches: SpillBuffer,
    of: PhantomData<T>,
}

impl<T: ArrowPrimitiveType> SpilledLists<T> {
    fn new(resources: &Resources, quota: &SharedQuota, name: &'static str) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("numbers", T::DATA_TYPE, false)]));
        let batches = SpillBuffer::new(resources, SchemaRef::clone(&schema), quota, name);
        Self { schema, batches, of: PhantomData }
    }

    fn append(&mut self, list: Vec<T::Native>) -> Result<(), AnonymizeError> {
        let column: ArrayRef = Arc::new(PrimitiveArray::<T>::new(list.into(), None));
        let batch = RecordBatch::try_new(SchemaRef::clone(&self.schema), vec![column]);
        self.batches.push(batch.map_err(|source| AnonymizeError::Kernel("batch", source))?)
    }
}

impl<T: ArrowPrimitiveType + Debug + Send + Sync> ListWriter<T::Native> for SpilledLists<T> {
    fn push(&mut self, list: Vec<T::Native>) -> Result<(), OutOfCoreError> {
        self.append(list).map_err(storage)
    }

    fn spill(&mut self) -> Result<(), OutOfCoreError> {
        self.batches.spill().map_err(storage)
    }

    fn held_bytes(&self) -> Option<usize> {
        (!self.batches.is_spilled()).then(|| self.batches.held_bytes())
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn StoredLists<T::Native>>, OutOfCoreError> {
        let batches = self.batches.finish().map_err(storage)?;
        Ok(Box::new(BufferedLists::<T> { batches, of: PhantomData }))
    }
}

/// Reads lists from batches of one column.
#[derive(Debug)]
struct BufferedLists<T> {
    batches: BufferedBatches,
    of: PhantomData<T>,
}

impl<T: ArrowPrimitiveType + Debug + Send + Sync> StoredLists<T::Native> for BufferedLists<T> {
    fn read(&self) -> Result<ListReader<'_, T::Native>, OutOfCoreError> {
        let mut batches = self.batches.read().map_err(storage)?;
        let lists = std::iter::from_fn(move || batches.next().transpose());
        Ok(Box::new(lists.map(|batch| match batch {
            Ok(batch) => Ok(batch.column(0).as_primitive::<T>().values().clone()),
            Err(error) => Err(storage(error)),
        })))
    }

    fn bytes(&self) -> usize {
        self.batches.bytes()
    }

    fn is_spilled(&self) -> bool {
        self.batches.is_spilled()
    }
}

/// Wraps an error on its way through the core; [`AnonymizeError`] unwraps it.
fn storage(error: AnonymizeError) -> OutOfCoreError {
    OutOfCoreError::Storage(Box::new(error))
}
