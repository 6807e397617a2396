//! The DataFusion session of a job.

use std::sync::Arc;

use datafusion::execution::memory_pool::{GreedyMemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::error::JobError;
use crate::job::JobOptions;

/// The part of a memory limit that the pool of the session has. The rest is for what no pool counts: code, threads,
/// buffers of readers and writers, and what an allocator keeps back.
pub const POOL_SHARE: f64 = 0.75;

/// Files of at least so many bytes are read by all threads together: a release is small for the rows that it has.
const SHARED_BYTES: usize = 1 << 20;

/// How many consumers an error of the pool lists.
const CONSUMERS_TOLD: std::num::NonZeroUsize = std::num::NonZeroUsize::MIN;

/// A session that reads with so many threads, within the memory limit.
pub(crate) fn session(options: &JobOptions) -> Result<SessionContext, JobError> {
    with_runtime(config(options.threads.max(1)), options)
}

/// The same for a look at a table in so many streams, each of them rows that lie together.
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
    Ok(SessionContext::new_with_config_rt(config, Arc::new(runtime)))
}

/// A runtime within the memory limit.
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
