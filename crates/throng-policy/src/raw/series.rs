//! `[series]` as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::series::{
    ArrivalSetting, DEFAULT_MAX_DELAY, DEFAULT_MAX_WAITING, DEFAULT_REMEMBER, DEFAULT_RESERVE, LeaverSetting,
};
use crate::time_span::PATTERN;

/// Releases that stay safe together, for `mode = "series"` and `mode = "append"` under `[output]`, and for streams.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Series")]
pub struct RawSeries {
    /// Where the memory of the series is kept, encrypted with the key in `THRONG_LEDGER_KEY`: a private folder or URL, never
    /// inside the output. `${NAME}` stands for an environment variable and `$$` for a dollar. For `mode = "series"`, which
    /// needs it.
    pub ledger: Option<String>,
    /// How many earlier releases a new one must be safe with. At least 1. By default 30.
    #[schemars(range(min = 1), extend("default" = DEFAULT_REMEMBER))]
    pub remember: Option<u64>,
    /// How long a row may wait. In `mode = "series"`, the number of releases that a new row may wait for a class that loses
    /// little, by default 14. In a stream, a table of `rows`, `time` or both; without it a stream is released when it ends.
    #[schemars(extend("default" = DEFAULT_MAX_DELAY))]
    pub max_delay: Option<RawMaxDelay>,
    /// What an intruder is assumed to know about when a row arrived, in a stream and in `mode = "append"`. By default
    /// `known`. `unknown` is for streams.
    #[schemars(extend("default" = ArrivalSetting::Known.as_str()))]
    pub arrival: Option<ArrivalSetting>,
    /// The largest share of the rows of the input that may wait for a class that loses little, from 0 to 1. By default
    /// 0.007.
    #[schemars(range(min = 0, max = 1), extend("default" = DEFAULT_MAX_WAITING))]
    pub max_waiting: Option<f64>,
    /// How many units more than k a new class has. Some units can leave a class while others stay only if it has at least 2k
    /// units and all of its rows have equal quasi-identifiers, so this rarely helps, and costs detail. By default 0.
    #[schemars(extend("default" = DEFAULT_RESERVE))]
    pub reserve: Option<u64>,
    /// What happens to rows that have left the input, while they are too few to be seen leaving. By default `show-on`.
    #[schemars(extend("default" = LeaverSetting::ShowOn.as_str()))]
    pub leavers: Option<LeaverSetting>,
}

/// How long a row may wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "MaxDelay")]
pub enum RawMaxDelay {
    /// A number of releases, in a series.
    Releases(u64),
    /// Rows and time, in a stream.
    Stream(RawStreamDelay),
}

/// How long a row of a stream may wait. A row is released, or suppressed, at the limit that it reaches first, or up to an eighth
/// of the limit earlier, together with a row that has reached it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StreamDelay")]
pub struct RawStreamDelay {
    /// The number of rows that may arrive until a row is released. It bounds the memory of the stream. At least `k`. By
    /// default there is no limit.
    #[schemars(range(min = 1))]
    pub rows: Option<u64>,
    /// The time until a row is released, such as `10min`. By default there is no limit.
    #[schemars(extend("pattern" = PATTERN))]
    pub time: Option<String>,
}
