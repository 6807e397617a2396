//! AVG: the normalized average class size, `n / (v * k)` [Truta 2007, equation 3].

/// Returns the average class size over `k`; zero without classes.
pub fn avg(rows: u64, classes: u64, k: u64) -> f64 {
    if classes == 0 || k == 0 { 0.0 } else { rows as f64 / (classes as f64 * k as f64) }
}
