//! Totals over all classes.

use std::collections::BTreeMap;

use super::facts::ClassFacts;
use super::findings::{Amount, Diversity, RequirementFindings};
use super::frequency_totals::FrequencyTotals;
use super::promise::{Promise, SensitivePromise};
use crate::model::{ALPHA_WEIGHT, CONSTRAINED, K_ANONYMITY};

/// Tolerance in units for an alpha that is a rounded fraction.
const ROUNDING: f64 = 1e-9;

/// Totals over the classes added so far.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    pub(super) classes: u64,
    pub(super) sum_of_squares: u64,
    /// Number of classes by size.
    pub(super) class_sizes: BTreeMap<u64, u64>,
    pub(super) sizes: LeastReached,
    /// Per sensitive promise.
    pub(super) sensitive: Vec<SensitiveTotals>,
    /// Per constraint, the number of violating rows, and of classes that have some.
    pub(super) beyond: Vec<(u64, u64)>,
    pub(super) homogeneity: f64,
}

/// The minimum over classes, and the number of failing classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastReached {
    pub(super) least: u64,
    pub(super) failing: u64,
}

#[derive(Clone, Debug)]
pub(super) struct SensitiveTotals {
    pub(super) distinct: LeastReached,
    pub(super) weight: LeastReached,
    pub(super) frequencies: FrequencyTotals,
    pub(super) sum: u64,
    pub(super) disclosures: u64,
    /// The largest share of one value among the rows of a class.
    pub(super) largest_share: f64,
    /// Number of classes and of their rows by number of distinct values.
    pub(super) by_distinct: BTreeMap<u64, (u64, u64)>,
}

impl LeastReached {
    const NOTHING: Self = Self { least: u64::MAX, failing: 0 };

    fn add(&mut self, reached: u64, falls_short: bool) {
        self.least = self.least.min(reached);
        self.failing += u64::from(falls_short);
    }

    fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.failing += other.failing;
    }

    /// Returns the minimum; zero for a release without rows.
    fn least(self) -> u64 {
        if self.least == u64::MAX { 0 } else { self.least }
    }
}

impl Totals {
    pub(super) fn new(promise: &Promise) -> Self {
        let none = SensitiveTotals {
            distinct: LeastReached::NOTHING,
            weight: LeastReached::NOTHING,
            frequencies: FrequencyTotals::default(),
            sum: 0,
            disclosures: 0,
            largest_share: 0.0,
            by_distinct: BTreeMap::new(),
        };
        Self {
            classes: 0,
            sum_of_squares: 0,
            class_sizes: BTreeMap::new(),
            sizes: LeastReached::NOTHING,
            sensitive: vec![none; promise.sensitive.len()],
            beyond: vec![(0, 0); promise.limits.len()],
            homogeneity: 0.0,
        }
    }

    /// Adds a complete class.
    pub(super) fn add(&mut self, facts: &ClassFacts, promise: &Promise) {
        self.classes += 1;
        self.sum_of_squares = self.sum_of_squares.saturating_add(facts.rows.saturating_mul(facts.rows));
        self.sizes.add(facts.size(), facts.size() < promise.k);
        *self.class_sizes.entry(facts.size()).or_default() += 1;
        let (mut lacking, mut asking) = (0, 0_u32);
        let columns = self.sensitive.iter_mut().zip(&facts.sensitive).zip(&promise.sensitive).enumerate();
        for (number, ((totals, seen), promise)) in columns {
            let distinct = facts.diversity(number);
            let share = seen.counts.most_frequent() as f64 / facts.rows.max(1) as f64;
            totals.largest_share = totals.largest_share.max(share);
            totals.distinct.add(distinct, distinct < promise.p);
            totals.weight.add(seen.weight, is_too_light(seen.weight, promise));
            totals.frequencies.add(&seen.counts, seen.rows_of_lists(), &promise.frequencies);
            totals.sum += distinct;
            totals.disclosures += u64::from(distinct == 1);
            let (classes, rows) = totals.by_distinct.entry(distinct).or_default();
            *classes += 1;
            *rows += facts.rows;
            if promise.p > 1 {
                lacking += promise.p.saturating_sub(distinct);
                asking += 1;
            }
        }
        for ((rows, classes), beyond) in self.beyond.iter_mut().zip(&facts.beyond) {
            *rows += beyond;
            *classes += u64::from(*beyond > 0);
        }
        self.homogeneity = self.homogeneity.max(lacking as f64 / f64::from(asking.max(1)));
    }

