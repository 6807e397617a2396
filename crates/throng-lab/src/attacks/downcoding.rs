//! Downcoding: which exact values does a label hide? [Cohen 2022]
//!
//! Labels of many anonymizers are tight: both ends of an interval are values of people in the class. So the intruder claims, for
//! a generalized class and each end of a column of numbers or dates, that the table has a person with exactly this value and the
//! labels of the class in all other columns. Success is the share of these claims that are true. `prior` is the share of true claims
//! for a value drawn from the inside of the interval, and `original` is 1. A release whose intervals are rounded outwards gains
//! nothing.
//!
//! If all other columns of a class are exact, a true claim is the quasi-identifier tuple of a person in the table. The details
//! report the number of these.

use rayon::prelude::*;

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::extent::{Code, Extent, ValueRange, number_code};
use crate::random::LabRandom;
use crate::table::ReleasedTable;

/// Maximum number of generalized classes that are attacked.
const CLASSES: usize = 1_000;

/// A claim that the table has a person in a class with this value of a column.
struct Claim {
    class: u32,
    column: usize,
    ends: [Code; 2],
    inside: Code,
}

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let release = intruder.input.release;
    let mut random = LabRandom::new(intruder.input.seed, "claims");
    let chosen = random.sample(release.general.len(), CLASSES);
    let claims: Vec<Claim> =
        chosen.into_iter().flat_map(|at| claims(release, release.general[at], &mut random)).collect();
    if claims.is_empty() {
        return Err("no column of numbers or dates is released as intervals of more than two values");
    }
    let scored: Vec<([Success; 2], usize)> = claims
        .par_iter()
        .map(|claim| {
            let is_there = |code: Code| f64::from(u8::from(exists(intruder, claim, code)));
            let prior = is_there(claim.inside);
            let successes = claim.ends.map(|end| Success::new(prior, is_there(end), 1.0));
            let hidden = release.extents(claim.class).filter(|extent| extent.only().is_none()).count();
            let proven = if hidden == 1 { successes.iter().filter(|success| success.release > 0.0).count() } else { 0 };
            (successes, proven)
        })
        .collect();
    let trials: Vec<Success> = scored.iter().flat_map(|(successes, _)| *successes).collect();
    let proven: usize = scored.iter().map(|(_, proven)| proven).sum();
    let prior_is = "the share of true claims for a random value inside the interval";
    let outcome = AttackOutcome::of("downcoding", None, prior_is, &trials, intruder.input.seed);
    Ok(outcome.map(|outcome| outcome.with_bound(1.0).with("exact_tuples_found", proven)).into_iter().collect())
}

/// Returns the claims about one class: one for each column with an interval that has an inside.
fn claims(release: &ReleasedTable, class: u32, random: &mut LabRandom) -> Vec<Claim> {
    let mut found = Vec::new();
    for (column, extent) in release.extents(class).enumerate() {
        let (Extent::Between { low, high }, ValueRange::Numbers { step, .. }) = (extent, release.columns[column].range)
        else {
            continue;
        };
        // Ends are excluded from the draw; a continuous interval has an inside if its width is above zero.
        let inner = if step > 0.0 { (high - low) / step - 1.0 } else { f64::INFINITY };
        if !(low.is_finite() && high.is_finite()) || inner < 1.0 || low == high {
            continue;
        }
        let inside = match step > 0.0 {
            true => low + step * (1.0 + random.below(inner as usize) as f64),
            false => low + (high - low) * random.unit(),
        };
        found.push(Claim { class, column, ends: [number_code(*low), number_code(*high)], inside: number_code(inside) });
    }
    found
}

/// Whether the original has a person in the class with this value.
fn exists(intruder: &Intruder<'_>, claim: &Claim, code: Code) -> bool {
    let original = intruder.input.original;
    let extents: Vec<&Extent> = intruder.input.release.extents(claim.class).collect();
    (0..original.cells() as u32).any(|cell| {
        let tuple = original.cell(cell);
        tuple[claim.column] == code && extents.iter().zip(tuple).all(|(extent, code)| extent.contains(*code))
    })
}
