//! What a run uses of its host: memory, disk, time and cancellation.

use std::fmt::Debug;
use std::time::Duration;

use super::lists::UnlimitedLists;
use super::memory::UnlimitedMemory;
use super::{ListWriter, MemoryBudget, OutOfCoreError, SharedQuota};

/// Memory, disk and time of one run. An engine implements it with its memory pool and its spill files;
/// [`UnlimitedWorkspace`] has no limits.
pub trait Workspace: Debug + Send + Sync {
    /// Returns an empty budget. `name` appears in reports of the memory pool.
    fn budget(&self, name: &str) -> Box<dyn MemoryBudget>;

    /// Returns an empty store of lists, which keeps lists in memory as long as `quota` and the pool allow.
    fn numbers(&self, name: &'static str, quota: &SharedQuota) -> Box<dyn ListWriter<u32>>;

    /// Returns an empty store of lists of 64-bit numbers, which keeps nothing in memory.
    fn keys(&self, name: &'static str) -> Box<dyn ListWriter<u64>>;

    /// Returns the number of bytes that buffered rows may use in total. The rest is for state that can't be spilled.
    fn memory_for_rows(&self) -> usize;

    /// Returns the total memory that leaves room for `bytes` next to buffered rows of this size, which use at most their
    /// share of it; `None` if there is that much, or no limit.
    fn least_beside_rows(&self, bytes: usize, rows: usize) -> Option<u64>;

    /// Returns whether the run has not been cancelled.
    fn may_continue(&self) -> bool;

    /// Starts a timer. The function that it returns is true until `time` has passed.
    fn timer(&self, time: Duration) -> Box<dyn Fn() -> bool + Send + Sync>;

    /// Returns [`OutOfCoreError::Cancelled`] once the run has been cancelled.
    fn check(&self) -> Result<(), OutOfCoreError> {
        if self.may_continue() { Ok(()) } else { Err(OutOfCoreError::Cancelled) }
    }
}

/// A workspace without limits, which keeps everything in memory and is never cancelled. It has no clock: work that is
/// limited by time ends at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnlimitedWorkspace;

impl Workspace for UnlimitedWorkspace {
    fn budget(&self, _name: &str) -> Box<dyn MemoryBudget> {
        Box::<UnlimitedMemory>::default()
    }

    fn numbers(&self, _name: &'static str, _quota: &SharedQuota) -> Box<dyn ListWriter<u32>> {
        Box::new(UnlimitedLists::new())
    }

    fn keys(&self, _name: &'static str) -> Box<dyn ListWriter<u64>> {
        Box::new(UnlimitedLists::new())
    }

    fn memory_for_rows(&self) -> usize {
        usize::MAX
    }

    fn least_beside_rows(&self, _bytes: usize, _rows: usize) -> Option<u64> {
        None
    }

    fn may_continue(&self) -> bool {
        true
    }

    fn timer(&self, _time: Duration) -> Box<dyn Fn() -> bool + Send + Sync> {
        Box::new(|| false)
    }
}
