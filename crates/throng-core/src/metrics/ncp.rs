//! NCP: the normalized certainty penalty (paper B). A number loses its interval's share of the range, a category its
//! node's share of the leaves, and a single value nothing.

use super::total;
use crate::recode::Recoding;

/// The mean NCP of a column over the rows of a release.
pub fn ncp(recoding: &Recoding, column: usize) -> f64 {
    let rows: u64 = recoding.class_rows().iter().sum();
    total(recoding, column, &recoding.columns()[column].ncp) / rows.max(1) as f64
}
