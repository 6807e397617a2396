//! Homogeneity: what do the rows that may be a person's say about a sensitive value? [Machanavajjhala 2007]
//!
//! The intruder believes that each candidate row is the person's with the same probability, so the belief in a value is its
//! share in these rows. `prior` is the share of the value in the whole table.
//!
//! Bound: the mean over people of the largest share that their value has in a class (`bounds.rs`).

use super::bounds::largest_shares;
use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::chance;

/// Description of the prior of attacks on values.
pub(super) const OVERALL: &str = "the share of the value in the whole table";

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let release = intruder.input.release;
    intruder.for_each_column(|column| {
        let shares = largest_shares(release, column, intruder.totals[column].len(), |value| value);
        let mut bound = 0.0;
        let trials: Vec<Success> = intruder
            .targets(column)
            .map(|(target, cell, value)| {
                let prior = intruder.prior(column, value);
                let pooled = intruder.pooled(target, column);
                // A person whom no label covers is suppressed, and the intruder learns nothing.
                let release = if pooled.is_empty() { prior } else { chance(&pooled, value) };
                bound += if pooled.is_empty() { prior } else { shares[value as usize] };
                Success::new(prior, release, chance(&intruder.cell(cell, column), value))
            })
            .collect();
        let outcome = AttackOutcome::of("homogeneity", intruder.column(column), OVERALL, &trials, intruder.input.seed)?;
        let mut above_half = 0.0;
        for class in 0..release.classes() as u32 {
            let values = release.tallies[column].of(class);
            let rows: u32 = values.iter().map(|(_, rows)| rows).sum();
            let most = values.iter().map(|(_, rows)| *rows).max().unwrap_or(0);
            let share = f64::from(most) / f64::from(rows.max(1));
            above_half += if share > 0.5 { release.class_rows[class as usize] as f64 } else { 0.0 };
        }
        let above_half = crate::statistics::rounded(above_half / release.rows as f64);
        let largest = crate::statistics::rounded(shares.iter().copied().fold(0.0, f64::max));
        let outcome = outcome.with_bound(bound / trials.len() as f64);
        Some(outcome.with("largest_share", largest).with("rows_above_half", above_half))
    })
}
