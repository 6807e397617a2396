//! The job on a cluster: the same stages as three queries, each of which any session of DataFusion can run.
//!
//! ```text
//!  driver                      cluster
//!  bind, stage                 survey ─► outline            (throng_datafusion::distributed)
//!  facts ◄───────────────────────────────┘
//!                              route ─► deal ─► write       part-<file>-<attempt> below the staging place
//!  one attempt per file ◄──────────────────────┘
//!                              verify                       each class by one task
//!  publish ◄───────────────────┘
//! ```
//!
//! The driver holds what the documents of a release hold, and no rows and no groups. It alone publishes, by the same chain
//! of types as a job in one process. Whatever an attempt leaves that did not succeed is named by nobody, and removed.

mod make;
mod verifies;
mod writes;

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use throng_datafusion::distributed::Task;

pub(crate) use make::{Made, make};
pub(crate) use verifies::examine_on;

use crate::error::{JobError, Kind};
use verifies::Verifies;
use writes::Writes;

/// A cluster that runs queries.
#[derive(Clone)]
pub struct Cluster {
    /// Runs queries with the tasks of this crate.
    pub session: SessionContext,
    /// Into how many partitions rows are sent.
    pub partitions: usize,
}

/// Makes the tasks of this crate, for the codecs of a cluster.
pub fn read_task(name: &str, body: &[u8]) -> Option<Result<Arc<dyn Task>>> {
    match name {
        Writes::NAME => Some(Writes::read(body).map(|task| Arc::new(task) as _)),
        Verifies::NAME => Some(Verifies::read(body).map(|task| Arc::new(task) as _)),
        _ => None,
    }
}

/// What a query on a cluster failed of. The words of an engine may quote values, and are not told.
fn failed(doing: &str, error: &DataFusionError) -> JobError {
    crate::sql::ours(error).unwrap_or_else(|| {
        let advice = "look into the logs of its executors, then try again";
        JobError::new(Kind::TemporaryIo, format!("the cluster failed while {doing}; {advice}"))
    })
}

#[cfg(test)]
#[path = "distributed_tests.rs"]
mod tests;
