//! Risk in a population that is known by sampling weights: how many people each row stands for.
//!
//! The weights of a class add up to an estimate of its people, so each class has its own sampling fraction: its rows over
//! their weights, at most 1 [Benedetti 1998].

use rustc_hash::FxHashMap;

use super::class_sizes::ClassSizes;
use super::population::{PopulationRisk, SamplingFraction};
use crate::survey::CountedTuples;

/// Rows and sampling weights of the classes of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedClasses {
    /// Rows and weight of each class.
    classes: Vec<(u64, f64)>,
}

impl WeightedClasses {
    /// Adds up the weights of classes, which the first `quasi` columns of tuples form. `weights` has the sum over the rows
    /// of each tuple; all weights are above zero.
    pub fn of(tuples: &CountedTuples, quasi: usize, weights: &[f64]) -> Self {
        let mut sums: FxHashMap<&[u32], (u64, f64)> = FxHashMap::default();
        for (index, weight) in weights.iter().enumerate().take(tuples.len()) {
            let (rows, people) = sums.entry(&tuples.tuple(index)[..quasi]).or_default();
            *rows += u64::from(tuples.rows(index));
            *people += weight;
        }
        // Sort, so that rounding of sums does not depend on the order of hashes.
        let mut classes: Vec<(u64, f64)> = sums.into_values().collect();
        classes.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Self { classes }
    }

    /// Returns the risk of the table; rows above the threshold are counted. `None` for a table without rows.
    pub fn risk(&self, threshold: f64) -> Option<PopulationRisk> {
        let sizes: ClassSizes = self.classes.iter().map(|(rows, _)| *rows).collect();
        let people: f64 = self.classes.iter().map(|(rows, people)| people.max(*rows as f64)).sum();
        let (mut reidentified, mut highest, mut rows_at_risk) = (0.0, 0.0_f64, 0);
        let mut known: Option<(u64, f64, f64)> = None;
        for (rows, people) in &self.classes {
            let risk = match known {
                Some((of_rows, of_people, risk)) if of_rows == *rows && of_people == *people => risk,
                _ => SamplingFraction::new((*rows as f64 / people).min(1.0))?.expected_risk(*rows),
            };
            known = Some((*rows, *people, risk));
            reidentified += risk * *rows as f64;
            highest = highest.max(risk);
            rows_at_risk += if risk > threshold { *rows } else { 0 };
        }
        let rows = sizes.rows() as f64;
        let mean = SamplingFraction::new(rows / people)?;
        Some(PopulationRisk {
            people,
            highest,
            average: reidentified / rows,
            rows_at_risk,
            reidentified,
            ..mean.risk(&sizes, threshold)
        })
    }
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
