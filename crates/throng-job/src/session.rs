//! The DataFusion session of a job.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{GreedyMemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use throng_datafusion::GuardDecoders;

use crate::error::JobError;
use crate::job::JobOptions;

/// Share of the memory limit that the session's pool may use. The rest is for memory that no pool accounts for: code,
/// threads, buffers of readers and writers, and allocator overhead.
pub const POOL_SHARE: f64 = 0.75;

/// Minimum size of a file that is read by all threads: a release is small relative to its number of rows.
const SHARED_BYTES: usize = 1 << 20;

/// Number of consumers that an error of the pool lists.
const CONSUMERS_TOLD: std::num::NonZeroUsize = std::num::NonZeroUsize::MIN;

/// Returns a session with the threads and the memory limit of the options.
pub(crate) fn session(options: &JobOptions) -> Result<SessionContext, JobError> {
    with_runtime(config(options.threads.max(1)), options)
}

/// Returns a session that reads a table in `streams` streams of contiguous rows.
pub(crate) fn session_in_order(options: &JobOptions, streams: usize) -> Result<SessionContext, JobError> {
    let mut config = config(streams);
    config.options_mut().execution.enable_file_stream_work_stealing = false;
    with_runtime(config, options)
}

fn config(streams: usize) -> SessionConfig {
    let mut config = SessionConfig::new().with_target_partitions(streams).with_collect_statistics(false);
    config.options_mut().optimizer.repartition_file_min_size = SHARED_BYTES;
    config
}

fn with_runtime(config: SessionConfig, options: &JobOptions) -> Result<SessionContext, JobError> {
    let runtime = runtime(options.memory_limit).build();
    let runtime = runtime.map_err(|error| JobError::reading("the spill folder", &error))?;
    Ok(guarded_context(config, Arc::new(runtime)))
}

/// A context in which a panic of a decoder is an error of the file, in whatever thread it is decoded.
pub(crate) fn guarded_context(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_physical_optimizer_rule(Arc::new(GuardDecoders))
        .build();
    SessionContext::new_with_state(state)
}

/// Returns a runtime builder with the memory limit.
pub(crate) fn runtime(memory_limit: Option<u64>) -> RuntimeEnvBuilder {
    let runtime = RuntimeEnvBuilder::new();
    match memory_limit {
        None => runtime,
        Some(limit) => {
            let pool = GreedyMemoryPool::new((limit as f64 * POOL_SHARE) as usize);
            runtime.with_memory_pool(Arc::new(TrackConsumersPool::new(pool, CONSUMERS_TOLD)))
        }
    }
}
