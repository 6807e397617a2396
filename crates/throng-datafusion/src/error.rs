//! Error type of this crate.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use thiserror::Error as ThisError;
use throng_core::out_of_core::OutOfCoreError;

use crate::redact::redacted;

/// An error while a release is computed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum AnonymizeError {
    /// The data can't be anonymized.
    #[error(transparent)]
    Core(#[from] throng_core::CoreError),
    /// The policy does not fit the input.
    #[error(transparent)]
    Policy(#[from] throng_policy::PolicyError),
    /// More rows would have to be suppressed than the policy allows.
    #[error("the privacy target can't be met: {}", too_many_suppressed(*.rows, *.suppressed, *.limit, *.most))]
    Suppression {
        /// Number of input rows.
        rows: u64,
        /// Number of rows that would be suppressed.
        suppressed: u64,
        /// Maximum share of suppressed rows.
        limit: f64,
        /// Maximum number of suppressed rows.
        most: f64,
    },
    /// Insensitive columns single out more rows than the policy allows.
    #[error("the privacy target can't be met: {}", too_much_exposed(*.alone, *.with_quasi, *.limit))]
    Exposed {
        /// Share of rows that the insensitive columns single out.
        alone: f64,
        /// Share of rows that they single out together with the quasi-identifiers.
        with_quasi: f64,
        /// Maximum share.
        limit: f64,
    },
    /// The query failed. The source error may quote values of the data: it must be passed through
    /// [`classify`](crate::classify) and must not be shown.
    #[error("the input could not be read")]
    Read(#[source] DataFusionError),
    /// Spilled rows could not be written to disk or read back.
    #[error("rows could not be spilled to disk; check the space in the temporary folder (`TMPDIR`), then try again")]
    Spill(#[source] DataFusionError),
    /// The memory pool of the session is exhausted.
    #[error("the memory pool does not leave enough room for {part}; raise its limit")]
    Memory {
        /// The part of the work that did not fit.
        part: &'static str,
        /// Minimum size in bytes that the pool would need to continue, if known.
        least: Option<u64>,
    },
    /// The verifier rejected a release before any of its rows was emitted. This is a bug in Throng.
    #[error(
        "the release was refused before any of it was shown: {0}; please report this with the policy and the schema"
    )]
    Refused(&'static str),
    /// The host's examiner refused a release before any of its rows was emitted, or failed. See
    /// [`ReleaseExaminer`](crate::ReleaseExaminer).
    #[error(transparent)]
    Examined(Box<dyn std::error::Error + Send + Sync>),
    /// A release can't be compared with its promise.
    #[error(transparent)]
    Verify(#[from] throng_core::verify::VerifyError),
    /// An object could not be written to or read from an object store.
    #[error("a store failed while the release was made")]
    Store(#[source] datafusion::object_store::Error),
    /// The input contains rows that were not present when it was surveyed.
    #[error("the input has changed while it was read; try again")]
    Changed,
    /// A stream was read a second time.
    #[error(
        "the stream was read before; read again, its rows could be released in other classes, and both releases together \
         disclose more than one. Keep what a query returns in a table of its own (CREATE TABLE ... AS), or register the input \
         again if its rows are others"
    )]
    StreamReadAgain,
    /// The query was dropped by the caller.
    #[error("the query was cancelled")]
    Cancelled,
    /// An encoded plan node could not be decoded.
    #[error(transparent)]
    Codec(#[from] crate::CodecError),
    /// An Arrow kernel failed.
    #[error("an Arrow kernel failed ({0})")]
    Kernel(&'static str, #[source] ArrowError),
    /// A task panicked, or returned an unexpected result. This is a bug in Throng.
    #[error("a task of the survey ended without a result; please report this with the policy and the schema")]
    Task,
}

impl AnonymizeError {
    /// Returns the reasons why no release of the input can satisfy the privacy models, or `None` for any other error.
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

fn too_much_exposed(alone: f64, with_quasi: f64, limit: f64) -> String {
    format!(
        "insensitive columns single out {:.1} % of the rows, and {:.1} % together with the released quasi-identifiers, and \
         `insensitive_uniqueness = {limit}` allows {:.1} %; call columns that others may know `quasi`, leave them out as \
         `identifier`, or raise the limit",
        100.0 * alone,
        100.0 * with_quasi,
        100.0 * limit
    )
}

impl From<OutOfCoreError> for AnonymizeError {
    fn from(error: OutOfCoreError) -> Self {
        match error {
            OutOfCoreError::Core(error) => Self::Core(error),
            OutOfCoreError::Suppression { rows, suppressed, limit, most } => {
                Self::Suppression { rows, suppressed, limit, most }
            }
            OutOfCoreError::Memory { part, least } => Self::Memory { part, least },
            OutOfCoreError::Storage(source) => match source.downcast::<Self>() {
                Ok(ours) => *ours,
                Err(source) => Self::Spill(DataFusionError::External(source)),
            },
            OutOfCoreError::Cancelled => Self::Cancelled,
            OutOfCoreError::Damaged => Self::Task,
        }
    }
}

impl From<AnonymizeError> for DataFusionError {
    /// Redacts an error of the query: keeps its kind and position, drops quoted values.
    fn from(error: AnonymizeError) -> Self {
        match error {
            AnonymizeError::Read(error) => redacted(error),
            other => Self::External(Box::new(other)),
        }
    }
}

impl From<DataFusionError> for AnonymizeError {
    /// Unwraps an [`AnonymizeError`] that was wrapped by the engine.
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
