//! (alpha, k)-anonymity [Wong 2006] for every value: no value has more than a given share of the rows of a class.

use super::frequencies::Frequencies;
use super::frequency_model::Measure;

/// Limits the share of the most frequent value among the rows that have one.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxShare {
    pub(super) share: f64,
}

impl Measure for MaxShare {
    fn excess(&self, of: Frequencies<'_>) -> f64 {
        let (most, rows) = most_frequent(of);
        most as f64 - self.share * rows as f64
    }

    fn missing_rows(&self, of: Frequencies<'_>, _excess: f64) -> u64 {
        let (most, rows) = most_frequent(of);
        ((most as f64 / self.share).ceil() as u64).saturating_sub(rows)
    }
}

/// Returns the rows of the most frequent value and of all values.
fn most_frequent(of: Frequencies<'_>) -> (u64, u64) {
    of.iter().fold((0, 0), |(most, rows), (_, count)| (most.max(count), rows + count))
}
