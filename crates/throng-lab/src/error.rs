//! Errors of the lab. They name tables and columns, and never a value.

use thiserror::Error;

/// A table that the lab can't use.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LabError {
    /// A column is missing.
    #[error("{table} has no column `{column}`")]
    NoColumn {
        /// The table: "the release" or "the original".
        table: &'static str,
        /// Name of the column that was asked for.
        column: String,
    },
    /// A column of a type that can't be compared.
    #[error("column `{column}` of {table} has a type that can't be compared")]
    Type {
        /// The table: "the release" or "the original".
        table: &'static str,
        /// Name of the column in that table.
        column: String,
    },
    /// A table without rows.
    #[error("{table} has no rows, so that there is nothing to measure")]
    NoRows {
        /// The table: "the release" or "the original".
        table: &'static str,
    },
    /// A label whose values are not known.
    #[error(
        "column `{column}` of {table} has a label that can't be read as a set of values, so that people can't be counted in it"
    )]
    UnreadLabel {
        /// The table: "the release" or "the original".
        table: &'static str,
        /// Name of the column in that table.
        column: String,
    },
    /// Missing bounds, which have two meanings.
    #[error(
        "column `{column}` of the release has missing bounds, which stand for a missing value or for any, so that people can't be \
         counted in them; release it as intervals"
    )]
    NoBounds {
        /// Name of the quasi-identifier in the release.
        column: String,
    },
    /// A column that shows a representative of its class.
    #[error(
        "column `{column}` of the release shows a mean, a median or a mode, which does not bound the values of a class, so that \
         people can't be counted in it"
    )]
    NoBox {
        /// Name of the quasi-identifier in the release.
        column: String,
    },
    /// A row without a weight.
    #[error(
        "column `{column}` has a row without a weight above 0; a weight is the number of people that a row stands for"
    )]
    Weight {
        /// Name of the column with the weights.
        column: String,
    },
    /// No quasi-identifier was named.
    #[error("no quasi-identifier is named, so that there is nothing to measure")]
    NoQuasi,
}
