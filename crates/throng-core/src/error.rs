//! What can go wrong in the core. No message holds a value of the data: columns, counts and types only.

use arrow::error::ArrowError;
use thiserror::Error;

use crate::feasibility::Shortfall;

/// A result of the core.
pub type Result<T, E = CoreError> = std::result::Result<T, E>;

/// An error of the core.
#[derive(Debug, Error)]
pub enum CoreError {
    /// NaN or an infinity where a finite number is needed.
    #[error(
        "column `{column}` has NaN or infinite values in {rows} rows; a {role} must be finite: remove or replace them"
    )]
    NotFinite {
        /// The column.
        column: String,
        /// `quasi-identifier` or `sensitive column`.
        role: &'static str,
        /// How many rows, in the batch that was looked at.
        rows: usize,
    },
    /// Null where the policy allows none.
    #[error(
        "column `{column}` has nulls in {rows} rows, and its policy says `nulls = \"error\"`; \
         mend the input, or set `nulls` to \"value\" or \"suppress\""
    )]
    Null {
        /// The column.
        column: String,
        /// How many rows, in the batch that was looked at.
        rows: usize,
    },
    /// A hierarchy does not fit its column.
    #[error("column `{column}`: {source}")]
    Hierarchy {
        /// The column.
        column: String,
        /// What does not fit.
        source: crate::hierarchy::BuildError,
    },
    /// A limit does not fit its column.
    #[error(
        "column `{column}` has a `limit` that does not fit it: a level or allowed values need a hierarchy, \
         bands need a number without one"
    )]
    Limit {
        /// The column.
        column: String,
    },
    /// Values of a sensitive column that no category holds.
    #[error(
        "sensitive column `{column}` has {count} distinct values that are in none of its `categories`; \
         put each of them into one"
    )]
    Uncategorized {
        /// The column.
        column: String,
        /// How many distinct values.
        count: usize,
    },
    /// More combinations of levels than can be searched.
    #[error(
        "the hierarchies of the quasi-identifiers allow {nodes} combinations of levels, and `incognito` searches at \
         most {limit}; use fewer levels or columns, or another partition"
    )]
    Lattice {
        /// The combinations that there are.
        nodes: u128,
        /// The most that are searched.
        limit: u128,
    },
    /// A value that can't be written, such as a date beyond the calendar.
    #[error("column `{column}` has values that can't be written as text, such as dates beyond the calendar; mend them")]
    NoText {
        /// The column.
        column: String,
    },
    /// A type that can't be a quasi-identifier or sensitive.
    #[error("column `{column}` is {data_type}, which can't be a {role}; drop it, or keep it as `insensitive`")]
    Type {
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
        /// `quasi-identifier` or `sensitive column`.
        role: &'static str,
    },
    /// There is nothing to release.
    #[error("the input has no rows{}; a release needs at least k of them", suppressed_note(*.suppressed))]
    NoRows {
        /// Rows that were there and had to be suppressed.
        suppressed: u64,
    },
    /// More rows than one table of cells can count.
    #[error("the input has more than {limit} distinct rows in one survey; split it into several releases")]
    TooLarge {
        /// The limit.
        limit: u32,
    },
    /// The privacy model can't be met by any release of this input.
    #[error("the privacy target can't be met: {}", list(.0))]
    Infeasible(Vec<Shortfall>),
    /// A clustering lost or doubled rows; a bug of ours.
    #[error(
        "a clustering misplaced the rows of {groups} groups; nothing is released, please report this with the policy"
    )]
    Misplaced {
        /// How many groups.
        groups: usize,
    },
    /// A clustering went beyond a limit; a bug of ours.
    #[error(
        "{classes} classes would generalize column `{column}` beyond its limit; nothing is released, please report this \
         with the policy"
    )]
    Beyond {
        /// The column.
        column: String,
        /// How many classes.
        classes: usize,
    },
    /// An Arrow kernel failed; a bug of ours, or memory that ran out.
    #[error("an Arrow kernel failed ({0}); please report this with the policy and the schema")]
    Kernel(&'static str, #[source] ArrowError),
}

fn suppressed_note(suppressed: u64) -> String {
    if suppressed == 0 { String::new() } else { format!(" left after {suppressed} with nulls were suppressed") }
}

fn list(shortfalls: &[Shortfall]) -> String {
    shortfalls.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Names the kernel that failed. Its own message may quote values, so it stays in the source.
pub(crate) fn kernel(name: &'static str) -> impl FnOnce(ArrowError) -> CoreError {
    move |source| CoreError::Kernel(name, source)
}
