//! The alpha of (p+, alpha)-sensitivity [Sun 2008, Def. 4]: the categories of a class have a total weight of at least
//! alpha.
//!
//! Category `i` of `m`, the most sensitive first, weighs `(i - 1) / (m - 1)`. Weights are counted in integer units of
//! `1 / (m - 1)`, so that sums are exact.

use super::{ALPHA_WEIGHT, CountingModel, Model, Tally};
use crate::domain::NULL;
use crate::feasibility::Shortfall;

/// Tolerance for an alpha that is a rounded fraction: a target this close above a unit counts as that unit.
const ROUNDING: f64 = 1e-9;

/// Requires a total weight of the categories of one sensitive column.
#[derive(Clone, Copy, Debug)]
pub struct CategoryWeight {
    column: usize,
    categories: u32,
    required: u64,
    weight: f64,
}

impl CategoryWeight {
    /// Requires a total weight of at least `alpha` for a column whose codes are categories; there must be at least two.
    pub fn new(alpha: f64, column: usize, categories: u32) -> Self {
        let units = alpha * f64::from(categories - 1);
        Self { column, categories, required: (units - ROUNDING).ceil().max(0.0) as u64, weight: 1.0 }
    }

    /// Converts units to a weight.
    pub fn weight(&self, units: u64) -> f64 {
        units as f64 / f64::from(self.categories - 1)
    }

    /// Sets the weight of the column in the diversity that algorithms maximize; greater than zero.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }
}

impl Model for CategoryWeight {
    fn name(&self) -> &'static str {
        ALPHA_WEIGHT
    }

    fn weight_in_diversity(&self) -> f64 {
        self.weight
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        self.achieved(class) >= self.required + self.gain(class, codes)
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        self.achieved(class).checked_div(self.required).unwrap_or(class.rows())
    }

    fn shortfall(&self, column: &str, _whole: &Tally) -> Shortfall {
        Shortfall::Weight { column: column.to_owned() }
    }

    fn counting(&self) -> Option<&dyn CountingModel> {
        Some(self)
    }

    fn is_p_plus_alpha(&self) -> bool {
        true
    }
}

impl CountingModel for CategoryWeight {
    fn required(&self) -> u64 {
        self.required
    }

    fn achieved(&self, class: &Tally) -> u64 {
        (1..self.categories).map(|category| u64::from(category) * class.count(self.column, category)).sum()
    }

    fn max_gain_per_row(&self) -> u64 {
        u64::from(self.categories - 1)
    }

    fn gain(&self, _class: &Tally, codes: &[u32]) -> u64 {
        if codes[self.column] == NULL { 0 } else { u64::from(codes[self.column]) }
    }
}
