//! Delta-disclosure privacy [Brickell 2008]: the share of every value in a class differs from that in the whole release by a factor
//! of less than `e^delta`, upwards and downwards.
//!
//! Both bounds are linear in the counts of a class, so the sums of the counts of two classes are within them if the counts of each are.
//! A value that a class lacks is infinitely far from its share in the release: every class has all values.

use std::sync::Arc;

use super::closeness::shares;
use super::frequencies::Frequencies;
use super::frequency_model::Measure;
use crate::table::SensitiveColumn;

/// Limits the change of the share of every value, as a factor.
#[derive(Clone, Debug)]
pub(super) struct Disclosure {
    /// `e^delta`.
    pub(super) factor: f64,
    /// Share of each code in the release; `None` before a release is known.
    pub(super) reference: Option<Arc<[f64]>>,
}

impl Disclosure {
    /// Returns for each value of the release the rows of a class that have it, and the fewest and the most that are allowed.
    fn bounds<'a>(&'a self, of: Frequencies<'a>) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
        let rows = of.rows() as f64;
        let expected = self.reference.iter().flat_map(|reference| reference.iter()).map(move |share| share * rows);
        let bounds = move |(code, rows)| (of.count(code) as f64, rows / self.factor, rows * self.factor);
        (0_u32..).zip(expected).map(bounds)
    }
}

impl Measure for Disclosure {
    fn excess(&self, of: Frequencies<'_>) -> f64 {
        self.bounds(of).map(|(count, least, most)| (least - count).max(count - most).max(0.0)).sum()
    }

    fn missing_rows(&self, of: Frequencies<'_>, _excess: f64) -> u64 {
        // Rows of different values are different rows, and the fewest of each value grow with every row.
        let lacking = self.bounds(of).map(|(count, least, _)| (least - count - ROUNDING).ceil().max(0.0));
        // The most allowed rows of a value are in proportion to the rows of the class.
        let needed = |(count, _, most): (f64, f64, f64)| if most > 0.0 { count / most } else { 0.0 };
        let growth = self.bounds(of).map(needed).fold(1.0, f64::max) - 1.0;
        (lacking.sum::<f64>() as u64).max((growth * of.rows() as f64 - ROUNDING).ceil() as u64)
    }

    fn for_release(&self, _column: &SensitiveColumn, released: Frequencies<'_>) -> Option<Arc<dyn Measure>> {
        Some(Arc::new(Self { reference: Some(shares(released)), ..self.clone() }))
    }
}

/// Slack of lower bounds that are computed from rounded shares.
const ROUNDING: f64 = 1e-9;
