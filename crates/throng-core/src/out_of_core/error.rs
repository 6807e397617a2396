//! Errors of work on a table that may not fit into memory.

use std::error::Error;

use thiserror::Error as ThisError;

use crate::error::CoreError;
use crate::feasibility::Feasibility;

/// An error while the classes of a table are formed.
#[derive(Debug, ThisError)]
pub enum OutOfCoreError {
    /// The data can't be anonymized.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// More rows would have to be suppressed than the limit allows.
    #[error("{suppressed} of {rows} rows would have to be suppressed, and at most {most} may be")]
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
    /// A [budget](super::MemoryBudget) refused memory.
    #[error("there is not enough memory for {part}")]
    Memory {
        /// The part of the work that did not fit.
        part: &'static str,
        /// Minimum size in bytes of all memory that would be enough to continue, if known.
        least: Option<u64>,
    },
    /// The [workspace](super::Workspace) could not store lists or read them back.
    #[error("lists could not be stored or read back")]
    Storage(#[source] Box<dyn Error + Send + Sync>),
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// Stored lists are not those that were written.
    #[error("a stored list is missing or damaged")]
    Damaged,
}

impl OutOfCoreError {
    /// Raises the memory that would be enough to at least `least`, if this is an out-of-memory error.
    pub(super) fn with_least(self, least: u64) -> Self {
        match self {
            Self::Memory { part, least: known } => Self::Memory { part, least: known.map(|known| known.max(least)) },
            other => other,
        }
    }

    /// Replaces the memory that would be enough, if it can be computed and this is an out-of-memory error.
    pub(super) fn replace_least(self, least: impl FnOnce() -> Option<u64>) -> Self {
        match self {
            Self::Memory { part, least: known } => Self::Memory { part, least: least().or(known) },
            other => other,
        }
    }

    /// Raises the memory that would be enough by `more`, if this is an out-of-memory error.
    pub(super) fn plus_least(self, more: impl FnOnce() -> Option<u64>) -> Self {
        match self {
            Self::Memory { part, least: known } => {
                Self::Memory { part, least: known.map(|known| known + more().unwrap_or(0)) }
            }
            other => other,
        }
    }
}

/// Returns an error if no release can satisfy the privacy models, or if more than `limit` of `rows` rows would be
/// suppressed. `suppressed` rows were suppressed before the models were examined.
pub fn check_feasibility(
    found: &Feasibility,
    limit: Option<f64>,
    rows: u64,
    suppressed: u64,
) -> Result<(), OutOfCoreError> {
    if !found.shortfalls.is_empty() {
        return Err(CoreError::Infeasible(found.shortfalls.clone()).into());
    }
    check_suppression(limit, rows, suppressed + found.suppressed)
}

/// Returns an error if more than `limit` of `rows` rows are suppressed.
pub fn check_suppression(limit: Option<f64>, rows: u64, suppressed: u64) -> Result<(), OutOfCoreError> {
    let Some(limit) = limit else { return Ok(()) };
    // Tolerate rounding: a decimal limit may be slightly below the intended fraction.
    let most = (limit * rows as f64 * (1.0 + f64::EPSILON)).floor();
    match suppressed as f64 <= most {
        true => Ok(()),
        false => Err(OutOfCoreError::Suppression { rows, suppressed, limit, most }),
    }
}
