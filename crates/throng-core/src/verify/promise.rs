//! The promise of a release, stated so that the release alone suffices to check it.
//!
//! Columns have their released names, and hierarchies, categories and constraints are plain lists of texts, so that the
//! verifier shares no interpretation of values with the code that made the release.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::columns::ValueBand;
use crate::hierarchy::{DatePart, MaskSide};
use crate::look_alikes::LookAlikeRule;
use crate::model::{
    BANDED_P_SENSITIVITY, CATEGORY_P_SENSITIVITY, EXTENDED_P_SENSITIVITY, FrequencyRequirement, LIST_DIVERSITY,
    P_SENSITIVITY,
};

/// The promise of a release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Promise {
    /// Released names of the quasi-identifier columns.
    pub quasi: Vec<String>,
    /// Minimum number of rows of each class.
    pub k: u64,
    /// Promises about sensitive columns. A column with two codings occurs twice.
    pub sensitive: Vec<SensitivePromise>,
    /// Constraints on the generalization of quasi-identifiers.
    pub limits: Vec<LimitPromise>,
    /// Column with the units of privacy, if k and p count units. It accompanies the release but is not part of it.
    pub unit: Option<String>,
}

/// Promise about one sensitive column, for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivePromise {
    /// Released column to read.
    pub column: String,
    /// Which values count as one.
    pub reading: SensitiveReading,
    /// Minimum number of distinct values in each class; 1 or 0 requires nothing.
    pub p: u64,
    /// Minimum total weight of each class; only with categories. Zero requires nothing.
    pub alpha: Option<f64>,
    /// Requirements on the frequencies of values.
    pub frequencies: Vec<FrequencyRequirement>,
    /// Which values count as equal and which are not counted, in addition to the reading. Does not apply to categories.
    pub look_alikes: LookAlikeRule,
}

/// Which sensitive values count as one. Null never counts.
#[derive(Clone, Debug, PartialEq)]
pub enum SensitiveReading {
    /// Each value counts by itself [Truta 2007, Def. 3].
    Values,
    /// The values are lists, of which each element counts; see [`crate::model::ListDiversity`].
    Elements,
    /// Values below a protected value count as that value [Truta 2007, Def. 4 to 6]: maps the text of each value to
    /// that of its strong ancestor. Values that are missing from the map do not count.
    Strong(Arc<HashMap<String, String>>),
    /// Values under a protected label of a rule-based hierarchy count as the highest one; others by themselves.
    StrongByRule(ProtectedLabels),
    /// Each value counts by itself, and values have the distances of a hierarchy: maps the text of each value to the
    /// labels above it, from its parent to the root. Values that are missing from the map do not count.
    Leaves(Arc<HashMap<String, Vec<String>>>),
    /// Each value counts by itself, and values have the distances of a rule-based hierarchy.
    Levels(LevelRule),
    /// Values count as their category [Sun 2008, Def. 4].
    Categories {
        /// Maps the text of each value, or the name of each category if categories are released, to the category
        /// number, from 0 for the most sensitive. Values that are missing from the map do not count.
        of: Arc<HashMap<String, u32>>,
        /// Categories of values that are missing from the map.
        rules: CategoryRules,
        /// Number of categories.
        count: u32,
        /// Column that shows the category next to the value, if there is one.
        labels: Option<LabelColumn>,
    },
    /// Each number counts by itself, and numbers are ordered; dates and times are days since 1970.
    Numbers,
    /// Numbers and dates of one band count as one. The ascending borders are the lower bounds of all bands but the first.
    Bands(Arc<[f64]>),
}

/// Categories of values that are not listed one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CategoryRules {
    /// Prefixes of texts; the longest match decides.
    pub prefixes: Arc<[(String, u32)]>,
    /// Bands of numbers and dates, for values without a matching prefix. No two overlap.
    pub bands: Arc<[(ValueBand, u32)]>,
}

/// The values that the protected labels of a rule-based hierarchy stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtectedLabels {
    /// Texts that begin with one of these, or look as if they did.
    Prefixes(Arc<[String]>),
    /// Texts that end with one of these, or look as if they did.
    Suffixes(Arc<[String]>),
    /// Numbers, or days since 1970. Two ranges are disjoint, or one contains the other.
    Ranges(Arc<[ValueBand]>),
}

