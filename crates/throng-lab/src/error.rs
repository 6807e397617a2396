//! Errors of the lab. They name tables and columns, and never a value.

use thiserror::Error;

/// A table that the lab can't use.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LabError {
    /// A column is missing.
    #[error("{table} has no column `{column}`")]
    NoColumn {
        /// Which table: "the release" or "the original".
        table: &'static str,
        /// The column.
        column: String,
    },
    /// A column of a type that can't be compared.
    #[error("column `{column}` of {table} has a type that can't be compared")]
    Type {
        /// Which table.
        table: &'static str,
        /// The column.
        column: String,
    },
    /// A table without rows.
    #[error("{table} has no rows, so that there is nothing to measure")]
    NoRows {
        /// Which table.
        table: &'static str,
    },
    /// No quasi-identifier was named.
    #[error("no quasi-identifier is named, so that there is nothing to measure")]
    NoQuasi,
}
