//! Borrowed rows: subtracting from a class the rows that it borrowed from a larger cell.
//!
//! A class that lacks rows may borrow some of a cell that can spare them. The intruder knows the quasi-identifiers of everyone in
//! the table, and so how many rows of a class are its own: the people in cells that no other class covers. If one released cell
//! inside the labels of the class can be the lender, and a public rule chose the borrowed rows (the most frequent values of the
//! lender first, then those that the class lacks), the intruder tries every set of values of the own people and keeps those that
//! the rule turns into the class that was released. This is minimality [Wong 2007] of the loan instead of the label.
//!
//! `prior` is the share of the value in the class. Against a release that draws borrowed rows at random, as Throng does, the
//! hypotheses are wrong or reveal no more than the class, and the gain is 1 or less.

use rayon::prelude::*;

use super::minimality::untouched;
use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::chance;
use crate::random::LabRandom;
use crate::statistics::{ln_factorial, rounded};

/// Maximum number of generalized classes that are examined.
const CLASSES: usize = 1_000;

/// Maximum number of sets of values of the own people that are tried.
const HYPOTHESES: usize = 20_000;

/// Counts of values in ascending order of the values.
type Counts = Vec<(u32, u64)>;

/// A class whose composition the intruder has worked out.
struct Resolved {
    class: u32,
    own_cells: Vec<u32>,
    own: u64,
    lender: u32,
}

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let release = intruder.input.release;
    let chosen = LabRandom::new(intruder.input.seed, "classes").sample(release.general.len(), CLASSES);
    let resolved: Vec<Resolved> = chosen.par_iter().filter_map(|at| resolve(intruder, release.general[*at])).collect();
    let (k, spec) = (intruder.input.lexicon.spec.k, &intruder.input.lexicon.spec);
    intruder.for_each_column(|column| {
        let attacked: Vec<(Vec<Success>, bool)> = resolved
            .par_iter()
            .map(|known| {
                let class = counts(release.tallies[column].of(known.class));
                let home = counts(release.tallies[column].of(known.lender));
                let belief = belief(&class, &home, known.own, k, spec.p_of(column));
                let pooled = class.iter().copied().collect();
                let mut trials = Vec::new();
                for cell in &known.own_cells {
                    for (value, rows) in intruder.input.original.tallies[column].of(*cell) {
                        let prior = chance(&pooled, *value);
                        let of_value = |belief: &Vec<(u32, f64)>| {
                            belief.iter().find(|(known, _)| known == value).map_or(0.0, |(_, chance)| *chance)
                        };
                        let release = belief.as_ref().map_or(prior, of_value);
                        let original = chance(&intruder.cell(*cell, column), *value);
                        trials.push(Success { weight: f64::from(*rows), ..Success::new(prior, release, original) });
                    }
                }
                (trials, belief.is_some())
            })
            .collect();
        let explained = attacked.iter().filter(|(_, is_explained)| *is_explained).count();
        let mut trials: Vec<Success> = attacked.into_iter().flat_map(|(trials, _)| trials).collect();
        let people: f64 = trials.iter().map(|trial| trial.weight).sum();
        if trials.is_empty() {
            trials = untouched(intruder, column);
        }
        let prior_is = "the share of the value in the class";
        let outcome =
            AttackOutcome::of("borrowed_rows", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        let scale = release.general.len() as f64 / chosen.len().max(1) as f64;
        let share = rounded((people * scale / intruder.input.original.rows as f64).min(1.0));
        Some(
            outcome
                .with("classes_resolved", resolved.len())
                .with("classes_explained", explained)
                .with("share_of_people", share),
        )
    })
}

fn counts(values: &[(u32, u32)]) -> Counts {
    values.iter().map(|(value, rows)| (*value, u64::from(*rows))).collect()
}

/// Determines the own people of a class, and the cell that lent the other rows.
fn resolve(intruder: &Intruder<'_>, class: u32) -> Option<Resolved> {
    let (original, release) = (intruder.input.original, intruder.input.release);
    let extents: Vec<_> = release.extents(class).collect();
    let (mut own_cells, mut own, mut lenders) = (Vec::new(), 0, Vec::new());
    for cell in 0..original.cells() as u32 {
        let tuple = original.cell(cell);
        if !extents.iter().zip(tuple).all(|(extent, code)| extent.contains(*code)) {
            continue;
        }
        match release.exact_class(tuple) {
            Some(home) => lenders.push(home),
            // People whom another class also covers may be in that class.
            None if release.covering(tuple).len() > 1 => return None,
            None => {
                own += original.cell_rows[cell as usize];
                own_cells.push(cell);
            }
        }
    }
    let is_borrowing = own > 0 && own < release.class_rows[class as usize];
    match lenders[..] {
        [lender] if is_borrowing => Some(Resolved { class, own_cells, own, lender }),
        _ => None,
    }
}

