//! Publishable risk figures of a table, before and after anonymization.

use super::class_sizes::{ClassSizes, share};

/// Publishable risk figures of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskSummary {
    /// Number of distinct quasi-identifier tuples.
    pub classes: u64,
    /// Highest risk of a row.
    pub highest: f64,
    /// Mean risk of a row.
    pub average: f64,
    /// Share of rows that are alone in their class.
    pub uniques: f64,
    /// Share of rows whose risk is above each threshold, as (threshold, share).
    pub at_risk: Vec<(f64, f64)>,
}

impl RiskSummary {
    /// Returns the exact figures of a release, whose classes are public anyway.
    pub fn of_release(sizes: &ClassSizes, thresholds: &[f64]) -> Self {
        let rows = sizes.rows();
        Self {
            classes: sizes.classes(),
            highest: sizes.highest_risk(),
            average: sizes.average_risk(),
            uniques: share(sizes.unique_rows(), rows),
            at_risk: thresholds.iter().map(|above| (*above, share(sizes.rows_above(*above), rows))).collect(),
        }
    }

    /// Returns upper bounds for the original of a release. No figure may depend on fewer than `k` rows.
    ///
    /// Counts of rows and classes are rounded up to a multiple of `k`, and the average follows from the rounded count.
    /// If the smallest class has fewer than `k` rows, the highest risk is 1 whatever its size.
    pub fn of_original(sizes: &ClassSizes, thresholds: &[f64], k: u64) -> Self {
        let (rows, k) = (sizes.rows(), k.max(1));
        let up = |count: u64| count.div_ceil(k).saturating_mul(k).min(rows);
        let at_most = |count: u64| share(up(count), rows);
        let highest = if rows > 0 && sizes.smallest() < k { 1.0 } else { sizes.highest_risk() };
        Self {
            classes: up(sizes.classes()),
            highest,
            average: at_most(sizes.classes()),
            uniques: at_most(sizes.unique_rows()),
            at_risk: thresholds.iter().map(|above| (*above, at_most(sizes.rows_above(*above)))).collect(),
        }
    }
}
