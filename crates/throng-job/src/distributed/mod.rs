//! Distributed jobs: the same stages as three queries, each of which any DataFusion session can run.
//!
//! ```text
//!  driver                      cluster
//!  bind, stage                 survey ─► plan               (throng_datafusion::distributed)
//!  facts ◄───────────────────────────────┘
//!                              route ─► assign ─► write     part-<file>-<attempt> below the staging place
//!  one attempt per file ◄──────────────────────┘
//!                              verify                       each class by one task
//!  publish ◄───────────────────┘
//! ```
//!
//! For a night of a series ([`crate::series`]), the cluster reads the input and verifies the files; the driver, which alone has
//! the ledger, decides and writes.
//!
//! The driver holds the content of the release's documents, and neither rows nor groups. Only the driver publishes,
//! through the same chain of types as a job in one process. Files of failed attempts are not referenced, and are
//! removed.

mod release;
mod write_task;

use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use futures::future::BoxFuture;
use throng_datafusion::distributed::TaskKind;

pub(crate) use release::{StagedFacts, release_on, verify_on};

use crate::error::{JobError, Kind};
use write_task::WRITE_TASK;

/// A compute cluster that runs queries.
#[derive(Clone)]
pub struct Cluster {
    /// Session whose queries may contain the tasks of this crate.
    pub session: SessionContext,
    /// Number of shuffle partitions.
    pub partitions: usize,
}

/// Tasks of this crate, for the codecs of a compute cluster.
pub static JOB_TASKS: [&TaskKind; 1] = [&WRITE_TASK];

/// Runs a query, and retries it once after a transient failure: a compute cluster that has lost an executor may fail a query
/// that succeeds on retry.
pub(crate) async fn retried<'a, T>(
    query: impl Fn() -> BoxFuture<'a, Result<T, JobError>> + Send,
) -> Result<T, JobError> {
    match query().await {
        Err(error) if error.kind() == Kind::TemporaryIo => {
            tracing::warn!("{error}; retrying the query once");
            query().await
        }
        answered => answered,
    }
}

/// Classifies the error of a query on a compute cluster. The text of an engine error may quote values and is dropped.
pub(crate) fn failed(doing: &str, error: &DataFusionError) -> JobError {
    crate::sql::ours(error).unwrap_or_else(|| {
        let advice = "look into the logs of its executors, then try again";
        JobError::new(Kind::TemporaryIo, format!("the cluster failed while {doing}; {advice}"))
    })
}

#[cfg(test)]
#[path = "distributed_tests.rs"]
mod tests;
