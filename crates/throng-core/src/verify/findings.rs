//! What the verifier found.

use std::fmt;

/// What the verifier found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Rows of the release.
    pub rows: u64,
    /// Classes of the release.
    pub classes: u64,
    /// The size of the smallest class; zero for a release without rows.
    pub smallest_class: u64,
    /// The sum of squared class sizes.
    pub sum_of_squares: u64,
    /// Classes with fewer than k rows.
    pub classes_below_k: u64,
    /// What was asked for and reached: k, then sensitive columns, then limits, each in the order of the promise. What
    /// asks for nothing is not in it.
    pub requirements: Vec<RequirementFindings>,
    /// How diverse the classes are, for each sensitive promise in its order.
    pub diversity: Vec<Diversity>,
    /// The highest homogeneity of a class (Def. 12 of paper A, with equal weights): by how much it falls short of its
    /// distinct values on average over the promises that ask for some.
    pub homogeneity: f64,
    /// Whether shown categories are those of the values beside them, for each column that shows categories.
    pub labels: Vec<LabelFindings>,
}

/// What was found of one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementFindings {
    /// The model that asks for it.
    pub model: &'static str,
    /// The column that it speaks of.
    pub column: Option<String>,
    /// What every class must have; for a limit, how many rows may lie beyond it.
    pub required: Amount,
    /// What every class has, zero for a release without rows; for a limit, how many rows lie beyond it.
    pub achieved: Amount,
    /// Classes that fall short.
    pub failing_classes: u64,
}

/// How much is required or reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Rows or distinct values.
    Count(u64),
    /// A total weight of categories.
    Weight(f64),
}

/// How diverse the classes are in one sensitive column, read as the promise reads it. Nulls and values that count for
/// nothing are no values.
#[derive(Clone, Debug, PartialEq)]
pub struct Diversity {
    /// The column.
    pub column: String,
    /// What is read: values, strong values or categories.
    pub reading: &'static str,
    /// The fewest distinct values of a class; zero for a release without rows.
    pub fewest: u64,
    /// The mean of the distinct values over classes.
    pub mean: f64,
    /// Classes that give away what all their members have, because all values read the same (the disclosures of paper D).
    /// A class without any value gives nothing away.
    pub disclosures: u64,
}

/// What was found of one column that shows categories beside values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFindings {
    /// The column.
    pub column: String,
    /// Rows that show another category than that of their value.
    pub mismatches: u64,
}

impl Findings {
    /// Whether the promise holds. A release without rows keeps no promise.
    pub fn holds(&self) -> bool {
        self.rows > 0
            && self.requirements.iter().all(RequirementFindings::holds)
            && self.labels.iter().all(|column| column.mismatches == 0)
    }
}

impl Diversity {
    /// What distinct values of all classes say together.
    pub(super) fn of(column: &str, reading: &'static str, distinct: impl Iterator<Item = u64> + Clone) -> Self {
        let (sum, classes) = distinct.clone().fold((0, 0_u64), |(sum, classes), count| (sum + count, classes + 1));
        Self {
            column: column.to_owned(),
            reading,
            fewest: distinct.clone().min().unwrap_or(0),
            mean: if classes == 0 { 0.0 } else { sum as f64 / classes as f64 },
            disclosures: distinct.filter(|count| *count == 1).count() as u64,
        }
    }
}

impl RequirementFindings {
    /// Whether no class falls short.
    pub fn holds(&self) -> bool {
        self.failing_classes == 0
    }

    /// What was found where each class must have `required` of something.
    pub(super) fn counts(
        model: &'static str,
        column: Option<&str>,
        required: u64,
        reached: impl Iterator<Item = u64> + Clone,
    ) -> Self {
        Self {
            model,
            column: column.map(str::to_owned),
            required: Amount::Count(required),
            achieved: Amount::Count(reached.clone().min().unwrap_or(0)),
            failing_classes: reached.filter(|count| *count < required).count() as u64,
        }
    }

    /// What was found of the total weights of classes, given in units of which `units` weigh 1.
    pub(super) fn weights(column: &str, alpha: f64, units: u32, reached: impl Iterator<Item = u64> + Clone) -> Self {
        let units = f64::from(units);
        let least = alpha * units - ROUNDING;
        let falls_short = |weight: &u64| !(least..).contains(&(*weight as f64));
        Self {
            model: "alpha-weight",
            column: Some(column.to_owned()),
            required: Amount::Weight(alpha),
            achieved: Amount::Weight(reached.clone().min().unwrap_or(0) as f64 / units),
            failing_classes: reached.filter(falls_short).count() as u64,
        }
    }

    /// What was found of a limit, with the rows of each class that lie beyond it.
    pub(super) fn limit(column: &str, beyond: impl Iterator<Item = u64> + Clone) -> Self {
        Self {
            model: CONSTRAINED,
            column: Some(column.to_owned()),
            required: Amount::Count(0),
            achieved: Amount::Count(beyond.clone().sum()),
            failing_classes: beyond.filter(|rows| *rows > 0).count() as u64,
        }
    }
}

/// The model of limits in findings.
pub const CONSTRAINED: &str = "constrained generalization";

/// A written alpha may miss the fraction that is meant by less than this many units.
const ROUNDING: f64 = 1e-9;

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Weight(weight) => weight.fmt(f),
        }
    }
}
