//! What a job tells while it runs.

use std::fmt;

use crate::telemetry::Origins;

/// A stage of a job, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Reading the input.
    Survey,
    /// Cutting the table into leaves.
    Partition,
    /// Forming classes.
    Cluster,
    /// Generalizing values.
    Recode,
    /// Writing staged files.
    Write,
    /// Reading them back.
    Verify,
    /// Making them visible.
    Publish,
}

impl Stage {
    /// The name of the stage in logs and in the sidecar.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Partition => "partition",
            Self::Cluster => "cluster",
            Self::Recode => "recode",
            Self::Write => "write",
            Self::Verify => "verify",
            Self::Publish => "publish",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Hears of the progress of a job.
pub trait Observer: Send + Sync {
    /// A stage begins. `total` says how many steps it will take, where that is known.
    fn begin(&self, stage: Stage, total: Option<u64>);

    /// So many more steps of the current stage are done.
    fn advance(&self, steps: u64);

    /// A run begins under this name.
    fn started(&self, _run_id: &str) {}

    /// The policy fits the input; what the release makes of its columns is known.
    fn bound(&self, _origins: &Origins) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _stage: Stage, _total: Option<u64>) {}

    fn advance(&self, _steps: u64) {}
}
