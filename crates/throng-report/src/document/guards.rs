//! Guards of a release, and its exposure by insensitive columns.

use serde::{Deserialize, Serialize};
use throng_core::exposure::InsensitiveExposure;

/// Conditions of the delivery and of the release, which both have satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardFacts {
    /// Minimum number of rows of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rows: Option<u64>,
    /// Maximum relative difference of the number of rows from that of the previous release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_change: Option<f64>,
    /// Maximum NCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_limit: Option<f64>,
    /// Maximum share of rows that insensitive columns single out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insensitive_uniqueness: Option<f64>,
}

/// Exposure by the insensitive columns of a release, as shares of its rows in steps of a thousandth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InsensitiveFacts {
    /// Whether shares are estimated from a sample of the rows.
    pub estimated: bool,
    /// Share of the rows that all insensitive columns single out together.
    pub singled_out: f64,
    /// Share of the rows that they single out together with the released quasi-identifiers.
    pub singled_out_with_quasi: f64,
    /// Share of the rows that each column singles out by itself.
    pub columns: Vec<SinglingColumn>,
    /// Insensitive columns that nearly determine a sensitive one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub determined: Vec<DeterminedFacts>,
}

/// Share of the rows that a column singles out by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SinglingColumn {
    /// Released name of the column.
    pub column: String,
    /// Share of the rows whose value in the column no other row has, from 0 to 1.
    pub singled_out: f64,
}

/// An insensitive column that nearly determines a sensitive one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeterminedFacts {
    /// The insensitive column.
    pub column: String,
    /// The sensitive column.
    pub sensitive: String,
    /// Share of the rows whose sensitive value is guessed right by the insensitive one.
    pub right: f64,
    /// Share of the rows whose sensitive value is guessed right without it.
    pub right_without: f64,
}

impl InsensitiveFacts {
    /// Rounds what was measured in the released rows.
    pub fn of(exposure: &InsensitiveExposure) -> Self {
        let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
        let column =
            |(name, share): &(String, f64)| SinglingColumn { column: name.clone(), singled_out: rounded(*share) };
        Self {
            estimated: !exposure.is_exact,
            singled_out: rounded(exposure.alone),
            singled_out_with_quasi: rounded(exposure.with_quasi.unwrap_or(exposure.alone)),
            columns: exposure.columns.iter().map(column).collect(),
            determined: exposure
                .determined
                .iter()
                .map(|pair| DeterminedFacts {
                    column: pair.insensitive.clone(),
                    sensitive: pair.sensitive.clone(),
                    right: rounded(pair.right),
                    right_without: rounded(pair.right_without),
                })
                .collect(),
        }
    }
}
