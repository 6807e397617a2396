//! Entropy l-diversity [Machanavajjhala 2007, Def. 4.1]: the values of a class have an entropy of at least `ln l`.
//!
//! Entropy is concave, so the union of two classes has at least the smaller of their entropies.

use super::frequencies::Frequencies;
use super::frequency_model::Measure;

/// Requires the diversity of `l` equally frequent values.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntropyDiversity {
    pub(super) l: f64,
}

impl Measure for EntropyDiversity {
    fn excess(&self, of: Frequencies<'_>) -> f64 {
        self.l.ln() - entropy(of)
    }

    fn missing_rows(&self, of: Frequencies<'_>, _excess: f64) -> u64 {
        (self.l.ceil() as u64).saturating_sub(of.iter().count() as u64)
    }
}

/// Returns the entropy of the values; zero where there is none.
fn entropy(of: Frequencies<'_>) -> f64 {
    let (mut rows, mut sum) = (0_u64, 0.0);
    for (_, count) in of.iter() {
        rows += count;
        sum += count as f64 * (count as f64).ln();
    }
    if rows == 0 { 0.0 } else { (rows as f64).ln() - sum / rows as f64 }
}
