//! What may be told of the risk in a table, before and after a release.

use super::class_sizes::{ClassSizes, share};

/// What may be told of the risk in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskSummary {
    /// Classes.
    pub classes: u64,
    /// The highest risk of a row.
    pub highest: f64,
    /// The mean risk of a row.
    pub average: f64,
    /// The share of rows that are alone in their class.
    pub uniques: f64,
    /// The share of rows whose risk is above each threshold.
    pub at_risk: Vec<(f64, f64)>,
}

impl RiskSummary {
    /// Of a release, whose classes everybody can count: exact.
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

    /// Of the original of a release, about which nothing may be told that concerns fewer than `k` rows: upper bounds.
    ///
    /// Rows and classes are counted up to the next multiple of `k`, and the average follows from that count. Where the
    /// smallest class has fewer than `k` rows, the highest risk is 1 whatever its size.
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
