//! Conditions of a delivery and of its release, beyond the promise of the policy.

/// Conditions under which a release is published. Each is checked only if it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Guards {
    /// Minimum number of rows of the input; at least 1.
    pub min_rows: Option<u64>,
    /// Maximum difference between the number of released rows and that of the current release, relative to the latter; in a
    /// series, of the rows of the input and of the last one. Not negative.
    pub max_rows_change: Option<f64>,
    /// Maximum NCP of the release, from 0 to 1.
    pub loss_limit: Option<f64>,
    /// Maximum share of rows that insensitive columns single out, from 0 to 1.
    pub insensitive_uniqueness: Option<f64>,
}
