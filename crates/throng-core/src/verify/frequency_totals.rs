//! Requirements on frequencies over all classes.
//!
//! Most measures of a class depend on its own counts, and only the worst one is kept. Requirements that compare classes
//! with the whole release can be decided only when all rows have been seen; until then the counts of every class are kept.

use std::collections::BTreeMap;

use super::facts::SymbolCounts;
use super::findings::{Amount, RequirementFindings};
use super::frequency::{Reference, measure, violates};
use super::label_tree::LabelTree;
use super::promise::SensitivePromise;
use crate::model::{FrequencyRequirement, LimitKind};

/// Measures of the classes added so far.
#[derive(Clone, Debug, Default)]
pub(super) struct FrequencyTotals {
    /// Worst measure and number of failing classes, by requirement.
    worst: Vec<Worst>,
    /// Counts of each class, if a requirement needs them.
    classes: Vec<Vec<(u64, u64)>>,
    /// Visible parts of masked codes by symbol, if values are compared by them.
    codes: BTreeMap<u64, Vec<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Worst {
    measure: Option<f64>,
    failing: u64,
}

impl Worst {
    const NOTHING: Self = Self { measure: None, failing: 0 };

    fn add(&mut self, requirement: &FrequencyRequirement, measure: f64, has_values: bool) {
        self.include(requirement.limit_kind(), Some(measure));
        self.failing += u64::from(violates(requirement, measure, has_values));
    }

    fn include(&mut self, limit: LimitKind, measure: Option<f64>) {
        let worse = match limit {
            LimitKind::AtLeast => f64::min,
            LimitKind::AtMost => f64::max,
        };
        self.measure = match (self.measure, measure) {
            (Some(known), Some(seen)) => Some(worse(known, seen)),
            (known, seen) => known.or(seen),
        };
    }
}

impl FrequencyTotals {
    /// Adds a complete class. `rows` is the number that shares are relative to, if it is not the sum over all symbols.
    pub(super) fn add(&mut self, counts: &SymbolCounts, rows: Option<u64>, requirements: &[FrequencyRequirement]) {
        self.worst.resize(requirements.len(), Worst::NOTHING);
        for (worst, requirement) in self.worst.iter_mut().zip(requirements) {
            if !requirement.compares_with_release() {
                let measure = match rows {
                    // Lists have a share of rows, and no other measure.
                    Some(rows) => counts.most_frequent() as f64 / rows.max(1) as f64,
                    None => measure(requirement, counts, &Reference::default()),
                };
                worst.add(requirement, measure, counts.distinct() > 0);
            }
        }
        if requirements.iter().any(FrequencyRequirement::compares_with_release) {
            self.classes.push(counts.iter().collect());
        }
    }

    /// Adds the visible parts of masked codes.
    pub(super) fn add_codes(&mut self, codes: &BTreeMap<u64, Vec<u64>>) {
        self.codes.extend(codes.iter().map(|(symbol, parts)| (*symbol, parts.clone())));
    }

    /// Merges the totals of other classes, for the same requirements.
    pub(super) fn merge(&mut self, other: &Self, requirements: &[FrequencyRequirement]) {
        self.worst.resize(requirements.len(), Worst::NOTHING);
        for ((known, seen), requirement) in self.worst.iter_mut().zip(&other.worst).zip(requirements) {
            known.include(requirement.limit_kind(), seen.measure);
            known.failing += seen.failing;
        }
        self.classes.extend(other.classes.iter().cloned());
        self.add_codes(&other.codes);
    }

    /// Returns required and achieved measures, in the order of the requirements.
    pub(super) fn findings(&self, promise: &SensitivePromise) -> Vec<RequirementFindings> {
        let mut release = Reference::default();
        self.classes.iter().for_each(|counts| release.add(counts));
        release.tree = LabelTree::of(&promise.reading, release.rows.keys().copied(), &self.codes);
        let finding = |(number, requirement): (usize, &FrequencyRequirement)| {
            let mut worst = self.worst.get(number).copied().unwrap_or(Worst::NOTHING);
            for counts in self.classes.iter().filter(|_| requirement.compares_with_release()) {
                let counts = SymbolCounts::of(counts);
                worst.add(requirement, measure(requirement, &counts, &release), counts.distinct() > 0);
            }
            RequirementFindings {
                model: requirement.name(),
                column: Some(promise.column.clone()),
                required: Amount::Weight(requirement.limit()),
                achieved: Amount::Weight(worst.measure.unwrap_or(0.0)),
                failing_classes: worst.failing,
            }
        };
        promise.frequencies.iter().enumerate().map(finding).collect()
    }

    /// Appends the totals to a summary.
    pub(super) fn write(&self, numbers: &mut Vec<u64>) {
        numbers.push(self.worst.len() as u64);
        for worst in &self.worst {
            numbers.extend([u64::from(worst.measure.is_some()), worst.measure.unwrap_or(0.0).to_bits(), worst.failing]);
        }
        numbers.push(self.classes.len() as u64);
        for counts in &self.classes {
            numbers.push(counts.len() as u64);
            numbers.extend(counts.iter().flat_map(|(symbol, rows)| [*symbol, *rows]));
        }
        numbers.push(self.codes.len() as u64);
        for (symbol, parts) in &self.codes {
            numbers.extend([*symbol, parts.len() as u64]);
            numbers.extend(parts);
        }
    }

    /// Decodes totals from a summary.
    pub(super) fn read(next: &mut dyn FnMut() -> Option<u64>) -> Option<Self> {
        let mut totals = Self::default();
        for _ in 0..next()? {
            let (is_known, measure, failing) = (next()? == 1, f64::from_bits(next()?), next()?);
            totals.worst.push(Worst { measure: is_known.then_some(measure), failing });
        }
        for _ in 0..next()? {
            let mut counts = Vec::new();
            for _ in 0..next()? {
                counts.push((next()?, next()?));
            }
            totals.classes.push(counts);
        }
        for _ in 0..next()? {
            let (symbol, parts) = (next()?, next()?);
            totals.codes.insert(symbol, (0..parts).map(|_| next()).collect::<Option<_>>()?);
        }
        Some(totals)
    }
}
