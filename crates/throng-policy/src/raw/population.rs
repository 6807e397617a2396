//! `[privacy.population]` as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Locations, MIN_K};

/// The population that the input is a sample of: its fraction, its people by sampling weights, or a table of all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Population")]
pub struct RawPopulation {
    /// The share of the population that is in the input, above 0 and at most 1. The risk is estimated by it.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
    pub fraction: Option<f64>,
    /// The column of the input with the number of people of the population that a row stands for. People in the box of a class
    /// are estimated by the sum of the weights of the input's rows in it. In place of `fraction`.
    pub weight_of_unit: Option<String>,
    /// A table of the population with the quasi-identifiers of the input, one row per person, in place of `fraction`: a
    /// file, a folder, a glob or a URL, as the input, or a list of them. People are counted in the box of each class.
    pub table: Option<Locations>,
    /// Every class must match at least this many people of the population by its released quasi-identifiers (k-map). A
    /// release that does not is not published. Needs `table` or `weight_of_unit`. By default nothing is required.
    #[schemars(range(min = MIN_K))]
    pub k_map: Option<u64>,
    /// Of the people whom a class matches, at least this share must be in the input, from 0 to 1, so that nobody is known to
    /// be absent (delta-presence). Needs `table`. By default nothing is required.
    #[schemars(range(min = 0, max = 1))]
    pub delta_min: Option<f64>,
    /// Of the people whom a class matches, at most this share may be in the input, from 0 to 1, so that nobody is known to
    /// be present (delta-presence). Needs `table`. By default nothing is required.
    #[schemars(range(min = 0, max = 1))]
    pub delta_max: Option<f64>,
}
