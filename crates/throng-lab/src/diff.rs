//! What two releases of the same people reveal together [Ganta 2008].
//!
//! A person who is in both releases is in a class of each. Without a link between rows an intruder who knows the
//! quasi-identifiers of a person takes, in each release, all classes whose labels cover them, and per sensitive value the lower
//! of the two counts: at most this many people with this value are in both. The sum is the number of candidates, and the values
//! that remain are the possible ones. People whose values changed between the releases are outside the scope of this attack.
//!
//! With a column that both releases show unchanged and that identifies a row (`--link`), the intruder knows which rows are the same
//! person, and the people who share both classes are counted exactly.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::extent::{Code, Extent, NULL, ValueRange, number_code};
use crate::lexicon::Lexicon;
use crate::random::LabRandom;
use crate::table::{OriginalTable, ReleasedTable};

/// Largest number of people who are drawn from the labels of a release.
const DRAWN_PEOPLE: usize = 20_000;

/// What two releases reveal together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffReport {
    /// How people were found: `linked`, `original` or `labels`.
    pub method: &'static str,
    /// Known number of people who are in both releases.
    pub people: u64,
    /// Number of these people who were examined.
    pub examined: u64,
    /// People with fewer than k candidates, extrapolated to all people.
    pub people_below_k: u64,
    /// People with fewer than p possible values of a sensitive column, extrapolated to all people.
    pub people_below_p: u64,
    /// People with one possible value, extrapolated to all people.
    pub people_disclosed: u64,
    /// Smallest number of candidates.
    pub fewest_candidates: u64,
    /// Mean chance of a guess drawn from the possible values, given the second release alone.
    pub chance_alone: f64,
    /// The same, given both.
    pub chance_together: f64,
}

/// Candidates of one person.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    pub(crate) candidates: u64,
    pub(crate) values: usize,
}

/// Compares two releases using known quasi-identifiers of people: those of the original if there is one, and values drawn
/// from the labels of the first release otherwise.
pub fn diff(
    lexicon: &Lexicon,
    first: &ReleasedTable,
    second: &ReleasedTable,
    original: Option<&OriginalTable>,
    seed: u64,
) -> DiffReport {
    let drawn;
    let people: Vec<(Vec<Code>, Option<u32>)> = match original {
        Some(original) => {
            let targets = original.targets.iter();
            targets.map(|target| (original.cell(target.cell).to_vec(), target.values.first().copied())).collect()
        }
        None => {
            drawn = draw_people(first, seed);
            drawn
        }
    };
    let rows = first.rows.min(second.rows);
    let people_in_both = original.map_or(rows, |original| original.rows.min(rows));
    let examined: Vec<_> = people
        .par_iter()
        .filter_map(|(tuple, value)| {
            let classes = [first.covering(tuple), second.covering(tuple)];
            // A person whom one release does not cover is not in both.
            (!classes[0].is_empty() && !classes[1].is_empty()).then(|| {
                let remaining = remaining(&[first, second], &classes, lexicon);
                let chances = value.map(|value| {
                    let alone = pooled(second, &classes[1], 0);
                    let both = common(&[pooled(first, &classes[0], 0), pooled(second, &classes[1], 0)]);
                    [chance(&alone, value), chance(&both, value)]
                });
                (remaining, chances)
            })
        })
        .collect();
    let method = if original.is_some() { "original" } else { "labels" };
    report(lexicon, method, people_in_both, &examined)
}

/// Examined people: the remaining candidates of each, and the chances of their value with one release and with both.
type Examined = (Vec<Remaining>, Option<[f64; 2]>);

