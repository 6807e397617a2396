//! A workspace for tests: little memory, whose use is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

/// Workspace with a limited pool of memory.
#[derive(Clone, Debug)]
pub(super) struct SmallWorkspace {
    used: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl SmallWorkspace {
    pub(super) fn new(most: usize) -> Self {
        Self { used: Arc::default(), most: Arc::new(most.into()) }
    }

    /// Changes the size of the pool.
    pub(super) fn set_size(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    fn size(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Returns the memory that is reserved.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct SmallBudget {
    size: AtomicUsize,
    pool: SmallWorkspace,
}

impl MemoryBudget for SmallBudget {
    fn try_resize(&self, bytes: usize) -> Result<(), MemoryRefusal> {
        let others = self.pool.used() - self.size();
        if others + bytes > self.pool.size() {
            return Err(MemoryRefusal { least: Some((others + bytes) as u64) });
        }
        self.resize(bytes);
        Ok(())
    }

    fn resize(&self, bytes: usize) {
        self.pool.used.fetch_add(bytes, Ordering::Relaxed);
        self.pool.used.fetch_sub(self.size.swap(bytes, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }
}

impl Drop for SmallBudget {
    fn drop(&mut self) {
        self.resize(0);
    }
}

impl Workspace for SmallWorkspace {
    fn budget(&self, _name: &str) -> Box<dyn MemoryBudget> {
        Box::new(SmallBudget { size: AtomicUsize::new(0), pool: self.clone() })
    }

    fn numbers(&self, name: &'static str, quota: &SharedQuota) -> Box<dyn ListWriter<u32>> {
        UnlimitedWorkspace.numbers(name, quota)
    }

    fn keys(&self, name: &'static str) -> Box<dyn ListWriter<u64>> {
        UnlimitedWorkspace.keys(name)
    }

    fn memory_for_rows(&self) -> usize {
        self.size() / 3
    }

    fn least_beside_rows(&self, _bytes: usize, _rows: usize) -> Option<u64> {
        None
    }

    fn may_continue(&self) -> bool {
        true
    }

    fn timer(&self, time: Duration) -> Box<dyn Fn() -> bool + Send + Sync> {
        UnlimitedWorkspace.timer(time)
    }
}