/// Returns the belief in each value for one of the own people; `None` if no hypothesis explains the class.
fn belief(class: &Counts, home: &Counts, own: u64, k: u64, p: u64) -> Option<Vec<(u32, f64)>> {
    let mut hypotheses = Vec::new();
    selections(class, own, &mut Vec::new(), &mut hypotheses);
    if hypotheses.len() >= HYPOTHESES {
        return None;
    }
    let mut weights: Vec<(usize, f64)> = Vec::new();
    for (at, guess) in hypotheses.iter().enumerate() {
        let lent: Counts = class.iter().zip(guess).map(|((value, all), own)| (*value, all - own)).collect();
        let lender = added(home, &lent);
        let of_own: Counts = class.iter().zip(guess).map(|((value, _), own)| (*value, *own)).collect();
        if by_rule(&lender, &of_own, k, p).is_some_and(|ruled| nonzero(&ruled) == nonzero(&lent)) {
            // Number of ways to give the values to the people of the lender and to the own people.
            let ways = lender.iter().chain(&of_own).map(|(_, rows)| ln_factorial(*rows)).sum::<f64>();
            weights.push((at, -ways));
        }
    }
    let most = weights.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = weights.iter().map(|(_, weight)| (weight - most).exp()).sum();
    (!weights.is_empty()).then(|| {
        let chance = |place: usize| {
            let shares =
                weights.iter().map(|(at, weight)| (weight - most).exp() / total * hypotheses[*at][place] as f64);
            shares.sum::<f64>() / own as f64
        };
        class.iter().enumerate().map(|(place, (value, _))| (*value, chance(place))).collect()
    })
}

/// Lists all ways to choose `left` rows from a histogram, as one count per value.
fn selections(of: &[(u32, u64)], left: u64, chosen: &mut Vec<u64>, found: &mut Vec<Vec<u64>>) {
    if found.len() >= HYPOTHESES {
        return;
    }
    let Some((_, most)) = of.get(chosen.len()) else {
        if left == 0 {
            found.push(chosen.clone());
        }
        return;
    };
    let after: u64 = of[chosen.len() + 1..].iter().map(|(_, rows)| rows).sum();
    for count in left.saturating_sub(after)..=left.min(*most) {
        chosen.push(count);
        selections(of, left - count, chosen, found);
        chosen.pop();
    }
}

fn nonzero(counts: &Counts) -> Counts {
    counts.iter().filter(|(_, rows)| *rows > 0).copied().collect()
}

fn added(one: &Counts, other: &Counts) -> Counts {
    let mut sum = one.clone();
    for (value, rows) in other {
        match sum.binary_search_by_key(value, |(value, _)| *value) {
            Ok(at) => sum[at].1 += rows,
            Err(at) => sum.insert(at, (*value, *rows)),
        }
    }
    sum
}

/// Returns the rows that a lender lends to people with these values by the rule: rows of its most frequent values until the
/// number of missing rows equals that of missing values, and then the most frequent values that the class does not have. Ties
/// go to the last value.
fn by_rule(lender: &Counts, own: &Counts, k: u64, p: u64) -> Option<Counts> {
    let (mut left, mut lent): (Counts, Counts) =
        (lender.clone(), lender.iter().map(|(value, _)| (*value, 0)).collect());
    let mut class: Vec<u32> = nonzero(own).iter().map(|(value, _)| *value).collect();
    let mut rows: u64 = own.iter().map(|(_, rows)| rows).sum();
    loop {
        let (lacking, values) = (k.saturating_sub(rows), p.saturating_sub(class.len() as u64));
        let (is_helping, most) = match (lacking, values) {
            (0, 0) => return Some(lent),
            (lacking, values) if lacking > values => (false, lacking - values),
            _ => (true, 1),
        };
        let useful = |(_, (value, rows)): &(usize, &(u32, u64))| *rows > 0 && (!is_helping || !class.contains(value));
        let (at, (value, available)) = left.iter().enumerate().filter(useful).max_by_key(|(_, (_, rows))| *rows)?;
        let (value, taken) = (*value, (*available).min(most));
        left[at].1 -= taken;
        lent[at].1 += taken;
        rows += taken;
        if !class.contains(&value) {
            class.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_lonely_person_is_what_the_rule_leaves() {
        // A lender of 20, 8 and 5 rows lends eight of its most frequent value and one of the second to a person with value 9.
        let lender = vec![(0, 20), (1, 8), (2, 5)];
        let lent = by_rule(&lender, &vec![(9, 1)], 10, 3).unwrap();
        assert_eq!(lent, [(0, 8), (1, 1), (2, 0)]);
        let home = vec![(0, 12), (1, 7), (2, 5)];
        let class = vec![(0, 8), (1, 1), (9, 1)];
        let belief = belief(&class, &home, 1, 10, 3).unwrap();
        assert_eq!(belief, [(0, 0.0), (1, 0.0), (9, 1.0)]);
    }

    #[test]
    fn selections_are_complete() {
        let mut found = Vec::new();
        selections(&[(0, 2), (1, 1), (2, 5)], 3, &mut Vec::new(), &mut found);
        assert_eq!(found, [[0, 0, 3], [0, 1, 2], [1, 0, 2], [1, 1, 1], [2, 0, 1], [2, 1, 0]]);
    }
}
