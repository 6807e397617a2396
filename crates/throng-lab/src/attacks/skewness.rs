//! Skewness: are people with a rare value found out more easily than its rarity suggests? [Li 2007]
//!
//! The belief is that of `homogeneity`, but every value counts the same, however few people have it. In a table in which 98 % are
//! healthy, an average over people hides what happens to the others. Values of fewer than five targets are left out.
//!
//! Bound: the mean over values of the largest share that a value has in a class (`bounds.rs`).

use rustc_hash::FxHashMap;

use super::bounds::largest_shares;
use super::homogeneity::OVERALL;
use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::chance;

/// Minimum number of targets with a value.
const MIN_TARGETS: usize = 5;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    intruder.for_each_column(|column| {
        let shares = largest_shares(intruder.input.release, column, intruder.totals[column].len(), |value| value);
        let mut by_value: FxHashMap<u32, Vec<Success>> = FxHashMap::default();
        for (target, cell, value) in intruder.targets(column) {
            let prior = intruder.prior(column, value);
            let pooled = intruder.pooled(target, column);
            let release = if pooled.is_empty() { prior } else { chance(&pooled, value) };
            let success = Success::new(prior, release, chance(&intruder.cell(cell, column), value));
            by_value.entry(value).or_default().push(success);
        }
        let mut values: Vec<(u32, Vec<Success>)> =
            by_value.into_iter().filter(|(_, people)| people.len() >= MIN_TARGETS).collect();
        values.sort_unstable_by_key(|(value, _)| *value);
        let mean =
            |people: &[Success], of: fn(&Success) -> f64| people.iter().map(of).sum::<f64>() / people.len() as f64;
        let trials: Vec<Success> = values
            .iter()
            .map(|(_, people)| {
                let [prior, release, original] =
                    [|s: &Success| s.prior, |s: &Success| s.release, |s: &Success| s.original]
                        .map(|of| mean(people, of));
                Success::new(prior, release, original)
            })
            .collect();
        // People whom no label covers are believed to have their value with the prior probability.
        let bounds = values.iter().zip(&trials).map(|((value, _), trial)| shares[*value as usize].max(trial.prior));
        let bound = bounds.sum::<f64>() / trials.len().max(1) as f64;
        let people = values.iter().map(|(_, people)| people.len()).sum();
        let lift = trials.iter().map(|trial| trial.release / trial.prior).fold(0.0, f64::max);
        let outcome = AttackOutcome::of("skewness", intruder.column(column), OVERALL, &trials, intruder.input.seed)?;
        Some(
            outcome
                .with_people(people)
                .with_bound(bound)
                .with("largest_lift_of_a_value", crate::statistics::rounded(lift)),
        )
    })
}
