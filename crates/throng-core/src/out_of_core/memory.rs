//! Memory that must be asked for before it is used.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::OutOfCoreError;

/// Memory that one piece of state has reserved, for example from the memory pool of an engine. Dropping it frees the
/// memory.
pub trait MemoryBudget: std::fmt::Debug + Send + Sync {
    /// Changes the reserved memory to `bytes`. If that is refused, nothing changes.
    fn try_resize(&self, bytes: usize) -> Result<(), MemoryRefusal>;

    /// Changes the reserved memory to `bytes`, for state that exists already.
    fn resize(&self, bytes: usize);

    /// Returns the reserved memory, in bytes.
    fn size(&self) -> usize;
}

/// A refusal to reserve more memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryRefusal {
    /// Minimum total size in bytes that would be enough to continue, if known.
    pub least: Option<u64>,
}

/// Changes the memory that a budget has reserved. If that is refused, the error names `part`, the part of the work that
/// did not fit.
pub fn reserve(budget: &dyn MemoryBudget, bytes: usize, part: &'static str) -> Result<(), OutOfCoreError> {
    budget.try_resize(bytes).map_err(|MemoryRefusal { least }| OutOfCoreError::Memory { part, least })
}

/// A budget that refuses nothing.
#[derive(Debug, Default)]
pub struct UnlimitedMemory(AtomicUsize);

impl MemoryBudget for UnlimitedMemory {
    fn try_resize(&self, bytes: usize) -> Result<(), MemoryRefusal> {
        self.resize(bytes);
        Ok(())
    }

    fn resize(&self, bytes: usize) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    fn size(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
