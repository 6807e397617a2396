//! Composition: what do several releases of the same people reveal together? [Ganta 2008]
//!
//! For a person who is in all releases with the same values, the intruder takes the classes that cover the person in each, and per
//! sensitive value the least count over the releases: at most this many rows with this value are candidates in all of them. `prior`
//! is the share of the value in the classes of one release, the one that reveals most on average; `gain_over_latest` compares with
//! the latest, which reveals less if releases became coarser. A release in which no row looks like the person reveals nothing. The
//! details count people with fewer than k candidates and fewer than p possible values; `throng diff` examines two releases more
//! closely.
//!
//! In a series of releases rows stay in their classes, and the intruder knows that. So the candidates are the *common parts* of
//! classes: for each label that covers the person in all releases, the least count of each value. A series promises k people and p
//! values among the rows that the same classes of all releases show. A common part has these rows, and additionally as many as
//! left and came with the same value under the same labels; `parts_below_k` and `parts_below_p` count the parts with fewer.
//! Classes of people who came later are excluded in that way, which is why the latest release alone reveals less than the series:
//! someone who has been there since the first night can't be in them. Nothing else is learned.
//!
//! Bound, in a series: the mean over people of the largest share that their value has in a common part. The belief is the share in the
//! union of the parts, a mediant (`bounds.rs`). Releases that are not a series have no bound: two sound classes may have a single
//! row in common.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{AttackOutcome, Attempts, Intruder, Success};
use crate::diff::{chance, common, pooled};
use crate::statistics::{mean, rounded};
use crate::table::ReleasedTable;

/// A class of a release: the number of the release and the number of the class.
type PartName = (usize, u32);

/// Candidate rows by value.
type CandidateValues = FxHashMap<u32, u64>;

pub(super) fn attack(intruder: &Intruder<'_>) -> Attempts {
    let (previous, original) = (intruder.input.previous, intruder.input.original);
    if previous.is_empty() {
        return Err("no earlier release was given");
    }
    let spec = &intruder.input.lexicon.spec;
    let releases: Vec<&ReleasedTable> = [intruder.input.release].into_iter().chain(previous).collect();
    intruder.for_each_column(|column| {
        let p = spec.p_of(column);
        let (mut below_k, mut below_p, mut disclosed, mut bound) = (0_u64, 0_u64, 0_u64, 0.0);
        let mut parts_below = [FxHashSet::default(), FxHashSet::default()];
        let mut parts_seen = FxHashSet::default();
        let mut alone: Vec<Vec<f64>> = vec![Vec::new(); releases.len()];
        let mut together: Vec<[f64; 2]> = Vec::new();
        for (target, cell, value) in intruder.targets(column) {
            let candidates: Vec<(&ReleasedTable, Vec<u32>)> = releases
                .iter()
                .enumerate()
                .map(|(at, release)| match at {
                    0 => (*release, intruder.candidates[target].clone()),
                    _ => (*release, release.covering(original.cell(cell))),
                })
                .collect();
            let histograms: Vec<CandidateValues> =
                candidates.iter().map(|(release, classes)| pooled(release, classes, column)).collect();
            let known: Vec<CandidateValues> = histograms.iter().filter(|known| !known.is_empty()).cloned().collect();
            if known.is_empty() {
                // Suppressed in all releases.
                continue;
            }
            let both = match spec.is_series {
                false => common(&known),
                true => {
                    let mut union = CandidateValues::default();
                    let mut largest = 0.0_f64;
                    for (class, part) in common_parts(&candidates, column) {
                        let rows: u64 = part.values().sum();
                        parts_seen.insert(class);
                        if rows < spec.k {
                            parts_below[0].insert(class);
                        }
                        if (part.len() as u64) < p {
                            parts_below[1].insert(class);
                        }
                        largest = largest.max(chance(&part, value));
                        part.into_iter().for_each(|(value, rows)| *union.entry(value).or_default() += rows);
                    }
                    bound += largest;
                    union
                }
            };
            below_k += u64::from(both.values().sum::<u64>() < spec.k);
            below_p += u64::from((both.len() as u64) < p);
            disclosed += u64::from(both.len() == 1);
            let alike = mean(&known.iter().map(|known| chance(known, value)).collect::<Vec<_>>());
            for (alone, known) in alone.iter_mut().zip(&histograms) {
                alone.push(if known.is_empty() { alike } else { chance(known, value) });
            }
            together.push([chance(&both, value), chance(&intruder.cell(cell, column), value)]);
        }
        let latest = mean(&alone[0]);
        let best = alone.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        let trials: Vec<Success> = best
            .iter()
            .zip(&together)
            .map(|(prior, [release, original])| Success::new(*prior, *release, *original))
            .collect();
        let people = trials.len().max(1) as f64;
        let prior_is = "the share of the value in the classes that cover the person in the most revealing release";
        let outcome =
            AttackOutcome::of("composition", intruder.column(column), prior_is, &trials, intruder.input.seed)?;
        let over_latest = rounded(outcome.release / latest.max(f64::MIN_POSITIVE));
        let outcome = match spec.is_series {
            false => outcome,
            true => outcome
                .with_bound(bound / people)
                .with("parts", parts_seen.len())
                .with("parts_below_k", parts_below[0].len())
                .with("parts_below_p", parts_below[1].len()),
        };
        Some(
            outcome
                .with("releases", releases.len())
                .with("gain_over_latest", over_latest)
                .with("share_below_k", rounded(below_k as f64 / people))
                .with("share_below_p", rounded(below_p as f64 / people))
                .with("share_disclosed", rounded(disclosed as f64 / people)),
        )
    })
}

/// Returns the common parts of classes with the same labels in all releases that cover a person, by the class of the first of these
/// releases.
fn common_parts(candidates: &[(&ReleasedTable, Vec<u32>)], column: usize) -> Vec<(PartName, CandidateValues)> {
    let mut covering = candidates.iter().enumerate().filter(|(_, (_, classes))| !classes.is_empty());
    let Some((at, (first, classes))) = covering.next() else { return Vec::new() };
    let others: Vec<_> = covering.map(|(_, other)| other).collect();
    let part = |class: &u32| {
        let mut histograms = vec![pooled(first, &[*class], column)];
        for (release, classes) in &others {
            let same = classes.iter().find(|other| release.extents(**other).eq(first.extents(*class)))?;
            histograms.push(pooled(release, &[*same], column));
        }
        let part = common(&histograms);
        (!part.is_empty()).then_some(((at, *class), part))
    };
    classes.iter().filter_map(part).collect()
}
