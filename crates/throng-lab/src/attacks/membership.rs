//! Membership: is a person in the table at all? [Nergiz 2007]
//!
//! The intruder has a sample of people who are not in the table, drawn from the same population, and guesses, for pairs of a
//! member and a non-member, which one is the member: the one at whose quasi-identifiers the release has more rows, each spread
//! evenly over its labels. Success is the share of pairs that are guessed correctly, with ties as half (the area under the ROC
//! curve). `prior` is one half.

use rayon::prelude::*;

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::extent::Code;
use crate::random::LabRandom;
use crate::table::ReleasedTable;

/// Number of pairs that are guessed.
const PAIRS: usize = 20_000;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let Some(population) = intruder.input.population else {
        return Err("no sample of people who are not in the table was given");
    };
    let (original, release) = (intruder.input.original, intruder.input.release);
    let density = |tuple: &[Code]| [density(release, tuple), density(&intruder.exact, tuple)];
    let members: Vec<[f64; 2]> =
        original.targets.par_iter().map(|target| density(original.cell(target.cell))).collect();
    let others: Vec<[f64; 2]> =
        population.targets.par_iter().map(|target| density(population.cell(target.cell))).collect();
    if members.is_empty() || others.is_empty() {
        return Err("the sample of people who are not in the table is empty");
    }
    let mut random = LabRandom::new(intruder.input.seed, "pairs");
    let trials: Vec<Success> = (0..PAIRS)
        .map(|_| {
            let (member, other) = (members[random.below(members.len())], others[random.below(others.len())]);
            let [release, original] = [0, 1].map(|at| match member[at].total_cmp(&other[at]) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            });
            Success::new(0.5, release, original)
        })
        .collect();
    let outcome = AttackOutcome::of("membership", None, "a guess by chance", &trials, intruder.input.seed);
    Ok(outcome.into_iter().collect())
}

/// Returns the number of rows that a release is expected to have for exactly these quasi-identifiers.
fn density(table: &ReleasedTable, tuple: &[Code]) -> f64 {
    let classes = table.covering(tuple);
    let of_class = |class: &u32| {
        let ranges = table.columns.iter().map(|column| &column.range);
        let values: f64 = table.extents(*class).zip(ranges).map(|(extent, range)| extent.size(range)).product();
        table.class_rows[*class as usize] as f64 / values
    };
    classes.iter().map(of_class).sum()
}
