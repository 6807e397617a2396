//! Column specifications of a policy: how quasi-identifiers are generalized and how sensitive values are encoded.
//!
//! These types hold no data. A [`crate::survey::Survey`] derives domains from them and the values of the input.

use std::sync::Arc;

use crate::cover::CoverGrid;
use crate::hierarchy::HierarchySpec;
use crate::look_alikes::LookAlikeRule;

/// Weight of a column for which the policy states none.
pub const DEFAULT_WEIGHT: f64 = 1.0;

/// Largest weight of a column. Sums of losses with such weights stay exact enough to be compared.
pub const MAX_WEIGHT: f64 = 1e6;

/// Name of a derived quasi-identifier that keeps rows of different blocks out of one class, and is not released. It comes
/// after all others. See [`QuasiSpec::block`].
pub const BLOCK_COLUMN: &str = "__throng_block";

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
    /// Returns whether positions are values in ascending order, without a hierarchy.
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::Interval | Self::Bounds | Self::Mean | Self::Median)
    }

    /// Returns whether a class is released as one representative value, which need not be true of each of its rows.
    pub fn is_aggregate(self) -> bool {
        matches!(self, Self::Mean | Self::Median | Self::Mode)
    }
}

/// Limit of the generalization of a quasi-identifier (the constrained model of [Campan 2010]).
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// No node above this level of the hierarchy; level 0 is the value itself.
    Level(u32),
    /// No node above the highest listed label on the path to the root. A value without a listed ancestor is not
    /// generalized.
    Values(Arc<[String]>),
    /// No range contains one of these ascending numbers in its interior; each is the lower bound of a band.
    Bands(Arc<[f64]>),
}

/// What happens to a row whose quasi-identifier has no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Nulls {
    /// The missing value is a value like any other.
    #[default]
    Value,
    /// The row is left out of the release, and counted.
    Suppress,
    /// The run stops.
    Error,
}

/// Specification of a quasi-identifier.
#[derive(Clone, Debug)]
pub struct QuasiSpec {
    /// Column name in the input.
    pub name: String,
    /// How it is released. [`ColumnRecoding::Interval`] and [`ColumnRecoding::Bounds`] have no hierarchy.
    pub release: ColumnRecoding,
    /// Weight in the loss that the search minimizes; greater than zero.
    pub weight: f64,
    /// Treatment of nulls.
    pub nulls: Nulls,
    /// Hierarchy; [`HierarchySpec::Flat`] if the policy states none for a category.
    pub hierarchy: Arc<HierarchySpec>,
    /// Limit of its generalization; unlimited if `None`.
    pub limit: Option<Limit>,
    /// Grid to which the ends of its intervals are rounded outwards; values of the table if `None`. Only for
    /// [`ColumnRecoding::Interval`] and [`ColumnRecoding::Bounds`].
    pub cover: Option<CoverGrid>,
}

impl QuasiSpec {
    /// A column whose values are compared as they are.
    pub fn plain(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            release: ColumnRecoding::Ancestor,
            weight: DEFAULT_WEIGHT,
            nulls: Nulls::Value,
            hierarchy: Arc::new(HierarchySpec::Flat),
            limit: None,
            cover: None,
        }
    }

    /// Returns the specification of [`BLOCK_COLUMN`]: its values are never generalized, rows without one are suppressed, and
    /// it is not released.
    pub fn block() -> Self {
        Self { nulls: Nulls::Suppress, limit: Some(Limit::Level(0)), ..Self::plain(BLOCK_COLUMN) }
    }

    /// Whether the column only keeps rows apart, and is not released.
    pub fn is_hidden(&self) -> bool {
        self.name == BLOCK_COLUMN
    }

    /// Returns the names of its columns in the release.
    pub fn released_names(&self) -> Vec<String> {
        match self.is_hidden() {
            true => Vec::new(),
            false => released_names(&self.name, self.release),
        }
    }
}

/// Returns the names of the released columns of an input column.
pub fn released_names(name: &str, release: ColumnRecoding) -> Vec<String> {
    match release {
        ColumnRecoding::Bounds => vec![format!("{name}_min"), format!("{name}_max")],
        _ => vec![name.to_owned()],
    }
}

