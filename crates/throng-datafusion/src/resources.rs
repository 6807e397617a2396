//! What the operator may use of its engine: memory from the session's pool, spill files, and the right to go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};

use crate::AnonymizeError;

/// Rows may fill this part of the pool before they are spilled; the rest is for what must be in memory at once.
const ROWS_SHARE: usize = 3;

/// The resources of one run of the operator.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    runtime: Arc<RuntimeEnv>,
    spills: SpillMetrics,
    stop: Arc<AtomicBool>,
}

/// Stops the work on a workspace when it goes away.
#[derive(Debug)]
pub(crate) struct StopGuard(Arc<AtomicBool>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Resources {
    /// The resources of a query, and what stops the work on them.
    pub(crate) fn new(context: &TaskContext, metrics: &ExecutionPlanMetricsSet) -> (Self, StopGuard) {
        let stop = Arc::new(AtomicBool::new(false));
        let spills = SpillMetrics::new(metrics, 0);
        (Self { runtime: context.runtime_env(), spills, stop: Arc::clone(&stop) }, StopGuard(stop))
    }

    /// Nothing reserved yet, under a name that the pool's reports show; for what has to be in memory.
    pub(crate) fn reservation(&self, name: &str) -> MemoryReservation {
        MemoryConsumer::new(format!("throng {name}")).register(&self.runtime.memory_pool)
    }

    /// The same for what goes to disk when memory is refused.
    pub(crate) fn spillable_reservation(&self, name: &str) -> MemoryReservation {
        MemoryConsumer::new(format!("throng {name}")).with_can_spill(true).register(&self.runtime.memory_pool)
    }

    /// Makes files for batches of this schema.
    pub(crate) fn spill_manager(&self, schema: SchemaRef) -> SpillManager {
        SpillManager::new(Arc::clone(&self.runtime), self.spills.clone(), schema)
    }

    /// How many bytes all rows together may take of the memory.
    pub(crate) fn memory_for_rows(&self) -> usize {
        match self.runtime.memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => bytes / ROWS_SHARE,
            MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
        }
    }

    /// Whether the query still wants an answer.
    pub(crate) fn may_continue(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// An error once the query does not want an answer any more.
    pub(crate) fn check(&self) -> Result<(), AnonymizeError> {
        if self.may_continue() { Ok(()) } else { Err(AnonymizeError::Cancelled) }
    }
}

/// Grows a reservation for what has to be in memory at once.
pub(crate) fn reserve(reservation: &MemoryReservation, bytes: usize, what: &'static str) -> Result<(), AnonymizeError> {
    reservation.try_resize(bytes).map_err(|error| out_of_memory(error, what))
}

/// The pool's refusal, in words that name the setting.
pub(crate) fn out_of_memory(error: DataFusionError, what: &'static str) -> AnonymizeError {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => AnonymizeError::Memory(what),
        _ => error.into(),
    }
}
