//! The risk of finding a person, before and after.

use serde::{Deserialize, Serialize};
use throng_core::risk::{COMMON_THRESHOLDS, ClassSizes, RiskSummary};

use super::convert::round;

/// The risk of finding a person by the quasi-identifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RiskFacts {
    /// In the input: upper bounds, in which rows are counted up to the next multiple of k.
    pub before: TableRisk,
    /// In the release, exactly.
    pub after: TableRisk,
}

/// The risk in one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRisk {
    /// Classes; of the input, the distinct combinations of quasi-identifiers.
    pub classes: u64,
    /// The share of rows that are alone in their class.
    pub sample_uniques: f64,
    /// Of an attacker who knows that the target is in the table.
    pub prosecutor: AttackerRisk,
    /// Of an attacker who does not know that. How many people of the population look like each class is not known, so
    /// that the table stands for the population: the true risk is at most this.
    pub journalist: AttackerRisk,
    /// Of an attacker who looks for anybody.
    pub marketer: MarketerRisk,
}

/// The risk that an attacker poses who looks for one person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackerRisk {
    /// The highest risk of a row.
    pub highest: f64,
    /// The mean risk of a row.
    pub average: f64,
    /// The rows whose risk is above 0.2, 0.09 and 1 / k, the highest threshold first.
    pub at_risk: Vec<AtRisk>,
}

/// The rows whose risk is above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRisk {
    /// The threshold.
    pub above: f64,
    /// The share of the rows.
    pub share: f64,
}

/// The risk that an attacker poses who looks for anybody.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketerRisk {
    /// The share of rows that are found on average.
    pub average: f64,
}

impl RiskFacts {
    /// The risk by the sizes of the classes before and after.
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
