//! DM: the discernibility metric, the sum of squared class sizes [Truta 2007, equation 2].

/// Returns the sum of squared class sizes, saturating.
pub fn dm(class_sizes: &[u64]) -> u64 {
    class_sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(size.saturating_mul(*size)))
}