/// Levels of a rule-based hierarchy, from fine to coarse, below the root.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelRule {
    /// One more character is hidden at each level, and at the root as many as the longest value has.
    Mask(MaskSide),
    /// Intervals of numbers.
    Intervals {
        /// A border of every level.
        origin: f64,
        /// Widths of the levels, each a multiple of the one before.
        widths: Arc<[f64]>,
    },
    /// Parts of the calendar.
    DateParts(Arc<[DatePart]>),
}

/// A column that shows the category of the value next to it. A row whose value has no category must show null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelColumn {
    /// Released name of the column.
    pub column: String,
    /// Names of the categories, the most sensitive first.
    pub names: Vec<String>,
}

/// Constraint on the generalization of one quasi-identifier (constrained p-sensitive k-anonymity [Campan 2010, Def.
/// 6]).
#[derive(Clone, Debug, PartialEq)]
pub struct LimitPromise {
    /// Name of the column in findings; [`AllowedValues::Labels`] are read from it.
    pub column: String,
    /// Values that may be released.
    pub allowed: AllowedValues,
}

/// Allowed released values of a constrained quasi-identifier. Null is always allowed: it generalizes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum AllowedValues {
    /// One of these texts.
    Labels(Arc<HashSet<String>>),
    /// Numbers of one band: `borders[i] <= number < borders[i + 1]`.
    Bands {
        /// Released columns: one with texts such as `25` and `[25-39]`, or with numbers, which represent a whole class
        /// and do not show its width; or two with a lower and an upper bound.
        columns: Vec<String>,
        /// Ascending starts of bands.
        borders: Arc<[f64]>,
    },
}

impl Promise {
    /// Returns the released columns to read, without duplicates.
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.quasi.iter().map(String::as_str).collect();
        names.extend(self.sensitive.iter().flat_map(SensitivePromise::columns));
        names.extend(self.limits.iter().flat_map(LimitPromise::columns));
        names.extend(self.unit.as_deref());
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }
}

impl SensitivePromise {
    /// Promises `p` distinct values.
    pub fn plain(column: impl Into<String>, p: u64) -> Self {
        Self {
            column: column.into(),
            reading: SensitiveReading::Values,
            p,
            alpha: None,
            frequencies: Vec::new(),
            look_alikes: LookAlikeRule::default(),
        }
    }

    /// Returns the promise for a column of lists, if it is meaningful for lists.
    pub(super) fn of_lists(self) -> Option<Self> {
        let is_defined = |requirement: &FrequencyRequirement| matches!(requirement, FrequencyRequirement::MaxShare(_));
        let is_plain = matches!(self.reading, SensitiveReading::Values | SensitiveReading::Elements);
        let has_meaning = is_plain && self.least_weight().is_none() && self.frequencies.iter().all(is_defined);
        has_meaning.then_some(Self { reading: SensitiveReading::Elements, ..self })
    }

    /// Returns the minimum total weight, if one is required.
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
    /// Returns the name of the model that requires distinct values of this coding.
    pub(super) fn model(&self) -> &'static str {
        match self {
            Self::Values | Self::Numbers | Self::Leaves(_) | Self::Levels(_) => P_SENSITIVITY,
            Self::Elements => LIST_DIVERSITY,
            Self::Strong(_) | Self::StrongByRule(_) => EXTENDED_P_SENSITIVITY,
            Self::Categories { .. } => CATEGORY_P_SENSITIVITY,
            Self::Bands(_) => BANDED_P_SENSITIVITY,
        }
    }

    /// Returns the counted unit, for reports.
    pub(super) fn counted(&self) -> &'static str {
        match self {
            Self::Values | Self::Numbers | Self::Leaves(_) | Self::Levels(_) => "values",
            Self::Elements => "elements",
            Self::Strong(_) | Self::StrongByRule(_) => "strong values",
            Self::Categories { .. } => "categories",
            Self::Bands(_) => "bands",
        }
    }

    /// Returns the number of units in weight 1, that of the least sensitive category: category `i` of `m`, from 1,
    /// weighs `(i - 1) / (m - 1)`.
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