/// Specification of a sensitive column. Privacy models may encode its values in several ways.
#[derive(Clone, Debug)]
pub struct SensitiveSpec {
    /// Column name in the input.
    pub name: String,
    /// Sensitive codings that the privacy models need; at least one.
    pub facets: Vec<SensitiveCoding>,
    /// Which values count as equal and which are not counted, for any coding. Categories are not affected: they list
    /// values.
    pub look_alikes: LookAlikeRule,
}

impl SensitiveSpec {
    /// A column of which every value is counted.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), facets: vec![SensitiveCoding::Values], look_alikes: LookAlikeRule::default() }
    }
}

/// Encoding of sensitive values: values with the same code count as equal for a privacy model.
#[derive(Clone, Debug)]
pub enum SensitiveCoding {
    /// Every value has its own code, but look-alikes share one.
    Values,
    /// Values below a protected value have the code of that value (extended p-sensitivity, [Truta 2007]).
    Strong(Arc<Protection>),
    /// Values have the code of their sensitive category ((p+, alpha)-sensitivity, [Sun 2008]).
    Categories(Arc<Categories>),
    /// Numbers and dates have the code of their band; the ascending borders are the lower bounds of all bands but the
    /// first. Dates are days since 1970.
    Bands(Arc<[f64]>),
    /// Every value has its own code, and codes have the distances of a hierarchy, which contains every value.
    Leaves(Arc<HierarchySpec>),
    /// The values are lists, and lists with the same elements have one code.
    Elements {
        /// Whether elements are text, which may look alike.
        are_text: bool,
    },
    /// The column has units of privacy; units with a single row share a code.
    Units,
}

impl SensitiveCoding {
    /// Returns the name of the coded unit, for reports.
    pub fn counted(&self) -> &'static str {
        match self {
            Self::Values | Self::Leaves(_) => "values",
            Self::Strong(_) => "strong values",
            Self::Categories(_) => "categories",
            Self::Bands(_) => "bands",
            Self::Elements { .. } => "elements",
            Self::Units => "units",
        }
    }
}

/// Protected values of a sensitive column.
#[derive(Clone, Debug)]
pub struct Protection {
    /// Hierarchy of the column.
    pub hierarchy: Arc<HierarchySpec>,
    /// Labels of the hierarchy that must not be disclosed, besides all leaves. In a mask any number of stars stands for what
    /// is hidden; see [`crate::hierarchy::mask_affix`].
    pub protected: Vec<String>,
}

/// Ordered sensitive categories, the most sensitive first. At least two; no value is in two of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// The categories, most sensitive first.
    pub list: Vec<Category>,
}

impl Categories {
    /// Returns the weight of a sensitive category, indexed from 0 [Sun 2008, formula 1]: 0 for the most sensitive, 1
    /// for the least.
    ///
    /// The weight measures how much a row of this category protects the other rows of its class.
    pub fn weight(&self, category: usize) -> f64 {
        self.distance(0, category)
    }

    /// Returns the normalized distance of two sensitive categories, indexed from 0 [Sun 2008, section 3], which is also
    /// the distance of their values. [Sun 2008] defines it with the more sensitive category first; here it is
    /// symmetric.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let steps = self.list.len().saturating_sub(1).max(1);
        a.abs_diff(b) as f64 / steps as f64
    }
}

/// A sensitive category. A value belongs to the category that lists it, or else to the one with the longest prefix of its
/// text, or else to the one whose band contains it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Category {
    /// Name that is released.
    pub name: String,
    /// Its values as text.
    pub values: Vec<String>,
    /// Prefixes of the texts of its values; none is empty.
    pub prefixes: Vec<String>,
    /// Bands of its numbers or dates; no two of all categories overlap.
    pub bands: Vec<ValueBand>,
}

/// A half-open range of numbers; either end may be infinite. Dates are days since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueBand {
    /// Inclusive lower end.
    pub from: f64,
    /// Exclusive upper end.
    pub below: f64,
}

impl ValueBand {
    /// Returns whether the band has this number.
    pub fn contains(self, number: f64) -> bool {
        (self.from..self.below).contains(&number)
    }
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
