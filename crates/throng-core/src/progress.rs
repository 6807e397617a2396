//! Progress of the operator and of a job.

use std::fmt;

/// A stage of a job, in order. The operator executes those up to `Recode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Reading the input.
    Survey,
    /// Splitting the table into leaves.
    Partition,
    /// Forming classes.
    Cluster,
    /// Generalizing values and ordering rows.
    Recode,
    /// Writing staged files.
    Write,
    /// Reading staged files back.
    Verify,
    /// Making the release visible.
    Publish,
}

impl Stage {
    /// Returns the name of the stage in logs, spans and the sidecar.
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

    /// Reports that the stage begins, and returns the span of its work.
    pub fn begin(self, progress: &dyn Progress, total: Option<u64>) -> tracing::Span {
        progress.begin(self, total);
        tracing::info_span!("stage", stage = self.as_str())
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Receives the progress of the operator or of a job. Its methods are called from several threads, and must not block.
pub trait Progress: Send + Sync {
    /// A stage begins, which ends the previous one. `total` is the number of its units of work, if known.
    fn begin(&self, stage: Stage, total: Option<u64>);

    /// `units` more units of the current stage are done: rows of the survey, cells of the clustering, rows written or read.
    fn advance(&self, units: u64);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _: Stage, _: Option<u64>) {}

    fn advance(&self, _: u64) {}
}
