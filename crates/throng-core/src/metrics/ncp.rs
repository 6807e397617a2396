//! NCP: the normalized certainty penalty [Liu 2018]. A number loses its interval's share of the range, a category its
//! node's share of the leaves, and a single value nothing.

use super::{ColumnUtility, total};
use crate::recode::Recoding;

/// The mean NCP of a column over the rows of a release.
pub fn ncp(recoding: &Recoding, column: usize) -> f64 {
    let rows: u64 = recoding.class_rows().iter().sum();
    total(recoding, |class| recoding.ncp(class, column)) / rows.max(1) as f64
}

/// The mean NCP over columns with these weights: the weighted total of [Liu 2018] as a share of the highest there can be.
pub fn weighted_ncp(columns: &[ColumnUtility], weights: &[f64]) -> f64 {
    let sum: f64 = columns.iter().zip(weights).map(|(column, weight)| column.ncp * weight).sum();
    let most: f64 = weights.iter().sum();
    if most > 0.0 { sum / most } else { 0.0 }
}
