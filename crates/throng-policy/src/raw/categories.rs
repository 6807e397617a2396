//! The categories of sensitive values as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Least number of categories that distinguish any values.
pub const MIN_CATEGORIES: usize = 2;

/// One category of sensitive values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Category")]
pub enum RawCategory {
    /// The values of a category, which is named by its place in the list, from 1 on.
    Values(#[schemars(length(min = 1))] Vec<String>),
    /// A category with a name.
    Named(NamedCategory),
}

/// A category with a name, and at least one of `values`, `prefixes` and `bands`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedCategory {
    /// The name under which the category is released.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its values as text.
    #[schemars(length(min = 1))]
    pub values: Option<Vec<String>>,
    /// For text: what its values begin with, such as `["C", "D0"]`. The longest prefix of all categories decides, after
    /// `values`.
    #[schemars(length(min = 1))]
    pub prefixes: Option<Vec<String>>,
    /// For numbers and dates: the bands of its values, such as `[{ from = 0, below = 18 }]`. Bands do not overlap, and `values`
    /// go before them.
    #[schemars(length(min = 1))]
    pub bands: Option<Vec<RawBand>>,
}

/// A band of numbers or dates. Without one of the borders it has no end on that side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Band")]
pub struct RawBand {
    /// The least value of the band.
    pub from: Option<RawBorder>,
    /// The least value above the band.
    pub below: Option<RawBorder>,
}

/// A border of a band.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Border")]
pub enum RawBorder {
    /// A number; for dates and timestamps days since 1970-01-01.
    Number(f64),
    /// A date, such as `"2024-02-29"`.
    Date(String),
}

impl RawCategory {
    /// The values, whichever way they are written.
    pub fn values(&self) -> &[String] {
        match self {
            RawCategory::Values(values) => values,
            RawCategory::Named(named) => named.values.as_deref().unwrap_or_default(),
        }
    }

    /// What values of the category begin with.
    pub fn prefixes(&self) -> &[String] {
        match self {
            RawCategory::Values(_) => &[],
            RawCategory::Named(named) => named.prefixes.as_deref().unwrap_or_default(),
        }
    }

    /// The bands of the category.
    pub fn bands(&self) -> &[RawBand] {
        match self {
            RawCategory::Values(_) => &[],
            RawCategory::Named(named) => named.bands.as_deref().unwrap_or_default(),
        }
    }
}
