//! How much of a column's domain the released values cover: all rows that show a value as it was, those that show a small
//! part of the domain, and so on up to those that show nothing. Computed from released labels alone.

use crate::recode::Recoding;

/// The upper ends of the steps, as NCP: a value as it was, then parts of the domain, and at last all of it.
pub const DETAIL_STEPS: [f64; 6] = [0.0, 0.05, 0.2, 0.5, 0.999_999, 1.0];

/// The rows whose released value in a column loses as much as each of [`DETAIL_STEPS`] and more than the step before.
/// None where the column shows stand-ins, which cover nothing.
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
