//! Granularity of released values: a histogram of rows by the share of the domain that their label covers, from exact
//! values to fully generalized ones. Computed from released labels alone.

use crate::recode::Recoding;

/// Upper bounds of the bins, as NCP: exact values, then parts of the domain, then all of it.
pub const DETAIL_STEPS: [f64; 6] = [0.0, 0.05, 0.2, 0.5, 0.999_999, 1.0];

/// Returns the number of rows in each bin of [`DETAIL_STEPS`] for a column. `None` if the column releases aggregates,
/// which cover no range.
pub fn granularity(recoding: &Recoding, column: usize) -> Option<[u64; DETAIL_STEPS.len()]> {
    let labels = &recoding.columns()[column];
    if labels.ncp.is_empty() && !recoding.class_rows().is_empty() {
        return None;
    }
    let mut rows = [0; DETAIL_STEPS.len()];
    for (class, size) in recoding.class_rows().iter().enumerate() {
        let loss = recoding.ncp(class as u32, column);
        let step = DETAIL_STEPS.partition_point(|end| *end < loss).min(DETAIL_STEPS.len() - 1);
        rows[step] += size;
    }
    Some(rows)
}
