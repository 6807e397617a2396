//! The reasons why there is no release, as an enum that a host can match on.

use datafusion::error::DataFusionError;
use thiserror::Error;
use throng_core::CoreError;
use throng_core::feasibility::Shortfall;
use throng_core::verify::VerifyError;
use throng_datafusion::AnonymizeError;
use throng_policy::PolicyError;

/// An error of this crate. Neither its text nor that of its sources quotes a value of the data.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThrongError {
    /// The policy is invalid, does not fit the columns of the table, or has no secret.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// No release of this table can keep the promise of the policy.
    #[error("the privacy target can't be met: {}", joined(.shortfalls))]
    Infeasible {
        /// All requirements that can't be met, with columns and counts.
        shortfalls: Vec<Shortfall>,
    },
    /// More rows would have to be suppressed than the policy allows.
    #[error("{suppressed} of {rows} rows would have to be suppressed, and the policy allows a share of {limit}")]
    TooManySuppressed {
        /// Rows of the table.
        rows: u64,
        /// Rows that would be suppressed.
        suppressed: u64,
        /// The largest share of the rows that the policy allows.
        limit: f64,
    },
    /// Insensitive columns single out more rows than the policy allows.
    #[error("insensitive columns single out a share of {share:.3} of the rows, and the policy allows {limit}")]
    TooMuchExposed {
        /// Share of the rows that insensitive columns single out, alone or together with the quasi-identifiers.
        share: f64,
        /// The largest share that the policy allows.
        limit: f64,
    },
    /// The table has no rows that can be released.
    #[error("the table has no rows to release ({suppressed} were suppressed for nulls)")]
    NoRows {
        /// Rows that were in the table and had to be suppressed.
        suppressed: u64,
    },
    /// A value of the table does not fit its policy: NaN, null, or missing from a hierarchy or from the categories. Holds the
    /// column name and counts.
    #[error(transparent)]
    Data(CoreError),
    /// There are no batches, and so no schema.
    #[error("there are no batches; a table needs at least one, which may be empty")]
    NoBatches,
    /// The batches differ in their schemas.
    #[error("batch {batch} has a different schema from the first")]
    SchemaMismatch {
        /// The first batch that differs, counted from zero.
        batch: usize,
    },
    /// The verified table lacks columns of the promise, or has them in a form that can't be compared.
    #[error(transparent)]
    Unverifiable(#[from] VerifyError),
    /// The verified table has columns that the policy does not release.
    #[error("the table has columns that the policy does not release: {}", columns.join(", "))]
    UnexpectedColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// A release was made and did not pass verification, which is a bug in Throng. None of it was returned.
    #[error("the release was refused before any of it was given: {reason}; please report this")]
    Refused {
        /// The check that failed.
        reason: &'static str,
    },
    /// The examiner of the session ([`ReleaseExaminer`](crate::ReleaseExaminer)) refused a release, or failed. None of it was returned.
    #[error(transparent)]
    Examined(Box<dyn std::error::Error + Send + Sync>),
    /// The table can't be read. [`classify`](crate::classify) returns the cause. Values that the message may have quoted have been
    /// removed from the source.
    #[error("the table can't be read")]
    Read(#[source] DataFusionError),
    /// The memory pool of the session is exhausted.
    #[error("the memory of the session does not leave enough room for {part}; raise its limit")]
    Memory {
        /// The part of the work that did not fit.
        part: &'static str,
    },
    /// Rows could not be spilled to disk or read back.
    #[error("rows can't be spilled to disk; check the space in the temporary folder")]
    Spill(#[source] DataFusionError),
    /// The table changed while it was read.
    #[error("the table has changed while it was read; try again")]
    Changed,
    /// The caller dropped the future.
    #[error("the work was cancelled")]
    Cancelled,
    /// A function of [`blocking`](crate::blocking) was called from an asynchronous task.
    #[error("this thread runs asynchronous tasks, which must not block; call the asynchronous function instead")]
    WouldBlock,
    /// The threads of a blocking call can't be started.
    #[error("the threads of a blocking call can't be started: {0}")]
    Threads(#[source] std::io::Error),
    /// A bug in Throng, or a failure in a library. Has no source, because its message might quote values.
    #[error("{reason}")]
    Internal {
        /// The part of the work that failed.
        reason: String,
    },
}

fn joined(shortfalls: &[Shortfall]) -> String {
    shortfalls.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl ThrongError {
    /// Converts an error of the engine, which may wrap one of ours and may quote values.
    pub(crate) fn from_engine(error: DataFusionError) -> Self {
        AnonymizeError::from(error).into()
    }
}

/// Redacts an error of the engine, by converting it.
fn redacted(error: AnonymizeError) -> DataFusionError {
    error.into()
}

impl From<CoreError> for ThrongError {
    fn from(error: CoreError) -> Self {
        match error {
            CoreError::Infeasible(shortfalls) => Self::Infeasible { shortfalls },
            CoreError::NoRows { suppressed } => Self::NoRows { suppressed },
            error if error.is_internal() => Self::Internal { reason: error.to_string() },
            error => Self::Data(error),
        }
    }
}

impl From<AnonymizeError> for ThrongError {
    fn from(error: AnonymizeError) -> Self {
        match error {
            AnonymizeError::Core(error) => error.into(),
            AnonymizeError::Policy(error) => Self::Policy(error),
            AnonymizeError::Suppression { rows, suppressed, limit, .. } => {
                Self::TooManySuppressed { rows, suppressed, limit }
            }
            AnonymizeError::Exposed { alone, with_quasi, limit } => {
                Self::TooMuchExposed { share: alone.max(with_quasi), limit }
            }
            error @ AnonymizeError::Read(_) => Self::Read(redacted(error)),
            AnonymizeError::Memory { part, .. } => Self::Memory { part },
            AnonymizeError::Spill(source) => Self::Spill(redacted(AnonymizeError::Read(source))),
            AnonymizeError::Store(source) => Self::Spill(source.into()),
            AnonymizeError::Refused(reason) => Self::Refused { reason },
            AnonymizeError::Examined(error) => Self::Examined(error),
            AnonymizeError::Verify(error) => Self::Unverifiable(error),
            AnonymizeError::Changed => Self::Changed,
            AnonymizeError::Cancelled => Self::Cancelled,
            error => Self::Internal { reason: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_of_the_core_is_internal() {
        let bug = ThrongError::from(CoreError::Beyond { column: "age".to_owned(), classes: 1 });
        assert!(matches!(bug, ThrongError::Internal { .. }));
        assert!(matches!(ThrongError::from(CoreError::Limit { column: "age".to_owned() }), ThrongError::Data(_)));
    }
}
