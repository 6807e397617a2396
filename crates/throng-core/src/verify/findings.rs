//! What the verifier found.

use std::collections::BTreeMap;
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
    /// How many classes there are of each size.
    pub class_sizes: BTreeMap<u64, u64>,
    /// Classes with fewer than k rows.
    pub classes_below_k: u64,
    /// What was asked for and reached: k, then sensitive columns, then limits, each in the order of the promise. What
    /// asks for nothing is not in it.
    pub requirements: Vec<RequirementFindings>,
    /// How diverse the classes are, for each sensitive promise in its order.
    pub diversity: Vec<Diversity>,
    /// The highest homogeneity of a class ([Truta 2007, Def. 12], with equal weights): by how much it falls short of its
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
    /// Classes that give away what all their members have, because all values read the same (the disclosures of [Sun 2008]).
    /// A class without any value gives nothing away.
    pub disclosures: u64,
    /// The largest share of one value among the rows of a class.
    pub largest_share: f64,
    /// For each number of distinct values, the classes that have so many, and their rows.
    pub by_distinct: BTreeMap<u64, (u64, u64)>,
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

impl RequirementFindings {
    /// Whether no class falls short.
    pub fn holds(&self) -> bool {
        self.failing_classes == 0
    }
}

/// The model of limits in findings.
pub const CONSTRAINED: &str = "constrained generalization";

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Weight(weight) => weight.fmt(f),
        }
    }
}
