//! NCP: the normalized certainty penalty [Liu 2018]: the width of an interval over the range, or the leaves below a
//! node over all leaves. A single value loses nothing.

use super::{ColumnUtility, total};
use crate::recode::Recoding;

/// Returns the mean NCP of a column over the rows of a release.
pub fn ncp(recoding: &Recoding, column: usize) -> f64 {
    let rows: u64 = recoding.class_rows().iter().sum();
    total(recoding, |class| recoding.ncp(class, column)) / rows.max(1) as f64
}

/// Returns the weighted mean NCP over columns: the weighted total of [Liu 2018] over its maximum.
pub fn weighted_ncp(columns: &[ColumnUtility], weights: &[f64]) -> f64 {
    let sum: f64 = columns.iter().zip(weights).map(|(column, weight)| column.ncp * weight).sum();
    let most: f64 = weights.iter().sum();
    if most > 0.0 { sum / most } else { 0.0 }
}
