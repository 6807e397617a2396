//! What a release promises, in words that need nothing but the release to be checked.
//!
//! Columns are named as they are in the release, and hierarchies, categories and limits come as plain lists of texts, so
//! that the verifier never asks those who made the release what a value means.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a release promises.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Promise {
    /// The quasi-identifier columns, by their names in the release.
    pub quasi: Vec<String>,
    /// At least so many rows in each class.
    pub k: u64,
    /// What is promised of sensitive columns. A column that is looked at in two ways is here twice.
    pub sensitive: Vec<SensitivePromise>,
    /// How far quasi-identifiers may be generalized.
    pub limits: Vec<LimitPromise>,
}

/// What each class promises of one sensitive column.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivePromise {
    /// The released column that is read.
    pub column: String,
    /// What counts as one value.
    pub reading: SensitiveReading,
    /// At least so many distinct values in each class; 1 or 0 asks for nothing.
    pub p: u64,
    /// The least total weight of each class; only with categories. Zero asks for nothing.
    pub alpha: Option<f64>,
}

/// What counts as one sensitive value. Null never counts.
#[derive(Clone, Debug, PartialEq)]
pub enum SensitiveReading {
    /// Every value is different from every other [Truta 2007, Def. 3].
    Values,
    /// Values below a protected value are that value [Truta 2007, Def. 4 to 6]: the text of each value with the text of
    /// its strong ancestor. A value that is not in it counts for nothing.
    Strong(Arc<HashMap<String, String>>),
    /// Values are their category [Sun 2008, Def. 4].
    Categories {
        /// The text of each value, or the name of each category where categories are released, with the number of the
        /// category from 0, the most sensitive. A value that is not in it counts for nothing.
        of: Arc<HashMap<String, u32>>,
        /// How many categories there are.
        count: u32,
        /// The column that shows the category beside the value, where there is one.
        labels: Option<LabelColumn>,
    },
}

/// A column that shows the category of the value beside it. A row whose value has no category must show null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelColumn {
    /// The released column.
    pub column: String,
    /// The name of each category, the most sensitive first.
    pub names: Vec<String>,
}

/// How far one quasi-identifier may be generalized (constrained p-sensitive k-anonymity, [Campan 2010, Def. 6]).
#[derive(Clone, Debug, PartialEq)]
pub struct LimitPromise {
    /// The column. What it is called in findings; [`AllowedValues::Labels`] are read from it.
    pub column: String,
    /// What may be released.
    pub allowed: AllowedValues,
}

/// What may be released of a quasi-identifier with a limit. Null always may: it generalizes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum AllowedValues {
    /// One of these texts.
    Labels(Arc<HashSet<String>>),
    /// Numbers of one band. The numbers of a band are `borders[i] <= number < borders[i + 1]`.
    Bands {
        /// The released columns: one with texts such as `25` and `[25-39]`, or with numbers, which stand for a whole
        /// class and say nothing of its width; or two with a lower and an upper bound.
        columns: Vec<String>,
        /// Ascending numbers, each of which begins a band.
        borders: Arc<[f64]>,
    },
}

impl Promise {
    /// The released columns that have to be read, each of them once.
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.quasi.iter().map(String::as_str).collect();
        names.extend(self.sensitive.iter().flat_map(SensitivePromise::columns));
        names.extend(self.limits.iter().flat_map(LimitPromise::columns));
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }
}

impl SensitivePromise {
    /// A promise of `p` distinct values.
    pub fn plain(column: impl Into<String>, p: u64) -> Self {
        Self { column: column.into(), reading: SensitiveReading::Values, p, alpha: None }
    }

    /// The least total weight, if one is asked for.
    pub(super) fn least_weight(&self) -> Option<f64> {
        self.alpha.filter(|alpha| alpha.is_nan() || *alpha > 0.0)
    }

    fn columns(&self) -> impl Iterator<Item = &str> {
        let labels = match &self.reading {
            SensitiveReading::Categories { labels: Some(labels), .. } => Some(labels.column.as_str()),
            _ => None,
        };
        std::iter::once(self.column.as_str()).chain(labels)
    }
}

impl SensitiveReading {
    /// The model that asks for distinct values so read.
    pub(super) fn model(&self) -> &'static str {
        match self {
            Self::Values => "p-sensitivity",
            Self::Strong(_) => "extended p-sensitivity",
            Self::Categories { .. } => "p+-sensitivity",
        }
    }

    /// What is read, for reports.
    pub(super) fn counted(&self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Strong(_) => "strong values",
            Self::Categories { .. } => "categories",
        }
    }

    /// How many units make the weight of the least sensitive category, which is 1: category `i` of `m`, from 1, weighs
    /// `(i - 1) / (m - 1)`.
    pub(super) fn units(&self) -> u32 {
        match self {
            Self::Categories { count, .. } => count.saturating_sub(1).max(1),
            _ => 1,
        }
    }
}

impl LimitPromise {
    fn columns(&self) -> impl Iterator<Item = &str> {
        let columns = match &self.allowed {
            AllowedValues::Labels(_) => std::slice::from_ref(&self.column),
            AllowedValues::Bands { columns, .. } => columns,
        };
        columns.iter().map(String::as_str)
    }
}
