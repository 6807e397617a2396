//! Re-identification risk before and after anonymization.

use serde::{Deserialize, Serialize};
use throng_core::risk::{COMMON_THRESHOLDS, ClassSizes, RiskSummary};

use super::convert::round;

/// Re-identification risk by the quasi-identifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RiskFacts {
    /// Risk in the input: upper bounds, with rows rounded up to the next multiple of k.
    pub before: TableRisk,
    /// Exact risk in the release.
    pub after: TableRisk,
}

/// Re-identification risk in one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRisk {
    /// Number of classes; for the input, of distinct quasi-identifier tuples.
    pub classes: u64,
    /// Share of rows that are alone in their class.
    pub sample_uniques: f64,
    /// Risk from an attacker who knows that the target is in the table.
    pub prosecutor: AttackerRisk,
    /// Risk from an attacker who does not know that. The class sizes of the population are unknown, so the table stands
    /// for the population: this is an upper bound.
    pub journalist: AttackerRisk,
    /// Risk from an attacker who targets as many people as possible.
    pub marketer: MarketerRisk,
}

/// Risk from an attacker who targets one person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackerRisk {
    /// Maximum risk of a row.
    pub highest: f64,
    /// Mean risk of a row.
    pub average: f64,
    /// Rows with a risk above 0.2, 0.09 and 1/k, in descending order of the threshold.
    pub at_risk: Vec<AtRisk>,
}

/// Share of rows with a risk above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRisk {
    /// Threshold, exclusive.
    pub above: f64,
    /// Share of the rows.
    pub share: f64,
}

/// Risk from an attacker who targets as many people as possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketerRisk {
    /// Expected share of re-identified rows.
    pub average: f64,
}

impl RiskFacts {
    /// Computes the risk from the class sizes before and after.
    pub(crate) fn of(before: &ClassSizes, after: &ClassSizes, k: u64) -> Self {
        let mut thresholds: Vec<f64> = COMMON_THRESHOLDS.into_iter().chain([1.0 / k.max(1) as f64]).collect();
        thresholds.sort_by(|a, b| b.total_cmp(a));
        thresholds.dedup();
        Self {
            before: RiskSummary::of_original(before, &thresholds, k).into(),
            after: RiskSummary::of_release(after, &thresholds).into(),
        }
    }
}

impl From<RiskSummary> for TableRisk {
    fn from(summary: RiskSummary) -> Self {
        let at_risk =
            summary.at_risk.iter().map(|(above, share)| AtRisk { above: round(*above), share: round(*share) });
        let prosecutor = AttackerRisk {
            highest: round(summary.highest),
            average: round(summary.average),
            at_risk: at_risk.collect(),
        };
        Self {
            classes: summary.classes,
            sample_uniques: round(summary.uniques),
            journalist: prosecutor.clone(),
            marketer: MarketerRisk { average: round(summary.average) },
            prosecutor,
        }
    }
}
