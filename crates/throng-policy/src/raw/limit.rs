//! The limits of generalization as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

/// How far the values of a column may be generalized.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Limit")]
pub enum RawLimit {
    /// The highest level of the hierarchy that may be released. Level 0 is the value itself: the column is then never
    /// generalized.
    Level(u64),
    /// The most general values of the hierarchy that may be released. A value below none of them is never generalized.
    Values(#[schemars(length(min = 1))] Vec<String>),
    /// For numbers without a hierarchy: ascending borders, each of which begins a band. A released range never crosses
    /// one of them.
    Bands(#[schemars(length(min = 1))] Vec<f64>),
}
