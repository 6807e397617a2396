//! Risk in the population that a table is a sample of.
//!
//! A class of `f` rows in the sample stands for `F >= f` people of the population. An intruder who does not know whether a
//! person is in the sample picks the right row with probability `1/F`. If rows are sampled independently with the same
//! probability `s`, and nothing is known about class sizes beforehand, `F` given `f` has a negative binomial distribution
//! [Benedetti 1998], and the expected risk is
//!
//! ```text
//! E(1/F | f) = sum over j >= f of C(j - 1, f - 1) s^f (1 - s)^(j - f) / j
//! ```
//!
//! The number of people who are unique in the population is estimated as by [Zayatz 1991]: class sizes of the population
//! are taken to be distributed as in the sample, so that a row that is unique in the sample is unique in the population
//! with probability
//!
//! ```text
//! P(F = 1 | f = 1) = c_1 / sum over j of c_j j (1 - s)^(j - 1)
//! ```
//!
//! where `c_j` is the number of classes of `j` rows. Both are estimates: they hold on average, and the second one is
//! inaccurate for small samples, because their classes are smaller than those of the population.

use super::class_sizes::ClassSizes;

/// Probability with which a person of the population is in the table; above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingFraction(f64);

/// Risk of a table that is a sample, by its sampling fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PopulationRisk {
    /// The sampling fraction.
    pub fraction: f64,
    /// Estimated size of the population.
    pub people: f64,
    /// Highest expected risk of a row, for the journalist.
    pub highest: f64,
    /// Mean expected risk of a row, for journalist and marketer.
    pub average: f64,
    /// Rows whose expected risk is above the threshold.
    pub rows_at_risk: u64,
    /// Expected number of rows that an intruder with a register of the population re-identifies.
    pub reidentified: f64,
    /// Probability that a row which is unique in the table is unique in the population.
    pub unique_if_sample_unique: f64,
    /// Estimated number of people who are unique in the population.
    pub uniques: f64,
    /// The fewest people whom a class matches, if they are counted in a table of the population.
    pub fewest: Option<u64>,
}

/// Step and end of the numerical integration: the error is far below the six digits that are reported.
const STEP: f64 = 1.0 / 64.0;
const STEPS: u32 = 64 * 40;

impl SamplingFraction {
    /// Creates a fraction; `None` unless it is above 0 and at most 1.
    pub fn new(fraction: f64) -> Option<Self> {
        (fraction > 0.0 && fraction <= 1.0).then_some(Self(fraction))
    }

    /// Returns the fraction.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns the expected risk of a row in a class of `size` rows; at most `1 / size`.
    ///
    /// The sum is the integral of `u^(f - 1) s / (s + (1 - s) u)` for `u` from 0 to 1. With `u = exp(-y / f)` its integrand
    /// is smooth for every class size and fraction.
    pub fn expected_risk(self, size: u64) -> f64 {
        let (fraction, size) = (self.0, size.max(1) as f64);
        let integrand = |step: u32| {
            let y = f64::from(step) * STEP;
            (-y).exp() * fraction / (fraction + (1.0 - fraction) * (-y / size).exp())
        };
        // Simpson's rule.
        let inner: f64 = (1..STEPS).map(|step| integrand(step) * if step % 2 == 1 { 4.0 } else { 2.0 }).sum();
        ((integrand(0) + inner + integrand(STEPS)) * STEP / 3.0 / size).min(1.0 / size)
    }

    /// Returns the risk of a table with these classes. `threshold` is that of [`PopulationRisk::rows_at_risk`].
    pub fn risk(self, sizes: &ClassSizes, threshold: f64) -> PopulationRisk {
        let (mut reidentified, mut highest, mut rows_at_risk) = (0.0, 0.0_f64, 0);
        for (size, classes) in sizes.iter() {
            let risk = self.expected_risk(size);
            let rows = size * classes;
            reidentified += risk * rows as f64;
            highest = highest.max(risk);
            rows_at_risk += if risk > threshold { rows } else { 0 };
        }
        let rows = sizes.rows() as f64;
        let unique_if_sample_unique = self.unique_if_sample_unique(sizes);
        PopulationRisk {
            fraction: self.0,
            people: rows / self.0,
            highest,
            average: if rows > 0.0 { reidentified / rows } else { 0.0 },
            rows_at_risk,
            reidentified,
            unique_if_sample_unique,
            uniques: sizes.unique_rows() as f64 * unique_if_sample_unique / self.0,
            fewest: None,
        }
    }

    /// Returns the number of rows whose expected risk is above a threshold.
    pub fn rows_above(self, sizes: &ClassSizes, threshold: f64) -> u64 {
        let above = sizes.iter().filter(|(size, _)| self.expected_risk(*size) > threshold);
        above.map(|(size, classes)| size * classes).sum()
    }

    /// Returns the probability that a unique row of the table is unique in the population; zero where none is unique.
    fn unique_if_sample_unique(self, sizes: &ClassSizes) -> f64 {
        let once = |size: u64| size as f64 * (1.0 - self.0).powf((size - 1) as f64);
        let all: f64 = sizes.iter().map(|(size, classes)| classes as f64 * once(size)).sum();
        if all > 0.0 { sizes.unique_rows() as f64 / all } else { 0.0 }
    }
}

#[cfg(test)]
#[path = "population_tests.rs"]
mod tests;
