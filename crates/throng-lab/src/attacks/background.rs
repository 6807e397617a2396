//! Background knowledge: an intruder who can rule out values, or knows other people of the class [Machanavajjhala 2007], [Martin 2007].
//!
//! - `background_values`: the intruder knows p - 1 values that the person does not have, at least one: of the wrong ones, those
//!   that most candidate rows have. In a class with exactly p values only the right one remains.
//! - `background_members`: the intruder knows the values of k/2 other people among the candidates, drawn at random. The success
//!   is its expectation over the draw.
//!
//! `prior` is the share of the value in the whole table with the same knowledge, so the gain is due to the release.
//!
//! Bounds, as means over people. With values ruled out: the largest share of the person's value in a class after removing that many
//! of its most frequent other values (`bounds.rs`); it is 1 where a class has exactly p values. With j members known, among a
//! candidates of whom a share of s has the value: of the a - 1 others j are drawn, and
//!
//! ```text
//!  (sa - j (sa - 1) / (a - 1)) / (a - j)  =  s + (1 - s) j / ((a - 1) (a - j)),
//! ```
//!
//! which grows with s and falls with a. So s is at most the largest share of the value in a class, and a at least the rows of the smallest
//! class.

use super::bounds::{fewest_rows, largest_shares, largest_shares_without};
use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::chance;

pub(super) fn rule_out_values(intruder: &Intruder<'_>) -> Attempts {
    intruder.for_each_column(|column| {
        let known = intruder.input.lexicon.spec.p_of(column).saturating_sub(1).max(1) as usize;
        let values = intruder.totals[column].len();
        let shares = largest_shares_without(intruder.input.release, column, values, known);
        let mut bound = 0.0;
        let trials: Vec<Success> = intruder
            .targets(column)
            .map(|(target, cell, value)| {
                let mut pooled = intruder.pooled(target, column);
                let mut wrong: Vec<(u64, u32)> =
                    pooled.iter().filter(|(other, _)| **other != value).map(|(other, rows)| (*rows, *other)).collect();
                wrong.sort_unstable_by(|a, b| b.cmp(a));
                wrong.truncate(known);
                let ruled_out: f64 = wrong.iter().map(|(_, other)| intruder.prior(column, *other)).sum();
                let prior = intruder.prior(column, value) / (1.0 - ruled_out).max(f64::EPSILON);
                let mut exact = intruder.cell(cell, column);
                for (_, other) in &wrong {
                    pooled.remove(other);
                    exact.remove(other);
                }
                let (release, largest) = match pooled.is_empty() {
                    true => (prior, prior),
                    false => (chance(&pooled, value), shares[value as usize]),
                };
                bound += largest;
                Success::new(prior, release, chance(&exact, value))
            })
            .collect();
        let prior_is = "the share of the value in the whole table, without the values ruled out";
        let outcome =
            AttackOutcome::of("background_values", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        Some(outcome.with_bound(bound / trials.len() as f64).with("values_ruled_out", known))
    })
}

pub(super) fn know_members(intruder: &Intruder<'_>) -> Attempts {
    let known = intruder.input.lexicon.spec.k / 2;
    // Of `same` rows among `all`, one is the person's. The others are known with the same probability.
    let expected = |same: u64, all: u64| {
        let known = known.min(all.saturating_sub(1)) as f64;
        let (same, all) = (same as f64, all as f64);
        if all <= 1.0 { same } else { (same - known * (same - 1.0).max(0.0) / (all - 1.0)) / (all - known) }
    };
    intruder.for_each_column(|column| {
        let shares = largest_shares(intruder.input.release, column, intruder.totals[column].len(), |value| value);
        let fewest = fewest_rows(intruder.input.release, column);
        // Upper bound of what the known members add, relative to what is left unknown.
        let added = match fewest.checked_sub(known) {
            None | Some(0 | 1) => 1.0,
            Some(left) => known as f64 / ((fewest - 1) as f64 * left as f64),
        };
        let mut bound = 0.0;
        let trials: Vec<Success> = intruder
            .targets(column)
            .map(|(target, cell, value)| {
                let prior = expected(intruder.totals[column][value as usize], intruder.input.original.rows);
                let of = |values: rustc_hash::FxHashMap<u32, u64>| match values.get(&value) {
                    Some(same) => expected(*same, values.values().sum()),
                    None => 0.0,
                };
                let pooled = intruder.pooled(target, column);
                let share = shares[value as usize];
                let (release, largest) = match pooled.is_empty() {
                    true => (prior, prior),
                    false => (of(pooled), share + (1.0 - share) * added),
                };
                bound += largest;
                Success::new(prior, release, of(intruder.cell(cell, column)))
            })
            .collect();
        let prior_is = "the share of the value in the whole table, without the people known";
        let outcome =
            AttackOutcome::of("background_members", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        Some(outcome.with_bound(bound / trials.len() as f64).with("members_known", known))
    })
}
