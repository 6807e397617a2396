//! The sidecar `_throng/metrics.json`: what was promised and reached, and what it cost.
//!
//! It is published with the data, so it holds aggregates over the whole release only.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use throng_core::metrics::Utility;
use throng_core::verify::{Amount, Diversity, Findings, RequirementFindings};

/// The version of the sidecar's shape.
const SCHEMA_VERSION: u32 = 1;

/// `_throng/metrics.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Sidecar {
    /// The version of this shape.
    pub schema_version: u32,
    /// The version of Throng.
    pub throng_version: String,
    /// The run.
    pub run_id: String,
    /// The digest of the policy in effect, locations left out.
    pub policy_digest: String,
    /// What was read.
    pub input: InputFacts,
    /// What was released.
    pub output: OutputFacts,
    /// What was promised and reached.
    pub privacy: PrivacyFacts,
    /// What the release still tells.
    pub utility: UtilityFacts,
    /// How it was made.
    pub algorithm: AlgorithmFacts,
    /// How long the stages took.
    pub timing_ms: BTreeMap<&'static str, u64>,
    /// What it took of the machine.
    pub resources: ResourceFacts,
}

/// What was read.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InputFacts {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// The size of the files.
    pub bytes: u64,
}

/// What was released.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OutputFacts {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// The size of the files.
    pub bytes: u64,
    /// Rows of the input that were left out.
    pub suppressed_rows: u64,
}

/// What was promised and reached.
#[derive(Clone, Debug, Serialize)]
pub struct PrivacyFacts {
    /// Whether every requirement holds.
    pub satisfied: bool,
    /// The requirements, one by one.
    pub requirements: Vec<Requirement>,
    /// The highest homogeneity of a class (Def. 12 of paper A); zero when every class is as diverse as required.
    pub homogeneity: f64,
    /// How diverse the classes are in each sensitive column.
    pub sensitive: Vec<SensitiveFacts>,
}

/// One requirement.
#[derive(Clone, Debug, Serialize)]
pub struct Requirement {
    /// The model.
    pub model: &'static str,
    /// The sensitive column that it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What every class must have; for a limit, how many rows may lie beyond it.
    pub required: Quantity,
    /// What every class has, counted in the released files; for a limit, how many rows lie beyond it.
    pub achieved: Quantity,
}

/// A number in the units of its model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Quantity {
    /// Rows or distinct values.
    Count(u64),
    /// A total weight of categories.
    Weight(f64),
}

/// What the classes show of one sensitive column, read as its promise reads it.
#[derive(Clone, Debug, Serialize)]
pub struct SensitiveFacts {
    /// The column.
    pub column: String,
    /// What counts as one value: `values`, `strong values` or `categories`.
    pub reading: &'static str,
    /// The fewest distinct values of a class.
    pub fewest: u64,
    /// The mean of the distinct values over classes.
    pub mean: f64,
    /// Classes all of whose values are the same, as counted in paper D.
    pub disclosures: u64,
}

/// What the release still tells.
#[derive(Clone, Debug, Serialize)]
pub struct UtilityFacts {
    /// Classes.
    pub classes: u64,
    /// The normalized average class size.
    pub avg: f64,
    /// The discernibility metric.
    pub dm: u64,
    /// The mean NCP over rows and quasi-identifiers.
    pub ncp: f64,
    /// The same with the weights of the quasi-identifiers.
    pub weighted_ncp: f64,
    /// The total information loss (Def. 9 and 10).
    pub information_loss: f64,
    /// The mean of SSE / SST over the quasi-identifiers that show means or medians, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sse_sst: Option<f64>,
    /// The parts of each quasi-identifier.
    pub columns: BTreeMap<String, ColumnFacts>,
}

/// The part of one quasi-identifier.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ColumnFacts {
    /// The mean NCP over rows.
    pub ncp: f64,
    /// Its part of the total information loss.
    pub information_loss: f64,
    /// SSE / SST, where it shows means or medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sse_sst: Option<f64>,
}

/// How the release was made.
#[derive(Clone, Debug, Serialize)]
pub struct AlgorithmFacts {
    /// How the table was cut into leaves.
    pub partition: &'static str,
    /// How classes were formed: what `auto` picked, where the policy says so.
    pub cluster: &'static str,
    /// Why.
    pub reason: &'static str,
    /// The seed.
    pub seed: u64,
    /// How long local search was allowed to go on.
    pub budget: String,
    /// How many leaves there were.
    pub leaves: u64,
    /// How many cycles local search has done; of several parts, the one that had fewest.
    pub search_cycles: u32,
}

/// What the job took of the machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ResourceFacts {
    /// Threads.
    pub threads: usize,
    /// The most memory that the process held, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// What identifies a run.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) run_id: String,
    pub(crate) policy_digest: String,
}

impl Sidecar {
    /// A sidecar without times, which are known last.
    pub(crate) fn new(
        run: &RunFacts,
        input: InputFacts,
        output: OutputFacts,
        privacy: PrivacyFacts,
        utility: Utility,
        algorithm: AlgorithmFacts,
        resources: ResourceFacts,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            throng_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run.run_id.clone(),
            policy_digest: run.policy_digest.clone(),
            input,
            output,
            privacy,
            utility: utility.into(),
            algorithm,
            timing_ms: BTreeMap::new(),
            resources,
        }
    }

    pub(crate) fn set_times(&mut self, times: &[(&'static str, Duration)]) {
        self.timing_ms = times.iter().map(|(stage, time)| (*stage, time.as_millis() as u64)).collect();
    }
}

impl PrivacyFacts {
    /// Requirements as the verifier found them in released values.
    pub fn of(findings: &Findings) -> Self {
        let requirement = |found: &RequirementFindings| Requirement {
            model: found.model,
            column: found.column.clone(),
            required: found.required.into(),
            achieved: found.achieved.into(),
        };
        let sensitive = |found: &Diversity| SensitiveFacts {
            column: found.column.clone(),
            reading: found.reading,
            fewest: found.fewest,
            mean: round(found.mean),
            disclosures: found.disclosures,
        };
        Self {
            satisfied: findings.holds(),
            requirements: findings.requirements.iter().map(requirement).collect(),
            homogeneity: round(findings.homogeneity),
            sensitive: findings.diversity.iter().map(sensitive).collect(),
        }
    }
}

impl From<Amount> for Quantity {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Count(count) => Self::Count(count),
            Amount::Weight(weight) => Self::Weight(round(weight)),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Weight(weight) => weight.fmt(f),
        }
    }
}

impl From<Utility> for UtilityFacts {
    fn from(utility: Utility) -> Self {
        let part = |column: throng_core::metrics::ColumnUtility| {
            let facts = ColumnFacts {
                ncp: round(column.ncp),
                information_loss: round(column.information_loss),
                sse_sst: column.sse_sst.map(round),
            };
            (column.name, facts)
        };
        Self {
            classes: utility.classes,
            avg: round(utility.avg),
            dm: utility.dm,
            ncp: round(utility.ncp),
            weighted_ncp: round(utility.weighted_ncp),
            information_loss: round(utility.information_loss),
            sse_sst: utility.sse_sst.map(round),
            columns: utility.columns.into_iter().map(part).collect(),
        }
    }
}

/// Six digits after the point say all that a measure is worth, and less about its parts.
fn round(measure: f64) -> f64 {
    (measure * 1e6).round() / 1e6
}
