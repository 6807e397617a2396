//! Settings of a series of releases.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

/// Number of earlier releases that a new one must be safe with, by default.
pub const DEFAULT_REMEMBER: u64 = 30;
/// Number of releases that a new row may wait, by default.
pub const DEFAULT_MAX_DELAY: u64 = 14;
/// Share of the rows that may wait, by default.
pub const DEFAULT_MAX_WAITING: f64 = 0.007;
/// Number of units above k of a new class, by default.
pub const DEFAULT_RESERVE: u64 = 0;

/// Environment variable that holds the key of the ledger.
pub const LEDGER_KEY_VARIABLE: &str = "THRONG_LEDGER_KEY";

/// What happens to rows that have left the input, while they are too few to be seen leaving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Leavers")]
pub enum LeaverSetting {
    /// They are shown on, until enough of their class have left.
    #[default]
    ShowOn,
    /// Their class is dropped at once. The rows of it that are still in the input wait until the releases that showed them
    /// are no longer remembered. For erasure that can't wait; it suppresses most rows of a table that changes much.
    DropClass,
}

impl LeaverSetting {
    /// Returns the name of the choice in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ShowOn => "show-on",
            Self::DropClass => "drop-class",
        }
    }
}

/// What an intruder is assumed to know about the arrival of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Arrival")]
pub enum ArrivalSetting {
    /// When it arrived. So the rows that are released together satisfy the models on their own.
    #[default]
    Known,
    /// Not when it arrived. So all rows that were released with the same values satisfy the models together, at any time, and
    /// new rows of a stream may be released with values that were released before. For streams.
    Unknown,
}

impl ArrivalSetting {
    /// Returns the name of the choice in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Unknown => "unknown",
        }
    }
}

/// How long a row of a stream may wait, and what it is protected against. At least one limit is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamDelay {
    /// Number of rows that may arrive until a row is released; at least k.
    pub rows: Option<u64>,
    /// Time until a row is released.
    pub time: Option<Duration>,
    /// What an intruder knows about the arrival of a row.
    pub arrival: ArrivalSetting,
}

/// Settings of a series of releases.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSettings {
    /// Folder or URL of the ledger, with environment variables expanded.
    pub ledger: String,
    /// Columns that identify a unit; at least one.
    pub unit: Vec<String>,
    /// Number of earlier releases that a new one must be safe with; at least 1.
    pub remember: u64,
    /// Number of releases that a new row may wait.
    pub max_delay: u64,
    /// Largest share of the rows of the input that may wait, from 0 to 1.
    pub max_waiting: f64,
    /// Number of units above k of a new class.
    pub reserve: u64,
    /// What happens to rows that have left.
    pub leavers: LeaverSetting,
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
