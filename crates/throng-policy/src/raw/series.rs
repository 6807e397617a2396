//! `[series]` as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::series::{DEFAULT_MAX_DELAY, DEFAULT_MAX_WAITING, DEFAULT_REMEMBER, DEFAULT_RESERVE, LeaverSetting};

/// Releases that stay safe together, for `mode = "series"` under `[output]`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Series")]
pub struct RawSeries {
    /// Where the memory of the series is kept, encrypted with the key in `THRONG_LEDGER_KEY`: a private folder or URL, never
    /// inside the output. `${NAME}` stands for an environment variable and `$$` for a dollar.
    pub ledger: String,
    /// How many earlier releases a new one must be safe with. At least 1. By default 30.
    #[schemars(range(min = 1), extend("default" = DEFAULT_REMEMBER))]
    pub remember: Option<u64>,
    /// How many releases a new row may wait for a class that loses little. By default 7.
    #[schemars(extend("default" = DEFAULT_MAX_DELAY))]
    pub max_delay: Option<u64>,
    /// The largest share of the rows of the input that may wait for a class that loses little, from 0 to 1. By default
    /// 0.007.
    #[schemars(range(min = 0, max = 1), extend("default" = DEFAULT_MAX_WAITING))]
    pub max_waiting: Option<f64>,
    /// How many units more than k a new class has. A class can let units leave only from 2k units on, so this is useful
    /// from k on, and costs detail. By default 0.
    #[schemars(extend("default" = DEFAULT_RESERVE))]
    pub reserve: Option<u64>,
    /// What happens to rows that have left the input, while they are too few to be seen leaving. By default `show-on`.
    #[schemars(extend("default" = LeaverSetting::ShowOn.as_str()))]
    pub leavers: Option<LeaverSetting>,
}
