//! Similarity: different values of a class may mean much the same [Li 2007].
//!
//! Like `homogeneity`, but the intruder wants to know the group of the value: the branch of its hierarchy, its category, or
//! for numbers the tenth of the people that it belongs to. `prior` is the share of the group in the whole table.
//!
//! Bound: the mean over people of the largest share that their group has in a class (`bounds.rs`).

use rustc_hash::FxHashMap;

use super::bounds::largest_shares;
use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::chance;

/// Number of groups of a column of numbers.
const BANDS: u64 = 10;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let groups: Vec<Option<Vec<u32>>> = (0..intruder.sensitive()).map(|column| groups(intruder, column)).collect();
    if groups.iter().all(Option::is_none) {
        return Err(
            "no sensitive column has numbers, categories or a hierarchy, so that no values are known to be similar",
        );
    }
    intruder.for_each_column(|column| {
        let groups = groups[column].as_ref()?;
        let grouped = |values: FxHashMap<u32, u64>| {
            let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
            values.into_iter().for_each(|(value, rows)| *counts.entry(groups[value as usize]).or_default() += rows);
            counts
        };
        let mut totals: FxHashMap<u32, u64> = FxHashMap::default();
        (0..).zip(&intruder.totals[column]).for_each(|(value, rows)| {
            *totals.entry(groups[value as usize]).or_default() += rows;
        });
        let of_value = |value: u32| groups[value as usize];
        let shares = largest_shares(intruder.input.release, column, groups.len(), of_value);
        let mut bound = 0.0;
        let trials: Vec<Success> = intruder
            .targets(column)
            .map(|(target, cell, value)| {
                let group = groups[value as usize];
                let prior = chance(&totals, group);
                let pooled = grouped(intruder.pooled(target, column));
                let release = if pooled.is_empty() { prior } else { chance(&pooled, group) };
                bound += if pooled.is_empty() { prior } else { shares[group as usize] };
                Success::new(prior, release, chance(&grouped(intruder.cell(cell, column)), group))
            })
            .collect();
        let prior_is = "the share of the group in the whole table";
        let outcome = AttackOutcome::of("similarity", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        Some(outcome.with_bound(bound / trials.len() as f64))
    })
}

/// Returns the group of each value of a column, if values can be similar.
fn groups(intruder: &Intruder<'_>, column: usize) -> Option<Vec<u32>> {
    let lexicon = intruder.input.lexicon;
    let names = lexicon.sensitive[column].names();
    if let Some(known) = &lexicon.spec.sensitive[column].groups {
        let mut ids: FxHashMap<&str, u32> = FxHashMap::default();
        let mut groups = Vec::with_capacity(names.len());
        for name in names {
            let next = ids.len() as u32;
            groups.push(*ids.entry(known.get(name).unwrap_or(name)).or_insert(next));
        }
        return Some(groups);
    }
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() as u64 > BANDS)?;
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let (mut groups, mut before) = (vec![0; numbers.len()], 0);
    let people: u64 = intruder.totals[column].iter().sum();
    for value in order {
        groups[value] = (before * BANDS / people.max(1)) as u32;
        before += intruder.totals[column][value];
    }
    Some(groups)
}