    /// Merges the totals of other classes.
    pub(super) fn merge(&mut self, other: &Self, promise: &Promise) {
        self.classes += other.classes;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.sizes.merge(other.sizes);
        for (size, classes) in &other.class_sizes {
            *self.class_sizes.entry(*size).or_default() += classes;
        }
        for ((known, other), promise) in self.sensitive.iter_mut().zip(&other.sensitive).zip(&promise.sensitive) {
            known.distinct.merge(other.distinct);
            known.weight.merge(other.weight);
            known.sum += other.sum;
            known.disclosures += other.disclosures;
            known.largest_share = known.largest_share.max(other.largest_share);
            known.frequencies.merge(&other.frequencies, &promise.frequencies);
            for (distinct, (more_classes, more_rows)) in &other.by_distinct {
                let (classes, rows) = known.by_distinct.entry(*distinct).or_default();
                *classes += more_classes;
                *rows += more_rows;
            }
        }
        for (known, other) in self.beyond.iter_mut().zip(&other.beyond) {
            known.0 += other.0;
            known.1 += other.1;
        }
        self.homogeneity = self.homogeneity.max(other.homogeneity);
    }

    pub(super) fn smallest_class(&self) -> u64 {
        self.sizes.least()
    }

    pub(super) fn classes_below_k(&self) -> u64 {
        self.sizes.failing
    }

    /// Returns required and achieved amounts, in the order of the promise.
    pub(super) fn requirements(&self, promise: &Promise) -> Vec<RequirementFindings> {
        let count = |model, column: Option<&str>, required, reached: LeastReached| RequirementFindings {
            model,
            column: column.map(str::to_owned),
            required: Amount::Count(required),
            achieved: Amount::Count(reached.least()),
            failing_classes: reached.failing,
        };
        let mut requirements = vec![count(K_ANONYMITY, None, promise.k, self.sizes)];
        for (totals, promise) in self.sensitive.iter().zip(&promise.sensitive) {
            if promise.p > 1 {
                requirements.push(count(promise.reading.model(), Some(&promise.column), promise.p, totals.distinct));
            }
            if let Some(alpha) = promise.least_weight() {
                requirements.push(RequirementFindings {
                    model: ALPHA_WEIGHT,
                    column: Some(promise.column.clone()),
                    required: Amount::Weight(alpha),
                    achieved: Amount::Weight(totals.weight.least() as f64 / f64::from(promise.reading.units())),
                    failing_classes: totals.weight.failing,
                });
            }
        }
        for (totals, promise) in self.sensitive.iter().zip(&promise.sensitive) {
            requirements.extend(totals.frequencies.findings(promise));
        }
        let limits = promise.limits.iter().zip(&self.beyond).map(|(limit, (rows, classes))| RequirementFindings {
            model: CONSTRAINED,
            column: Some(limit.column.clone()),
            required: Amount::Count(0),
            achieved: Amount::Count(*rows),
            failing_classes: *classes,
        });
        requirements.extend(limits);
        requirements
    }

    /// Returns the diversity of the classes, by sensitive promise.
    pub(super) fn diversity(&self, promise: &Promise) -> Vec<Diversity> {
        let of = |(totals, promise): (&SensitiveTotals, &SensitivePromise)| Diversity {
            column: promise.column.clone(),
            reading: promise.reading.counted(),
            fewest: totals.distinct.least(),
            mean: if self.classes == 0 { 0.0 } else { totals.sum as f64 / self.classes as f64 },
            disclosures: totals.disclosures,
            largest_share: totals.largest_share,
            by_distinct: totals.by_distinct.clone(),
        };
        self.sensitive.iter().zip(&promise.sensitive).map(of).collect()
    }
}

fn is_too_light(weight: u64, promise: &SensitivePromise) -> bool {
    let Some(alpha) = promise.least_weight() else { return false };
    let least = alpha * f64::from(promise.reading.units()) - ROUNDING;
    !(least..).contains(&(weight as f64))
}
