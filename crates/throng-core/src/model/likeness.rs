//! Basic beta-likeness [Cao 2012, Def. 2]: no value is more than `1 + beta` times as frequent in a class as in the whole
//! release.

use std::sync::Arc;

use super::closeness::{share_of, shares};
use super::frequencies::Frequencies;
use super::frequency_model::Measure;
use crate::table::SensitiveColumn;

/// Limits the relative gain in the frequency of every value.
#[derive(Clone, Debug)]
pub(super) struct Likeness {
    pub(super) beta: f64,
    /// Share of each code in the release; `None` before a release is known.
    pub(super) reference: Option<Arc<[f64]>>,
}

impl Measure for Likeness {
    fn excess(&self, of: Frequencies<'_>) -> f64 {
        let Some(reference) = &self.reference else { return 0.0 };
        let rows = of.rows() as f64;
        let above = |(code, count): (u32, u64)| count as f64 - (1.0 + self.beta) * share_of(reference, code) * rows;
        of.iter().map(above).fold(f64::NEG_INFINITY, f64::max).max(-rows)
    }

    fn missing_rows(&self, of: Frequencies<'_>, _excess: f64) -> u64 {
        let Some(reference) = &self.reference else { return 0 };
        let needed = |(code, count): (u32, u64)| count as f64 / ((1.0 + self.beta) * share_of(reference, code));
        let rows = of.iter().map(needed).fold(0.0, f64::max).ceil();
        (rows as u64).saturating_sub(of.rows())
    }

    fn for_release(&self, _column: &SensitiveColumn, released: Frequencies<'_>) -> Option<Arc<dyn Measure>> {
        Some(Arc::new(Self { reference: Some(shares(released)), ..self.clone() }))
    }
}
