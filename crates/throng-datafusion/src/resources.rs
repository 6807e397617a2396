//! Resources of the operator: memory from the session's pool, spill files, and cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use throng_core::out_of_core::{MemoryRefusal, Workspace};

use crate::AnonymizeError;
use crate::memory_refusal::refusal_of;
use crate::threads::Threads;

/// Divisor of the pool size: the share that buffered rows may use before they are spilled. The rest is for unspillable
/// state.
pub(crate) const ROWS_SHARE: usize = 3;

/// The resources of one run of the operator.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    runtime: Arc<RuntimeEnv>,
    spills: SpillMetrics,
    threads: Threads,
    stop: Arc<AtomicBool>,
}

/// Cancels the work when dropped.
#[derive(Debug)]
pub(crate) struct StopGuard(Arc<AtomicBool>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Resources {
    /// Returns the resources of a query, and the guard that cancels its work.
    pub(crate) fn new(context: &TaskContext, metrics: &ExecutionPlanMetricsSet) -> (Self, StopGuard) {
        let stop = Arc::new(AtomicBool::new(false));
        let spills = SpillMetrics::new(metrics, 0);
        let threads = Threads::at_most(context.session_config().target_partitions());
        (Self { runtime: context.runtime_env(), spills, threads, stop: Arc::clone(&stop) }, StopGuard(stop))
    }

    /// Registers an empty reservation, for state that can't be spilled. `name` appears in reports of the pool.
    pub(crate) fn reservation(&self, name: &str) -> MemoryReservation {
        MemoryConsumer::new(format!("throng {name}")).register(&self.runtime.memory_pool)
    }

    /// Registers an empty reservation for state that is spilled when memory is refused.
    pub(crate) fn spillable_reservation(&self, name: &str) -> MemoryReservation {
        MemoryConsumer::new(format!("throng {name}")).with_can_spill(true).register(&self.runtime.memory_pool)
    }

    /// Returns a manager of spill files for batches of this schema.
    pub(crate) fn spill_manager(&self, schema: SchemaRef) -> SpillManager {
        SpillManager::new(Arc::clone(&self.runtime), self.spills.clone(), schema)
    }

    /// Returns the threads of the query.
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Returns the size of the memory pool.
    pub(crate) fn memory_limit(&self) -> MemoryLimit {
        self.runtime.memory_pool.memory_limit()
    }

    /// Returns these resources for the core.
    pub(crate) fn workspace(&self) -> Arc<dyn Workspace> {
        Arc::new(self.clone())
    }

    /// Returns whether the query has not been cancelled.
    pub(crate) fn may_continue(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Returns [`AnonymizeError::Cancelled`] once the query has been cancelled.
    pub(crate) fn check(&self) -> Result<(), AnonymizeError> {
        if self.may_continue() { Ok(()) } else { Err(AnonymizeError::Cancelled) }
    }
}

/// Resizes a reservation. If the pool refuses, the error names `what`.
pub(crate) fn reserve(reservation: &MemoryReservation, bytes: usize, what: &'static str) -> Result<(), AnonymizeError> {
    reservation.try_resize(bytes).map_err(|error| out_of_memory(error, what))
}

/// Converts an error of the pool to [`AnonymizeError::Memory`], which names the setting to raise.
pub(crate) fn out_of_memory(error: DataFusionError, what: &'static str) -> AnonymizeError {
    match refusal_of(&error) {
        Some(MemoryRefusal { least }) => AnonymizeError::Memory { part: what, least },
        None => error.into(),
    }
}
