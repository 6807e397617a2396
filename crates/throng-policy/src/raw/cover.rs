//! The grids of covers as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::DEFAULT_ORIGIN;

/// The grid to which the ends of released intervals are rounded outwards.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Cover")]
pub enum RawCover {
    /// The width of the cells, with a border at 0. For dates and timestamps in days from 1970-01-01.
    Width(#[schemars(extend("exclusiveMinimum" = 0))] f64),
    /// For dates and timestamps a part of the calendar: `month`, `quarter`, `year` or `decade`, and for timestamps `day`; or
    /// `hierarchy`, the finest level of a `hierarchy` with `intervals`, `width` or `date`.
    Named(RawCoverName),
    /// The width of the cells and a border.
    Grid(RawCoverGrid),
}

/// A grid that has a name.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CoverName")]
pub enum RawCoverName {
    /// For timestamps: days, in UTC.
    Day,
    /// For dates and timestamps: months.
    Month,
    /// For dates and timestamps: quarters of a year.
    Quarter,
    /// For dates and timestamps: years.
    Year,
    /// For dates and timestamps: decades.
    Decade,
    /// The finest level of the column's `hierarchy`, which must have `intervals`, `width` or `date`. The column is then
    /// released as `interval` or `bounds`, and the hierarchy serves for nothing else.
    Hierarchy,
}

/// A grid of cells of equal width.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CoverGrid")]
pub struct RawCoverGrid {
    /// The width of the cells, in days for dates and timestamps.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub grid: f64,
    /// A border of the grid, in days since 1970 for dates and timestamps. By default 0.
    #[schemars(extend("default" = DEFAULT_ORIGIN))]
    pub origin: Option<f64>,
}
