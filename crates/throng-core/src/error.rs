//! Errors of the core. No message contains a value of the data: columns, counts and types only.

use arrow::error::ArrowError;
use thiserror::Error;

use crate::feasibility::Shortfall;

/// Result type of the core.
pub type Result<T, E = CoreError> = std::result::Result<T, E>;

/// Reason why the core can't make or measure a release.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CoreError {
    /// A value is NaN or infinite where a finite number is required.
    #[error(
        "column `{column}` has NaN or infinite values in {rows} rows; a {role} must be finite: remove or replace them"
    )]
    NotFinite {
        /// Name of the column in the input.
        column: String,
        /// `quasi-identifier` or `sensitive column`.
        role: &'static str,
        /// Number of such rows in the batch.
        rows: usize,
    },
    /// A value is null although the policy forbids it.
    #[error(
        "column `{column}` has nulls in {rows} rows, and its policy says `nulls = \"error\"`; \
         correct the input, or set `nulls` to \"value\" or \"suppress\""
    )]
    Null {
        /// Name of the column in the input.
        column: String,
        /// Number of such rows in the batch.
        rows: usize,
    },
    /// A hierarchy does not fit its column.
    #[error("column `{column}`: {source}")]
    Hierarchy {
        /// Name of the column in the input.
        column: String,
        /// The reason.
        source: crate::hierarchy::BuildError,
    },
    /// The type of a constraint does not fit its column.
    #[error(
        "column `{column}` has a `limit` that does not fit it: a level or allowed values need a hierarchy, \
         bands need a number without one"
    )]
    Limit {
        /// Name of the constrained column.
        column: String,
    },
    /// The grid of a cover does not fit the type or the size of the values.
    #[error(
        "column `{column}` has a `cover` that does not fit it: its values are too large or too fine for a grid of this \
         width, or its type has none; change the width, or leave `cover` out"
    )]
    Cover {
        /// Name of the covered column.
        column: String,
    },
    /// A sensitive column has values without a category.
    #[error(
        "sensitive column `{column}` has {count} distinct values that are in none of its `categories`; \
         put each of them into one"
    )]
    Uncategorized {
        /// Name of the sensitive column.
        column: String,
        /// Number of distinct values.
        count: usize,
    },
    /// The generalization lattice is too large to search.
    #[error(
        "the hierarchies of the quasi-identifiers allow {nodes} combinations of levels, and `incognito` searches at \
         most {limit}; use fewer levels or columns, or another partition"
    )]
    Lattice {
        /// Number of nodes of the lattice.
        nodes: u128,
        /// Maximum number of nodes.
        limit: u128,
    },
    /// Bands or a range are required of a column that has neither numbers nor dates.
    #[error(
        "sensitive column `{column}` has neither numbers nor dates, so that it has no bands and no range; leave them out"
    )]
    NoNumbers {
        /// Name of the sensitive column.
        column: String,
    },
    /// A value cannot be formatted, such as a date out of range.
    #[error(
        "column `{column}` has values that can't be written as text, such as dates beyond the calendar; correct them"
    )]
    NoText {
        /// Name of the column in the input.
        column: String,
    },
    /// A value that a release can't hold.
    #[error(
        "column `{column}` is {data_type} and has values that a release can't hold: a time beyond milliseconds of 64 bits, \
         or a decimal with more digits than its type has; correct them, or make the column an `identifier` to drop it"
    )]
    OutOfRange {
        /// Name of the column in the input.
        column: String,
        /// Arrow type of the column.
        data_type: String,
    },
    /// A type that can't be a quasi-identifier or sensitive.
    #[error("column `{column}` is {data_type}, which can't be a {role}; drop it, or keep it as `insensitive`")]
    Type {
        /// Name of the column in the input.
        column: String,
        /// Arrow type of the column.
        data_type: String,
        /// `quasi-identifier` or `sensitive column`.
        role: &'static str,
    },
    /// There are no rows to release.
    #[error("the input has no rows{}; a release needs at least k of them", suppressed_note(*.suppressed))]
    NoRows {
        /// Number of suppressed rows.
        suppressed: u64,
    },
    /// The input has too many distinct rows for one survey.
    #[error("the input has more than {limit} distinct rows in one survey; split it into several releases")]
    TooLarge {
        /// Maximum number of distinct rows.
        limit: u32,
    },
    /// No release of this input satisfies the privacy model.
    #[error("the privacy target can't be met: {}", list(.0))]
    Infeasible(Vec<Shortfall>),
    /// Internal error: a clustering lost or duplicated rows.
    #[error(
        "a clustering misplaced the rows of {groups} groups; nothing is released, please report this with the policy"
    )]
    Misplaced {
        /// Number of groups whose rows are missing or occur more than once.
        groups: usize,
    },
    /// Internal error: a clustering violated a constraint.
    #[error(
        "{classes} classes would generalize column `{column}` beyond its limit; nothing is released, please report this \
         with the policy"
    )]
    Beyond {
        /// Name of the constrained column.
        column: String,
        /// Number of classes that are generalized beyond the limit.
        classes: usize,
    },
    /// An Arrow kernel failed: an internal error, or out of memory.
    #[error("an Arrow kernel failed ({0}); please report this with the policy and the schema")]
    Kernel(&'static str, #[source] ArrowError),
}

impl CoreError {
    /// Whether this is a bug or a failure in a library, rather than a property of the input or its policy.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Kernel(..) | Self::Misplaced { .. } | Self::Beyond { .. })
    }
}

fn suppressed_note(suppressed: u64) -> String {
    if suppressed == 0 { String::new() } else { format!(" left after {suppressed} with nulls were suppressed") }
}

fn list(shortfalls: &[Shortfall]) -> String {
    shortfalls.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Wraps an error of the named kernel. Its own message may quote values, so it stays in the source.
pub(crate) fn kernel(name: &'static str) -> impl FnOnce(ArrowError) -> CoreError {
    move |source| CoreError::Kernel(name, source)
}