fn report(lexicon: &Lexicon, method: &'static str, people: u64, examined: &[Examined]) -> DiffReport {
    let (k, spec) = (lexicon.spec.k, &lexicon.spec);
    let scale = |count: usize| match examined.len() {
        0 => 0,
        all => (count as f64 * people as f64 / all as f64).round() as u64,
    };
    let is_below_p = |remaining: &[Remaining]| {
        remaining.iter().enumerate().any(|(column, remaining)| (remaining.values as u64) < spec.p_of(column))
    };
    let candidates =
        |remaining: &[Remaining]| remaining.iter().map(|remaining| remaining.candidates).min().unwrap_or(0);
    let chances: Vec<[f64; 2]> = examined.iter().filter_map(|(_, chances)| *chances).collect();
    let mean = |at: usize| crate::statistics::mean(&chances.iter().map(|chance| chance[at]).collect::<Vec<_>>());
    DiffReport {
        method,
        people,
        examined: examined.len() as u64,
        people_below_k: scale(examined.iter().filter(|(remaining, _)| candidates(remaining) < k).count()),
        people_below_p: scale(examined.iter().filter(|(remaining, _)| is_below_p(remaining)).count()),
        people_disclosed: scale(
            examined.iter().filter(|(remaining, _)| remaining.iter().any(|remaining| remaining.values == 1)).count(),
        ),
        fewest_candidates: examined.iter().map(|(remaining, _)| candidates(remaining)).min().unwrap_or(0),
        chance_alone: crate::statistics::rounded(mean(0)),
        chance_together: crate::statistics::rounded(mean(1)),
    }
}

/// Returns the remaining candidates of a person for each sensitive column; without a sensitive column, the smaller number of
/// candidates.
fn remaining(releases: &[&ReleasedTable; 2], classes: &[Vec<u32>; 2], lexicon: &Lexicon) -> Vec<Remaining> {
    if lexicon.sensitive.is_empty() {
        let rows = |at: usize| classes[at].iter().map(|class| releases[at].class_rows[*class as usize]).sum::<u64>();
        return vec![Remaining { candidates: rows(0).min(rows(1)), values: usize::MAX }];
    }
    let of_column = |column: usize| {
        let both = common(&[pooled(releases[0], &classes[0], column), pooled(releases[1], &classes[1], column)]);
        Remaining { candidates: both.values().sum(), values: both.len() }
    };
    (0..lexicon.sensitive.len()).map(of_column).collect()
}

/// Returns the histogram of a sensitive column over several classes.
pub(crate) fn pooled(release: &ReleasedTable, classes: &[u32], column: usize) -> FxHashMap<u32, u64> {
    let mut counts = FxHashMap::default();
    for class in classes {
        for (value, rows) in release.tallies[column].of(*class) {
            *counts.entry(*value).or_default() += u64::from(*rows);
        }
    }
    counts
}

/// Returns the least count of every value that all histograms have.
pub(crate) fn common(histograms: &[FxHashMap<u32, u64>]) -> FxHashMap<u32, u64> {
    let Some((first, others)) = histograms.split_first() else { return FxHashMap::default() };
    let least = |(value, rows): (&u32, &u64)| {
        let rows = others.iter().try_fold(*rows, |least, other| other.get(value).map(|rows| least.min(*rows)))?;
        Some((*value, rows))
    };
    first.iter().filter_map(least).collect()
}

/// Returns the share of a value in a histogram.
pub(crate) fn chance(histogram: &FxHashMap<u32, u64>, value: u32) -> f64 {
    let total: u64 = histogram.values().sum();
    histogram.get(&value).map_or(0.0, |rows| *rows as f64 / total.max(1) as f64)
}

/// Draws people who could be in a release: a class by its rows, and values evenly from its labels.
fn draw_people(release: &ReleasedTable, seed: u64) -> Vec<(Vec<Code>, Option<u32>)> {
    let mut random = LabRandom::new(seed, "people of a release");
    let mut rows = random.sample(release.rows as usize, DRAWN_PEOPLE).into_iter().peekable();
    let (mut people, mut end) = (Vec::new(), 0);
    for class in 0..release.classes() as u32 {
        end += release.class_rows[class as usize] as usize;
        while rows.next_if(|row| *row < end).is_some() {
            let ranges = release.columns.iter().map(|column| &column.range);
            let tuple = release.extents(class).zip(ranges).map(|(extent, range)| draw(extent, range, &mut random));
            people.push((tuple.collect(), None));
        }
    }
    people
}

