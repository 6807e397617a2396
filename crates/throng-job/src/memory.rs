//! How the memory limit of a process is divided, and the pool that keeps to its part.
//!
//! ```text
//!  limit ─┬─ PROCESS_BYTES    code, threads, allocator
//!         └─ the rest ─┬─ 5/8  pool: everything that grows with the table reserves from it, and spills or is refused
//!                      └─ 3/8  transfers: batches, row groups and buffers of readers and writers, which no pool accounts for
//! ```
//!
//! Batches and row groups have about the same size regardless of the width of rows, and the limit decides how many are held
//! at a time.

use std::fmt;

use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::{
    FairSpillPool, GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use throng_datafusion::memory_refusal;

use crate::error::{JobError, Kind};

/// Memory of a process before it reads the first row.
const PROCESS_BYTES: u64 = 120 << 20;

/// Share of the rest of the limit that belongs to the pool, in eighths.
const POOL_EIGHTHS: u64 = 5;

/// The smallest memory limit with which a small table can be released.
pub const MIN_MEMORY_LIMIT: u64 = 160 << 20;

/// Returns the size of the pool of a process with this memory limit.
pub(crate) fn pool_bytes(limit: u64) -> u64 {
    limit.saturating_sub(PROCESS_BYTES) / 8 * POOL_EIGHTHS
}

/// Returns the memory for transfers of a process with this memory limit.
pub(crate) fn transfer_bytes(limit: u64) -> u64 {
    limit.saturating_sub(PROCESS_BYTES) / 8 * (8 - POOL_EIGHTHS)
}

/// Returns the memory for transfers in addition to a pool; `None` without a limit.
pub(crate) fn transfer_bytes_beside(pool: &dyn MemoryPool) -> Option<u64> {
    match pool.memory_limit() {
        MemoryLimit::Finite(bytes) => Some(bytes as u64 / POOL_EIGHTHS * (8 - POOL_EIGHTHS)),
        MemoryLimit::Infinite | MemoryLimit::Unknown => None,
    }
}

/// Returns the error for a part of the work that does not fit, with the least limit for a pool of `least` bytes.
pub(crate) fn too_little(what: &str, least: Option<u64>) -> JobError {
    let limit = least.map(|pool| limit_of(pool / POOL_EIGHTHS * 8)).map(|limit| format!(" to at least {limit}"));
    let text = format!("the memory limit does not leave enough room for {what}");
    let text = format!("{text}; raise the memory limit (`--memory-limit`){}", limit.unwrap_or_default());
    JobError::new(Kind::BadPolicy, text)
}

/// Returns the error for transfers that take `bytes` at a time.
pub(crate) fn too_little_for_transfers(what: &str, bytes: u64) -> JobError {
    let limit = limit_of(bytes / (8 - POOL_EIGHTHS) * 8);
    let text = format!("the memory limit does not leave enough room for {what}");
    JobError::new(Kind::BadPolicy, format!("{text}; raise the memory limit (`--memory-limit`) to at least {limit}"))
}

/// Returns the limit of a process that needs this much memory besides its base usage, rounded up to a round number.
fn limit_of(rest: u64) -> String {
    const STEP: u64 = 32 << 20;
    let bytes = (PROCESS_BYTES + rest).div_ceil(STEP) * STEP;
    format!("{}MiB", bytes >> 20)
}

/// A pool of fixed size whose out-of-memory errors state how much memory would suffice.
#[derive(Debug)]
pub(crate) struct SizedPool<P> {
    pool: P,
    size: usize,
}

/// Returns the pool of a job. Its stages spill by themselves, so requests are served in order of arrival.
pub(crate) fn job_pool(limit: u64) -> SizedPool<GreedyMemoryPool> {
    let size = pool_bytes(limit) as usize;
    SizedPool { pool: GreedyMemoryPool::new(size), size }
}

/// Returns the pool of SQL statements: operators that can spill have equal shares, so that one can't starve another.
pub(crate) fn sql_pool(limit: u64) -> SizedPool<FairSpillPool> {
    let size = pool_bytes(limit) as usize;
    SizedPool { pool: FairSpillPool::new(size), size }
}

impl<P: MemoryPool> fmt::Display for SizedPool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.pool, f)
    }
}

impl<P: MemoryPool> MemoryPool for SizedPool<P> {
    fn name(&self) -> &str {
        self.pool.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionResult<()> {
        let refused = |_| memory_refusal(self.pool.reserved().max(self.size).saturating_add(additional));
        self.pool.try_grow(reservation, additional).map_err(refused)
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.size)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn pool_transfers_and_process_make_up_the_limit() {
        let limit = 512 << 20;
        assert_eq!(PROCESS_BYTES + pool_bytes(limit) + transfer_bytes(limit), limit);
        assert_eq!(transfer_bytes_beside(&job_pool(limit)), Some(transfer_bytes(limit)));
        assert!(pool_bytes(MIN_MEMORY_LIMIT) >= 24 << 20, "nothing fits");
        assert_eq!(pool_bytes(1), 0);
    }

    #[test]
    fn a_refusal_states_a_limit_that_would_have_sufficed() {
        let pool: Arc<dyn MemoryPool> = Arc::new(job_pool(MIN_MEMORY_LIMIT));
        let reservation = MemoryConsumer::new("rows").register(&pool);
        let asked = 300 << 20;
        let error = reservation.try_grow(asked).unwrap_err();
        let message = JobError::reading("people.parquet", &error).to_string();
        let least: u64 = message.rsplit_once(' ').unwrap().1.trim_end_matches("MiB").parse().unwrap();
        assert!(message.contains("--memory-limit") && pool_bytes(least << 20) >= asked as u64, "{message}");
    }
}
