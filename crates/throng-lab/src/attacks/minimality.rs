//! Minimality: a generalization that k did not require reveals that p required it [Wong 2007].
//!
//! The intruder knows the quasi-identifiers of everyone in the table, and that the anonymizer generalizes no more than it must. A
//! cell of at least k people could have been released as it is. If it was not, its people have fewer than p different values. The
//! intruder draws their values from the classes that cover the cell, on this condition: with p = 2 all of them have the same value,
//! and the chance of a value is proportional to the number of ways to choose the cell's rows from the rows with this value.
//! `prior` is the share in these classes without the condition.
//!
//! For p > 2 supports of exactly p - 1 values are counted, which include smaller ones; the belief is then an approximation. Cells
//! that limits of generalization or a p of another column keep apart, and rows that were lent to other classes, are not modelled:
//! the intruder is sometimes wrong, which appears as a gain below 1.

use rustc_hash::FxHashMap;

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::{chance, pooled};
use crate::statistics::{ln_choose, rounded};

/// Maximum number of supports that are counted.
const SUPPORTS: usize = 5_000;

/// Maximum number of cells that are attacked.
const CELLS: usize = 2_000;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let (spec, original, release) = (&intruder.input.lexicon.spec, intruder.input.original, intruder.input.release);
    if (0..intruder.sensitive()).all(|column| spec.p_of(column) < 2) {
        return Err("p = 1 requires no generalization that k does not");
    }
    let suspicious: Vec<u32> = (0..original.cells() as u32)
        .filter(|cell| {
            original.cell_rows[*cell as usize] >= spec.k && release.exact_class(original.cell(*cell)).is_none()
        })
        .collect();
    let chosen = crate::random::LabRandom::new(intruder.input.seed, "cells").sample(suspicious.len(), CELLS);
    let cells: Vec<(u32, Vec<u32>)> = chosen
        .into_iter()
        .map(|at| (suspicious[at], release.covering(original.cell(suspicious[at]))))
        .filter(|(_, classes)| !classes.is_empty())
        .collect();
    intruder.for_each_column(|column| {
        let p = spec.p_of(column);
        let mut trials = Vec::new();
        if p > 1 {
            for (cell, classes) in &cells {
                let class = pooled(release, classes, column);
                let belief = conditioned(&class, original.cell_rows[*cell as usize], p);
                for (value, rows) in original.tallies[column].of(*cell) {
                    let prior = chance(&class, *value);
                    let release = belief.as_ref().map_or(prior, |belief| belief.get(value).copied().unwrap_or(0.0));
                    let own = chance(&intruder.cell(*cell, column), *value);
                    trials.push(Success { weight: f64::from(*rows), ..Success::new(prior, release, own) });
                }
            }
        }
        let people: f64 = trials.iter().map(|trial| trial.weight).sum();
        if trials.is_empty() {
            trials = untouched(intruder, column);
        }
        let prior_is = "the share of the value in the classes that cover the cell";
        let outcome = AttackOutcome::of("minimality", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        let share = people / original.rows as f64 * suspicious.len() as f64 / cells.len().max(1) as f64;
        Some(outcome.with("cells_attacked", cells.len()).with("share_of_people", rounded(share.min(1.0))))
    })
}

/// Returns the trials of an attack without anyone to attack: the prior, for every target.
pub(super) fn untouched(intruder: &Intruder<'_>, column: usize) -> Vec<Success> {
    let unchanged = |(target, cell, value): (usize, u32, u32)| {
        let prior = chance(&intruder.pooled(target, column), value);
        Success::new(prior, prior, chance(&intruder.cell(cell, column), value))
    };
    intruder.targets(column).map(unchanged).collect()
}

/// Returns the belief in each value for one of `rows` people who have fewer than `p` values, all drawn from a histogram; `None` if
/// that is impossible or there are too many possibilities.
fn conditioned(histogram: &FxHashMap<u32, u64>, rows: u64, p: u64) -> Option<FxHashMap<u32, f64>> {
    let mut values: Vec<(u32, u64)> = histogram.iter().map(|(value, rows)| (*value, *rows)).collect();
    values.sort_unstable();
    let size = (p as usize - 1).min(values.len());
    let mut supports = Vec::new();
    subsets(values.len(), size, &mut Vec::new(), &mut supports);
    if supports.len() >= SUPPORTS {
        return None;
    }
    let of = |support: &[usize]| support.iter().map(|at| values[*at].1).sum::<u64>();
    let weights: Vec<f64> = supports.iter().map(|support| ln_choose(of(support), rows)).collect();
    let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return None;
    }
    let mut belief: FxHashMap<u32, f64> = FxHashMap::default();
    let mut total = 0.0;
    for (support, weight) in supports.iter().zip(weights) {
        let weight = (weight - most).exp();
        total += weight;
        for at in support {
            *belief.entry(values[*at].0).or_default() += weight * values[*at].1 as f64 / of(support) as f64;
        }
    }
    belief.values_mut().for_each(|weight| *weight /= total);
    Some(belief)
}

fn subsets(values: usize, size: usize, chosen: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if chosen.len() == size {
        found.push(chosen.clone());
        return;
    }
    let first = chosen.last().map_or(0, |last| last + 1);
    for value in first..values {
        if found.len() >= SUPPORTS {
            return;
        }
        chosen.push(value);
        subsets(values, size, chosen, found);
        chosen.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_p_two_all_people_of_the_cell_have_one_value() {
        // Ten people of one cell in a class with 12 of one value and 10 of another: C(12, 10) = 66 ways against 1.
        let histogram: FxHashMap<u32, u64> = [(0, 12), (1, 10), (2, 3)].into_iter().collect();
        let belief = conditioned(&histogram, 10, 2).unwrap();
        assert!((belief[&0] - 66.0 / 67.0).abs() < 1e-9, "{belief:?}");
        assert!((belief[&1] - 1.0 / 67.0).abs() < 1e-9, "{belief:?}");
        assert!(conditioned(&histogram, 20, 2).is_none());
        // With p = 3 two values are possible.
        assert!(conditioned(&histogram, 20, 3).is_some());
    }
}
