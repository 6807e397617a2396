//! Findings of the verifier.

use std::collections::BTreeMap;
use std::fmt;

/// Findings of the verifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Number of released rows that were read.
    pub rows: u64,
    /// Number of distinct tuples of released quasi-identifier values.
    pub classes: u64,
    /// Size of the smallest class: the effective k; zero for a release without rows.
    pub smallest_class: u64,
    /// Sum of squared class sizes.
    pub sum_of_squares: u64,
    /// Number of classes by size.
    pub class_sizes: BTreeMap<u64, u64>,
    /// Number of classes with fewer than k rows.
    pub classes_below_k: u64,
    /// Required and achieved amounts: k, then sensitive columns, then constraints, each in the order of the promise.
    /// Trivial requirements are left out.
    pub requirements: Vec<RequirementFindings>,
    /// Diversity of the classes, by sensitive promise.
    pub diversity: Vec<Diversity>,
    /// Highest homogeneity of a class ([Truta 2007, Def. 12], with equal weights): the mean number of missing distinct
    /// values over the promises that require some.
    pub homogeneity: f64,
    /// Checks of released categories against the values next to them, by column that shows categories.
    pub labels: Vec<LabelFindings>,
}

/// Findings for one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementFindings {
    /// Name of the privacy model.
    pub model: &'static str,
    /// Column of the requirement, if it has one.
    pub column: Option<String>,
    /// Required minimum or maximum per class; for a constraint, the number of rows that may violate it.
    pub required: Amount,
    /// Amount achieved by the worst class, zero for a release without rows; for a constraint, the number of violating
    /// rows.
    pub achieved: Amount,
    /// Number of failing classes.
    pub failing_classes: u64,
}

/// A required or achieved amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Number of rows or distinct values.
    Count(u64),
    /// Any other measure: a weight, share, distance or range.
    Weight(f64),
}

/// Diversity of the classes in one sensitive column, in the coding of the promise. Nulls and values without a code do
/// not count.
#[derive(Clone, Debug, PartialEq)]
pub struct Diversity {
    /// Released name of the sensitive column.
    pub column: String,
    /// Counted unit: values, strong values or categories.
    pub reading: &'static str,
    /// Least number of distinct values in a class; zero for a release without rows.
    pub fewest: u64,
    /// Mean number of distinct values over classes.
    pub mean: f64,
    /// Number of classes that disclose the value of all members, because it is the only one (the disclosures of [Sun
    /// 2008]). A class without any value discloses nothing.
    pub disclosures: u64,
    /// The largest share of one value among the rows of a class.
    pub largest_share: f64,
    /// Number of classes and of their rows by number of distinct values.
    pub by_distinct: BTreeMap<u64, (u64, u64)>,
}

/// Findings for one column that shows categories next to values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFindings {
    /// Released name of the column that shows categories.
    pub column: String,
    /// Number of rows that show a different category from that of their value.
    pub mismatches: u64,
}

impl Findings {
    /// Whether the promise holds. It never does for a release without rows.
    pub fn holds(&self) -> bool {
        self.rows > 0
            && self.requirements.iter().all(RequirementFindings::holds)
            && self.labels.iter().all(|column| column.mismatches == 0)
    }
}

impl RequirementFindings {
    /// Whether no class fails.
    pub fn holds(&self) -> bool {
        self.failing_classes == 0
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Weight(weight) => weight.fmt(f),
        }
    }
}
