//! Measures of the frequencies of sensitive values, computed from the counts of one class.

use std::collections::BTreeMap;

use super::facts::SymbolCounts;
use super::label_tree::LabelTree;
use super::reader::number_of_symbol;
use crate::model::{FrequencyRequirement, GroundDistance, LimitKind};

/// Tolerance for limits that are rounded fractions.
const ROUNDING: f64 = 1e-9;

/// Largest measure that is reported, in place of infinity.
const BEYOND_ALL: f64 = 1e9;

/// Row counts by symbol over a whole release, ascending by symbol.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reference {
    pub(super) rows: BTreeMap<u64, u64>,
    /// Hierarchy of the symbols, if the promise has one.
    pub(super) tree: Option<LabelTree>,
}

impl Reference {
    pub(super) fn add(&mut self, counts: &[(u64, u64)]) {
        counts.iter().for_each(|(symbol, rows)| *self.rows.entry(*symbol).or_default() += rows);
    }

    fn total(&self) -> f64 {
        self.rows.values().sum::<u64>() as f64
    }
}

/// Returns the measure of a class that a requirement limits.
pub(super) fn measure(requirement: &FrequencyRequirement, counts: &SymbolCounts, release: &Reference) -> f64 {
    let mut descending: Vec<u64> = counts.iter().map(|(_, rows)| rows).collect();
    descending.sort_unstable_by(|a, b| b.cmp(a));
    let rows: u64 = descending.iter().sum();
    let most = descending.first().copied().unwrap_or(0) as f64;
    match requirement {
        FrequencyRequirement::MaxShare(_) => most / rows.max(1) as f64,
        FrequencyRequirement::EntropyDiversity { .. } => {
            let term = |count: &u64| {
                let share = *count as f64 / rows as f64;
                share * share.ln()
            };
            if rows == 0 { 0.0 } else { (-descending.iter().map(term).sum::<f64>()).exp() }
        }
        FrequencyRequirement::RecursiveDiversity { l, .. } => {
            let tail: u64 = descending.iter().skip((*l as usize).saturating_sub(1)).sum();
            if tail == 0 { BEYOND_ALL } else { most / tail as f64 }
        }
        FrequencyRequirement::Closeness { distance, .. } => match distance {
            _ if rows == 0 => 0.0,
            GroundDistance::Equal => total_variation(counts, rows, release),
            GroundDistance::Ordered => ordered_distance(counts, rows, release),
            // Without a hierarchy the promise can't hold.
            GroundDistance::Hierarchical => release.tree.as_ref().map_or(f64::NAN, |tree| {
                let own: BTreeMap<u64, u64> = counts.iter().collect();
                tree.distance((&own, rows as f64), (&release.rows, release.total()))
            }),
        },
        FrequencyRequirement::Likeness { .. } => {
            let gain = |(symbol, count): (u64, u64)| {
                let expected = release.rows.get(&symbol).copied().unwrap_or(0) as f64 / release.total();
                (count as f64 / rows as f64 / expected - 1.0).min(BEYOND_ALL)
            };
            counts.iter().map(gain).fold(0.0, f64::max)
        }
        FrequencyRequirement::Disclosure { .. } => {
            let own: BTreeMap<u64, u64> = counts.iter().collect();
            let change = |(symbol, all): (&u64, &u64)| match own.get(symbol) {
                Some(count) => (*count as f64 / rows as f64 / (*all as f64 / release.total())).ln().abs(),
                None => BEYOND_ALL,
            };
            if rows == 0 { 0.0 } else { release.rows.iter().map(change).fold(0.0, f64::max) }
        }
        FrequencyRequirement::ValueRange(_) => {
            let numbers = || counts.iter().map(|(symbol, _)| number_of_symbol(symbol));
            let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
            if rows == 0 { 0.0 } else { high - low }
        }
    }
}

fn total_variation(counts: &SymbolCounts, rows: u64, release: &Reference) -> f64 {
    let total = release.total();
    let own: BTreeMap<u64, u64> = counts.iter().collect();
    let difference = |(symbol, all): (&u64, &u64)| {
        (own.get(symbol).copied().unwrap_or(0) as f64 / rows as f64 - *all as f64 / total).abs()
    };
    release.rows.iter().map(difference).sum::<f64>() / 2.0
}

/// Returns the earth mover's distance with ranks as positions; symbols are ordered as the numbers they stand for.
fn ordered_distance(counts: &SymbolCounts, rows: u64, release: &Reference) -> f64 {
    let own: BTreeMap<u64, u64> = counts.iter().collect();
    let (mut carried, mut moved) = (0.0_f64, 0.0);
    for (symbol, all) in &release.rows {
        carried += own.get(symbol).copied().unwrap_or(0) as f64 / rows as f64 - *all as f64 / release.total();
        moved += carried.abs();
    }
    if release.rows.len() < 2 { 0.0 } else { moved / (release.rows.len() - 1) as f64 }
}

/// Whether a class with this measure violates a requirement.
pub(super) fn violates(requirement: &FrequencyRequirement, measure: f64, has_values: bool) -> bool {
    let limit = requirement.limit();
    if measure.is_nan() {
        return true;
    }
    match requirement {
        // The inequality is strict.
        FrequencyRequirement::RecursiveDiversity { .. } => measure >= limit,
        _ => match requirement.limit_kind() {
            LimitKind::AtMost => has_values && measure > limit + ROUNDING,
            LimitKind::AtLeast => measure < limit - ROUNDING * limit.abs().max(1.0),
        },
    }
}
