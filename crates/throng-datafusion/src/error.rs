//! Errors between a query and its release.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use thiserror::Error as ThisError;

use crate::redact::redacted;

/// An error of this crate.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum AnonymizeError {
    /// The data can't be anonymized.
    #[error(transparent)]
    Core(#[from] throng_core::CoreError),
    /// The policy does not fit the input.
    #[error(transparent)]
    Policy(#[from] throng_policy::PolicyError),
    /// More rows would have to be left out than the policy allows.
    #[error("the privacy target can't be met: {}", too_many_suppressed(*.rows, *.suppressed, *.limit, *.most))]
    Suppression {
        /// Rows of the input.
        rows: u64,
        /// Rows that would be left out.
        suppressed: u64,
        /// The share that the policy allows.
        limit: f64,
        /// As many rows.
        most: f64,
    },
    /// The query failed. Its own message may quote values of the data, so it must be passed through [`classify`](crate::classify) and not be shown.
    #[error("the input could not be read")]
    Read(#[source] DataFusionError),
    /// Rows that do not fit into memory could not be written to disk or read back.
    #[error("rows could not be spilled to disk; check the space in the temporary folder (`TMPDIR`), then try again")]
    Spill(#[source] DataFusionError),
    /// The memory of the session does not suffice.
    #[error("the memory limit does not leave enough room for {0}; raise the memory limit (`--memory-limit`)")]
    Memory(&'static str),
    /// A release was looked at before anybody saw it, and does not keep its promise; a bug of ours.
    #[error(
        "the release was refused before any of it was shown: {0}; please report this with the policy and the schema"
    )]
    Refused(&'static str),
    /// An object on a store could not be written or read.
    #[error("a store failed while the release was made")]
    Store(#[source] datafusion::object_store::Error),
    /// Rows were read that had not been there when the table was surveyed.
    #[error("the input has changed while it was read; try again")]
    Changed,
    /// The caller has dropped the query.
    #[error("the query was cancelled")]
    Cancelled,
    /// A part of a plan could not be read.
    #[error(transparent)]
    Codec(#[from] crate::CodecError),
    /// An Arrow kernel failed.
    #[error("an Arrow kernel failed ({0})")]
    Kernel(&'static str, #[source] ArrowError),
    /// A task ended without a result; a bug of ours.
    #[error("a task of the survey ended without a result; please report this with the policy and the schema")]
    Task,
}

impl AnonymizeError {
    /// Returns the reasons for which no release of the input can keep the promise; none for any other error.
    pub fn shortfalls(&self) -> Option<Vec<String>> {
        match self {
            Self::Core(throng_core::CoreError::Infeasible(shortfalls)) => {
                Some(shortfalls.iter().map(ToString::to_string).collect())
            }
            Self::Suppression { rows, suppressed, limit, most } => {
                Some(vec![too_many_suppressed(*rows, *suppressed, *limit, *most)])
            }
            _ => None,
        }
    }
}

fn too_many_suppressed(rows: u64, suppressed: u64, limit: f64, most: f64) -> String {
    format!(
        "{suppressed} of {rows} rows would have to be suppressed, and `suppression_limit = {limit}` allows at most \
         {most}; raise a `limit` or `suppression_limit`, or lower k or p"
    )
}

impl From<AnonymizeError> for DataFusionError {
    /// An error of the query itself keeps its kind and its place, and loses the values that it quotes.
    fn from(error: AnonymizeError) -> Self {
        match error {
            AnonymizeError::Read(error) => redacted(error),
            other => Self::External(Box::new(other)),
        }
    }
}

impl From<DataFusionError> for AnonymizeError {
    /// Unwraps an error of this crate that went through the engine.
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(ours) => *ours,
                Err(inner) => Self::Read(DataFusionError::External(inner)),
            },
            other => Self::Read(other),
        }
    }
}
