//! The DataFusion session of a job.

use datafusion::prelude::{SessionConfig, SessionContext};

use crate::job::JobOptions;

/// A session that reads with so many threads.
pub(crate) fn session(options: &JobOptions) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(options.threads.max(1)).with_collect_statistics(false);
    SessionContext::new_with_config(config)
}
