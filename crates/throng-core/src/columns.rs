//! What a policy says about the columns that take part: how a quasi-identifier is generalized and released.
//!
//! These types hold intentions and no data. A [`crate::survey::Survey`] turns them into domains once it has seen the values.

use std::sync::Arc;

use crate::hierarchy::HierarchySpec;

/// The weight of a column when the policy names none.
pub const DEFAULT_WEIGHT: f64 = 1.0;

/// How a generalized value is written into the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnRecoding {
    /// A number or date as text: `25` when the class has one value, `[25-39]` otherwise.
    Interval,
    /// A number or date as two columns of its own type, `NAME_min` and `NAME_max`.
    Bounds,
    /// A category as the lowest common ancestor in its hierarchy.
    Ancestor,
    /// A category as the set of the values that occur in the class: `{A, B}`.
    Set,
    /// A number or date as the mean of the class, rounded to its own type.
    Mean,
    /// A number or date as the lower median of the class.
    Median,
    /// A category as the most frequent value of the class.
    Mode,
}

impl ColumnRecoding {
    /// Whether positions are values in ascending order, without a hierarchy.
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::Interval | Self::Bounds | Self::Mean | Self::Median)
    }

    /// Whether every row of a class shows one stand-in value, which need not be true of it.
    pub fn is_aggregate(self) -> bool {
        matches!(self, Self::Mean | Self::Median | Self::Mode)
    }
}

/// How far a quasi-identifier may be generalized (the constrained model of [Campan 2010]).
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Never above this level of the hierarchy; level 0 is the value itself.
    Level(u32),
    /// Never above the highest of these hierarchy values on the way to the root. A value below none of them is not
    /// generalized at all.
    Values(Arc<[String]>),
    /// A range never crosses one of these ascending numbers, each of which begins a band.
    Bands(Arc<[f64]>),
}

/// What happens to a row whose quasi-identifier is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// Null is a value like any other, and is released as null when a class has nothing else.
    #[default]
    Value,
    /// The row is left out of the release and counted as suppressed.
    Suppress,
    /// The run stops.
    Error,
}

/// One quasi-identifier as the policy wants it.
#[derive(Clone, Debug)]
pub struct QuasiSpec {
    /// The name of the column in the input.
    pub name: String,
    /// How it is released. [`ColumnRecoding::Interval`] and [`ColumnRecoding::Bounds`] have no hierarchy.
    pub release: ColumnRecoding,
    /// Its weight in the loss that the search lowers; greater than zero.
    pub weight: f64,
    /// What happens to its nulls.
    pub nulls: Nulls,
    /// Its hierarchy; [`HierarchySpec::Flat`] when the policy gives none to a category.
    pub hierarchy: Arc<HierarchySpec>,
    /// How far it may be generalized; as far as needed when none is given.
    pub limit: Option<Limit>,
}

impl QuasiSpec {
    /// The names that the column has in the release.
    pub fn released_names(&self) -> Vec<String> {
        released_names(&self.name, self.release)
    }
}

/// The names that a column has in a release.
pub fn released_names(name: &str, release: ColumnRecoding) -> Vec<String> {
    match release {
        ColumnRecoding::Bounds => vec![format!("{name}_min"), format!("{name}_max")],
        _ => vec![name.to_owned()],
    }
}

/// A sensitive column as the policy wants it. A promise may look at its values in several ways.
#[derive(Clone, Debug)]
pub struct SensitiveSpec {
    /// The name of the column in the input.
    pub name: String,
    /// How promises look at its values; at least one.
    pub facets: Vec<SensitiveCoding>,
}

impl SensitiveSpec {
    /// A column of which every value counts.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), facets: vec![SensitiveCoding::Values] }
    }
}

/// A way to look at the values of a sensitive column. Values with the same look are the same to a promise.
#[derive(Clone, Debug)]
pub enum SensitiveCoding {
    /// Every value is different from every other.
    Values,
    /// Values below a protected value are that value (extended p-sensitivity, [Truta 2007]).
    Strong(Arc<Protection>),
    /// Values are their category ((p+, alpha)-sensitivity, [Sun 2008]).
    Categories(Arc<Categories>),
}

impl SensitiveCoding {
    /// What is counted under this facet, for reports.
    pub fn counted(&self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Strong(_) => "strong values",
            Self::Categories(_) => "categories",
        }
    }
}

/// The protected values of a sensitive column.
#[derive(Clone, Debug)]
pub struct Protection {
    /// The hierarchy of the column.
    pub hierarchy: Arc<HierarchySpec>,
    /// Labels of the hierarchy that must not be disclosed, besides all leaves.
    pub protected: Vec<String>,
}

/// Values in ordered categories, the most sensitive first. At least two categories, and no value twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    /// The categories.
    pub list: Vec<Category>,
}

impl Categories {
    /// The weight of a category, counted from 0 [Sun 2008, formula 1]: 0 for the most sensitive, 1 for the least.
    ///
    /// It tells how much a row with such a value hides the other rows of its class.
    pub fn weight(&self, category: usize) -> f64 {
        self.distance(0, category)
    }

    /// The normalized distance of two categories, counted from 0 [Sun 2008, section 3], which is also the distance of
    /// their values. The paper defines it for the more sensitive category first; here the order does not matter.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let steps = self.list.len().saturating_sub(1).max(1);
        a.abs_diff(b) as f64 / steps as f64
    }
}

/// One category of sensitive values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// The name under which it is released.
    pub name: String,
    /// Its values as text.
    pub values: Vec<String>,
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
