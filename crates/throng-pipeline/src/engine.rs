//! The DataFusion session of a job.

use datafusion::prelude::{SessionConfig, SessionContext};

/// A session that reads with so many threads.
pub(crate) fn session(threads: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(threads.max(1)).with_collect_statistics(false);
    SessionContext::new_with_config(config)
}
