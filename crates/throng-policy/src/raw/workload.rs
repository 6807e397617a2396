//! The questions that a release is made for, as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

/// The questions that the release should answer well. A quasi-identifier that they are about keeps more detail, and others lose some
/// for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Workload")]
pub struct RawWorkload {
    /// The columns of each question, such as `[["age", "sex"], ["region"]]`. The weight of a quasi-identifier is multiplied by 4 if
    /// no other is in more questions, and by less, down to 1, the fewer it is in. `throng utility` measures the errors of such
    /// questions, with conditions on their quasi-identifiers and their first sensitive column.
    #[schemars(length(min = 1))]
    pub queries: Vec<Vec<String>>,
}