fn draw(extent: &Extent, range: &ValueRange, random: &mut LabRandom) -> Code {
    let number = |low: f64, high: f64, step: f64, random: &mut LabRandom| match step > 0.0 {
        true => number_code(low + step * random.below(((high - low) / step) as usize + 1) as f64),
        false => number_code(low + (high - low) * random.unit()),
    };
    match (extent, range) {
        (Extent::Null, _) => NULL,
        (Extent::Leaves { leaves, .. }, _) if !leaves.is_empty() => u64::from(leaves[random.below(leaves.len())]),
        (Extent::NearLeaf(leaf), _) => u64::from(*leaf),
        (Extent::Near(at), _) => number_code(*at),
        (Extent::Between { low, high }, ValueRange::Numbers { low: least, high: greatest, step }) => {
            number(low.max(*least), high.min(*greatest), *step, random)
        }
        (Extent::Everything, ValueRange::Numbers { low, high, step }) => number(*low, *high, *step, random),
        (Extent::Everything, ValueRange::Names(count)) if *count > 0 => random.below(*count) as u64,
        _ => NULL,
    }
}

/// Remaining candidates of a person who is in both of two classes, and the histogram of the first sensitive column.
type SharedRows = (Vec<Remaining>, FxHashMap<u32, u64>);

/// Number of rows with the same key beyond which a column is not used as a link.
const KEY_ROWS: usize = 50;

/// Compares two releases whose rows are linked by a column. People whose key is unique in both are examined; their candidates are
/// all rows that the same two classes have in common by their keys.
pub fn diff_linked(lexicon: &Lexicon, first: &ReleasedTable, second: &ReleasedTable) -> DiffReport {
    let [by_key, others] = [first, second].map(|release| {
        let mut rows: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        release.linked.iter().enumerate().for_each(|(at, person)| rows.entry(person.link).or_default().push(at));
        rows
    });
    // Rows in common of two classes: how many, and which of the second release.
    let mut together: FxHashMap<(u32, u32), (u64, Vec<usize>)> = FxHashMap::default();
    let mut people: Vec<usize> = Vec::new();
    let mut classes_of: Vec<(u32, u32)> = Vec::new();
    let mut keys: Vec<&u64> = by_key.keys().collect();
    keys.sort_unstable();
    for key in keys {
        let (before, Some(after)) = (&by_key[key], others.get(key)) else { continue };
        if before.len().max(after.len()) > KEY_ROWS {
            continue;
        }
        let mut earlier: FxHashMap<u32, u64> = FxHashMap::default();
        before.iter().for_each(|at| *earlier.entry(first.linked[*at].class).or_default() += 1);
        let mut later: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        after.iter().for_each(|at| later.entry(second.linked[*at].class).or_default().push(*at));
        for (class, rows) in &earlier {
            for (other, found) in &later {
                let common = together.entry((*class, *other)).or_default();
                common.0 += (*rows).min(found.len() as u64);
                common.1.extend_from_slice(found);
            }
        }
        if let ([a], [b]) = (before.as_slice(), after.as_slice()) {
            people.push(*b);
            classes_of.push((first.linked[*a].class, second.linked[*b].class));
        }
    }
    let columns = lexicon.sensitive.len();
    let values = |rows: &[usize], column: usize| {
        let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
        rows.iter()
            .filter_map(|at| second.linked[*at].value(column))
            .for_each(|value| *counts.entry(value).or_default() += 1);
        counts
    };
    let known: FxHashMap<(u32, u32), SharedRows> = together
        .iter()
        .map(|(classes, (candidates, rows))| {
            let remaining = |column| Remaining { candidates: *candidates, values: values(rows, column).len() };
            let all = match columns {
                0 => vec![Remaining { candidates: *candidates, values: usize::MAX }],
                _ => (0..columns).map(remaining).collect(),
            };
            (*classes, (all, if columns > 0 { values(rows, 0) } else { FxHashMap::default() }))
        })
        .collect();
    let examined: Vec<Examined> = people
        .iter()
        .zip(&classes_of)
        .map(|(at, classes)| {
            let (remaining, together) = &known[classes];
            let person = &second.linked[*at];
            let value = if columns > 0 { person.value(0) } else { None };
            let alone = |value| chance(&pooled(second, &[person.class], 0), value);
            (remaining.clone(), value.map(|value| [alone(value), chance(together, value)]))
        })
        .collect();
    report(lexicon, "linked", examined.len() as u64, &examined)
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
