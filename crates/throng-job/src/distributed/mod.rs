//! Distributed jobs: the same stages as three queries, each of which any DataFusion session can run.
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
//! The driver holds the content of the release's documents, and neither rows nor groups. Only the driver publishes,
//! through the same chain of types as a job in one process. Files of failed attempts are not referenced, and are
//! removed.

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

/// A compute cluster that runs queries.
#[derive(Clone)]
pub struct Cluster {
    /// Session whose queries may contain the tasks of this crate.
    pub session: SessionContext,
    /// Number of shuffle partitions.
    pub partitions: usize,
}

/// Decodes the tasks of this crate, for the codecs of a compute cluster. Returns `None` for an unknown name.
pub fn read_task(name: &str, body: &[u8]) -> Option<Result<Arc<dyn Task>>> {
    match name {
        Writes::NAME => Some(Writes::read(body).map(|task| Arc::new(task) as _)),
        Verifies::NAME => Some(Verifies::read(body).map(|task| Arc::new(task) as _)),
        _ => None,
    }
}

/// Classifies the error of a query on a compute cluster. The text of an engine error may quote values and is dropped.
fn failed(doing: &str, error: &DataFusionError) -> JobError {
    crate::sql::ours(error).unwrap_or_else(|| {
        let advice = "look into the logs of its executors, then try again";
        JobError::new(Kind::TemporaryIo, format!("the cluster failed while {doing}; {advice}"))
    })
}

#[cfg(test)]
#[path = "distributed_tests.rs"]
mod tests;
