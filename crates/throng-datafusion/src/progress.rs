//! What the operator tells while it works.

/// A step of the operator, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reading the input.
    Survey,
    /// Cutting the table into leaves.
    Partition,
    /// Forming classes.
    Cluster,
    /// Generalizing values and ordering rows.
    Recode,
}

impl Step {
    /// The name of the step in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Partition => "partition",
            Self::Cluster => "cluster",
            Self::Recode => "recode",
        }
    }

    /// Tells that the step begins, and gives the span in which its work belongs.
    pub(crate) fn begin(self, progress: &dyn Progress, total: Option<u64>) -> tracing::Span {
        progress.begin(self, total);
        tracing::info_span!("stage", stage = self.as_str())
    }
}

/// Hears of nothing.
pub(crate) struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _: Step, _: Option<u64>) {}

    fn advance(&self, _: u64) {}
}

/// Hears of the progress of the operator.
pub trait Progress: Send + Sync {
    /// A step begins. `total` says how many units of work it has, where that is known.
    fn begin(&self, step: Step, total: Option<u64>);

    /// So many more units of the current step are done: rows of the survey, cells of the clustering.
    fn advance(&self, units: u64);
}
