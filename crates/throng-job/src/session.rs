//! The DataFusion session of a job.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use throng_datafusion::GuardDecoders;

use crate::error::JobError;
use crate::job::JobOptions;
use crate::memory::job_pool;

/// Share of the memory limit of an executor of a cluster that its pool may use. The rest is for memory that no pool accounts
/// for: code, threads, buffers of readers and writers, and allocator overhead.
pub const POOL_SHARE: f64 = 0.75;

/// Minimum size of a file that is read by all threads: a release is small relative to its number of rows.
const SHARED_BYTES: usize = 1 << 20;

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

/// Returns a session that reads a table in one stream, in the order of its files, with the runtime of another session.
pub(crate) fn one_stream(session: &SessionContext) -> SessionContext {
    let mut config = session.copied_config().with_target_partitions(1);
    config.options_mut().execution.enable_file_stream_work_stealing = false;
    guarded_context(config, session.runtime_env())
}

fn config(streams: usize) -> SessionConfig {
    let mut config = SessionConfig::new().with_target_partitions(streams).with_collect_statistics(false);
    config.options_mut().optimizer.repartition_file_min_size = SHARED_BYTES;
    config
}

fn with_runtime(config: SessionConfig, options: &JobOptions) -> Result<SessionContext, JobError> {
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(limit) = options.memory_limit {
        runtime = runtime.with_memory_pool(Arc::new(job_pool(limit)));
    }
    let runtime = runtime.build();
    let runtime = runtime.map_err(|error| JobError::reading("the spill folder", &error))?;
    Ok(guarded_context(config, Arc::new(runtime)))
}

/// Returns a context in which a decoder panic on any thread becomes an error of the file.
pub(crate) fn guarded_context(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_physical_optimizer_rule(Arc::new(GuardDecoders))
        .build();
    SessionContext::new_with_state(state)
}
