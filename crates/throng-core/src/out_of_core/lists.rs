//! Lists of numbers that are written once and read in order, from memory or from disk.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::buffer::ScalarBuffer;
use arrow::datatypes::ArrowNativeType;

use super::OutOfCoreError;

/// Memory quota that several writers share. A quota of 0 keeps nothing in memory.
#[derive(Clone, Debug)]
pub struct SharedQuota {
    held: Arc<AtomicUsize>,
    most: usize,
}

impl SharedQuota {
    /// Creates a quota of `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { held: Arc::default(), most }
    }

    /// Returns the size of the quota, in bytes.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Takes bytes from the quota. Returns false, and takes none, if fewer are left.
    pub fn take(&self, bytes: usize) -> bool {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        let is_allowed = before.saturating_add(bytes) <= self.most;
        if !is_allowed {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
        }
        is_allowed
    }

    /// Returns bytes that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Writes lists of numbers, which are spilled to disk when memory is refused.
pub trait ListWriter<T: ArrowNativeType>: Send {
    /// Appends a list. Fails if it can't be stored.
    fn push(&mut self, list: Vec<T>) -> Result<(), OutOfCoreError>;

    /// Spills all lists, and writes later ones directly to disk. Fails if they can't be stored.
    fn spill(&mut self) -> Result<(), OutOfCoreError>;

    /// Returns the memory of the lists, in bytes; `None` if they were spilled.
    fn held_bytes(&self) -> Option<usize>;

    /// Ends writing and returns the lists for reading.
    fn finish(self: Box<Self>) -> Result<Box<dyn StoredLists<T>>, OutOfCoreError>;
}

/// Lists of numbers, in the order in which they were written.
pub trait StoredLists<T: ArrowNativeType>: Debug + Send + Sync {
    /// Reads the lists. May block, also when the next list is asked for.
    fn read(&self) -> Result<ListReader<'_, T>, OutOfCoreError>;

    /// Returns the number of bytes, in memory or on disk.
    fn bytes(&self) -> usize;

    /// Returns whether the lists are on disk.
    fn is_spilled(&self) -> bool;
}

/// Reads lists one after the other.
pub type ListReader<'a, T> = Box<dyn Iterator<Item = Result<ScalarBuffer<T>, OutOfCoreError>> + Send + 'a>;

/// Lists in memory, without a limit.
#[derive(Debug)]
pub(super) struct UnlimitedLists<T: ArrowNativeType> {
    lists: Vec<ScalarBuffer<T>>,
}

impl<T: ArrowNativeType> UnlimitedLists<T> {
    pub(super) fn new() -> Self {
        Self { lists: Vec::new() }
    }
}

impl<T: ArrowNativeType> ListWriter<T> for UnlimitedLists<T> {
    fn push(&mut self, list: Vec<T>) -> Result<(), OutOfCoreError> {
        self.lists.push(list.into());
        Ok(())
    }

    fn spill(&mut self) -> Result<(), OutOfCoreError> {
        Ok(())
    }

    fn held_bytes(&self) -> Option<usize> {
        Some(StoredLists::bytes(self))
    }

    fn finish(self: Box<Self>) -> Result<Box<dyn StoredLists<T>>, OutOfCoreError> {
        Ok(self)
    }
}

impl<T: ArrowNativeType> StoredLists<T> for UnlimitedLists<T> {
    fn read(&self) -> Result<ListReader<'_, T>, OutOfCoreError> {
        Ok(Box::new(self.lists.iter().cloned().map(Ok)))
    }

    fn bytes(&self) -> usize {
        self.lists.iter().map(|list| list.inner().capacity()).sum()
    }

    fn is_spilled(&self) -> bool {
        false
    }
}
