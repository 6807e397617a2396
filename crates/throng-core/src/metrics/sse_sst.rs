//! SSE / SST: the share of the variance that microaggregation removes [Solanas 2008, equation 1].
//!
//! All standardized columns have the same SST, so the ratio over several columns is the mean of their ratios.

use super::ColumnUtility;

/// Returns the mean of SSE / SST over the columns that have it.
pub fn sse_sst(columns: &[ColumnUtility]) -> Option<f64> {
    let ratios: Vec<f64> = columns.iter().filter_map(|column| column.sse_sst).collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}
