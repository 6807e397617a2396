//! Recursive (c, l)-diversity [Machanavajjhala 2007, Def. 4.2]: with `n_1 >= n_2 >= ...` the frequencies of the values of a
//! class, `n_1 < c * (n_l + n_(l+1) + ...)`.

use super::frequencies::Frequencies;
use super::frequency_model::Measure;

/// Limits the most frequent value relative to the values from the `l`-th most frequent on.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecursiveDiversity {
    pub(super) c: f64,
    pub(super) l: u32,
}

impl RecursiveDiversity {
    /// Returns the rows of the most frequent value, and of all values from the `l`-th most frequent on.
    fn most_and_tail(&self, of: Frequencies<'_>) -> (u64, u64) {
        let mut counts: Vec<u64> = of.iter().map(|(_, rows)| rows).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let tail = counts.iter().skip((self.l as usize).saturating_sub(1)).sum();
        (counts.first().copied().unwrap_or(0), tail)
    }
}

impl Measure for RecursiveDiversity {
    fn excess(&self, of: Frequencies<'_>) -> f64 {
        let (most, tail) = self.most_and_tail(of);
        // The condition is strict: equality violates it.
        let excess = most as f64 - self.c * tail as f64;
        if excess == 0.0 { f64::MIN_POSITIVE } else { excess }
    }

    fn missing_rows(&self, of: Frequencies<'_>, _excess: f64) -> u64 {
        let (most, tail) = self.most_and_tail(of);
        ((most as f64 / self.c).floor() as u64 + 1).saturating_sub(tail)
    }
}
