//! The categories of sensitive values as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

/// The fewest categories that tell anything apart.
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

/// A category with a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedCategory {
    /// The name under which the category is released.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its values as text.
    #[schemars(length(min = 1))]
    pub values: Vec<String>,
}

impl RawCategory {
    /// The values, whichever way they are written.
    pub fn values(&self) -> &[String] {
        match self {
            RawCategory::Values(values) => values,
            RawCategory::Named(named) => &named.values,
        }
    }
}
