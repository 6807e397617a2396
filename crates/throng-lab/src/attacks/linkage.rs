//! Linkage: which row is that of a known person? [Samarati 2001], [Sweeney 2002]
//!
//! The intruder takes all rows whose labels cover the person's quasi-identifiers, and draws one. Success is one over the number of
//! these rows, because the person's row is among them; it is zero for a person whom no label covers. `prior` is 1/k, the risk that
//! the policy accepts, so a gain above 1 means that k is broken for an average person.
//!
//! A person with several rows is found by any of them. The number of a person's rows with these quasi-identifiers is counted in the
//! original, if the policy names the columns that identify a person.
//!
//! Bound, if every row is a person: the person's own class has at least as many rows as the smallest class, and all of them are candidates. A column that
//! is released as a mean excludes no row.

use super::{AttackOutcome, Attempts, Intruder, Success};

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let (release, original) = (intruder.input.release, intruder.input.original);
    let accepted = 1.0 / intruder.input.lexicon.spec.k.max(1) as f64;
    let trials: Vec<Success> = intruder
        .candidates
        .iter()
        .zip(&original.targets)
        .map(|(classes, target)| {
            let rows: u64 = classes.iter().map(|class| release.class_rows[*class as usize]).sum();
            let own = f64::from(target.rows);
            // Some rows of a person may be suppressed, and others not.
            let chance = if rows == 0 { 0.0 } else { (own / rows as f64).min(1.0) };
            Success::new(accepted, chance, own / original.cell_rows[target.cell as usize] as f64)
        })
        .collect();
    let smallest = release.class_rows.iter().copied().min().unwrap_or(1);
    let classes: usize = intruder.candidates.iter().map(Vec::len).sum();
    let worst = trials.iter().map(|trial| trial.release).fold(0.0, f64::max);
    let uncovered = intruder.candidates.iter().filter(|classes| classes.is_empty()).count();
    let prior_is = "1/k, the risk that the policy accepts";
    let outcome = AttackOutcome::of("linkage", None, prior_is, &trials, intruder.input.seed);
    let has_units = !intruder.input.lexicon.spec.unit.is_empty();
    let own: u64 = original.targets.iter().map(|target| u64::from(target.rows)).sum();
    let per_person = crate::statistics::rounded(own as f64 / trials.len().max(1) as f64);
    let outcome = outcome.map(|outcome| {
        let outcome = match has_units {
            true => outcome.with("rows_per_person", per_person),
            false => outcome.with_bound(1.0 / smallest as f64),
        };
        outcome
            .with("worst", worst)
            .with("classes_per_person", crate::statistics::rounded(classes as f64 / trials.len().max(1) as f64))
            .with("people_not_covered", uncovered)
    });
    Ok(outcome.into_iter().collect())
}
