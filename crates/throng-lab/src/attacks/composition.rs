//! Composition: what do several releases of the same people reveal together? [Ganta 2008]
//!
//! For a person who is in all releases with the same values, the intruder takes the classes that cover the person in each, and per
//! sensitive value the least count over the releases. `prior` is the share of the value in the latest release alone. The details
//! count people with fewer than k candidates and fewer than p possible values; `throng diff` examines two releases more closely.

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::{chance, common, pooled};
use crate::statistics::rounded;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let (previous, original) = (intruder.input.previous, intruder.input.original);
    if previous.is_empty() {
        return Err("no earlier release was given");
    }
    let spec = &intruder.input.lexicon.spec;
    intruder.for_each_column(|column| {
        let (mut below_k, mut below_p, mut disclosed) = (0_u64, 0_u64, 0_u64);
        let trials: Vec<Success> = intruder
            .targets(column)
            .map(|(target, cell, value)| {
                let latest = intruder.pooled(target, column);
                let mut histograms = vec![latest];
                for release in previous {
                    let known = pooled(release, &release.covering(original.cell(cell)), column);
                    // Nothing is learned from a release that the person is not in.
                    if !known.is_empty() {
                        histograms.push(known);
                    }
                }
                let both = common(&histograms);
                let candidates: u64 = both.values().sum();
                below_k += u64::from(candidates < spec.k);
                below_p += u64::from((both.len() as u64) < spec.p_of(column));
                disclosed += u64::from(both.len() == 1);
                let prior = chance(&histograms[0], value);
                Success::new(prior, chance(&both, value), chance(&intruder.cell(cell, column), value))
            })
            .collect();
        let people = trials.len().max(1) as f64;
        let prior_is = "the share of the value in the classes of the latest release that cover the person";
        let outcome =
            AttackOutcome::of("composition", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        Some(
            outcome
                .with("releases", previous.len() + 1)
                .with("share_below_k", rounded(below_k as f64 / people))
                .with("share_below_p", rounded(below_p as f64 / people))
                .with("share_disclosed", rounded(disclosed as f64 / people)),
        )
    })
}
