//! SSE / SST: the share of the variance that microaggregation takes away [Solanas 2008, equation 1].
//!
//! On standardized columns every column has the same SST, so that the ratio over several columns is the mean of theirs.

use super::ColumnUtility;

/// The mean of SSE / SST over the columns that have it.
pub fn sse_sst(columns: &[ColumnUtility]) -> Option<f64> {
    let ratios: Vec<f64> = columns.iter().filter_map(|column| column.sse_sst).collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}
