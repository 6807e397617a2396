//! What can go wrong between a query and its release.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use thiserror::Error as ThisError;

/// An error of this crate.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The data can't be anonymized.
    #[error(transparent)]
    Core(#[from] throng_core::Error),
    /// The query failed. Its own message may quote values of the data, so whoever shows it must take care.
    #[error("the input could not be read")]
    Read(#[from] DataFusionError),
    /// An Arrow kernel failed.
    #[error("an Arrow kernel failed ({0})")]
    Kernel(&'static str, #[source] ArrowError),
    /// A task ended without a result; a bug of ours.
    #[error("a task of the survey ended without a result; please report this with the policy and the schema")]
    Task,
    /// More rows than can be numbered.
    #[error("the input has more than {0} rows, which is more than one release can hold; split it")]
    TooManyRows(u32),
}
