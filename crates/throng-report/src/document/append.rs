//! Facts about a release that is appended to.

use serde::{Deserialize, Serialize};

/// Facts about all appends of a release. The other facts of a sidecar are those of the rows that the last one added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendFacts {
    /// Number of appends, including the last one.
    pub appends: u64,
    /// Number of input files whose rows the release has.
    pub input_files: u64,
    /// Number of rows of the release.
    pub rows: u64,
    /// Number of data files of the release.
    pub files: u64,
    /// Total size of its files.
    pub bytes: u64,
    /// Totals that the files do not show; absent if the release was begun by a version that did not count them.
    #[serde(flatten)]
    pub totals: Option<AppendTotals>,
}

/// Sums over all appends of a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendTotals {
    /// Number of rows that were read.
    pub input_rows: u64,
    /// Number of suppressed rows.
    pub suppressed_rows: u64,
    /// Number of classes; classes of two appends count as two, even if their labels are equal.
    pub classes: u64,
}

impl AppendTotals {
    /// Returns the sums with another append.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_rows: self.input_rows + other.input_rows,
            suppressed_rows: self.suppressed_rows + other.suppressed_rows,
            classes: self.classes + other.classes,
        }
    }
}
