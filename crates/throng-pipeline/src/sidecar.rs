//! The sidecar `_throng/metrics.json`: what was promised and reached, and what it cost.
//!
//! It is published with the data, so it holds aggregates over the whole release only.

mod histogram;
mod risk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use throng_core::metrics::{Change, DETAIL_STEPS, Utility};
use throng_core::risk::{BorrowedRows, ClassSizes};
use throng_core::verify::{Amount, Diversity, Findings, RequirementFindings};

pub use histogram::Bin;
use histogram::{size_bins, value_bins};
pub use risk::{AttackerRisk, RiskFacts};

/// The version of the sidecar's shape.
const SCHEMA_VERSION: u32 = 1;

/// `_throng/metrics.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// What became of the columns. Sidecars of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnCounts>,
    /// What was promised and reached.
    pub privacy: PrivacyFacts,
    /// The risk of finding a person. Sidecars of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskFacts>,
    /// What the release still tells.
    pub utility: UtilityFacts,
    /// How it was made.
    pub algorithm: AlgorithmFacts,
    /// How long the stages took.
    pub timing_ms: BTreeMap<Cow<'static, str>, u64>,
    /// What it took of the machine.
    pub resources: ResourceFacts,
    /// Whether a report is published beside it.
    #[serde(skip)]
    pub(crate) has_report: bool,
}

/// What was read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct InputFacts {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// The size of the files.
    pub bytes: u64,
}

/// What was released.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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

/// What became of the columns of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnCounts {
    /// Left out: identifiers, and what the policy drops.
    pub dropped: u64,
    /// Generalized.
    pub quasi: u64,
    /// Released under a promise.
    pub sensitive: u64,
    /// Released as they are.
    pub unchanged: u64,
}

/// What was promised and reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrivacyFacts {
    /// Whether every requirement holds.
    pub satisfied: bool,
    /// The requirements, one by one.
    pub requirements: Vec<Requirement>,
    /// The highest homogeneity of a class (Def. 12 of paper A); zero when every class is as diverse as required.
    pub homogeneity: f64,
    /// How diverse the classes are in each sensitive column.
    pub sensitive: Vec<SensitiveFacts>,
    /// Classes that hide few people among borrowed rows; absent where no class has borrowed rows, and in sidecars of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<BorrowedFacts>,
}

/// What is left of the promise against an intruder who knows the quasi-identifiers of everyone in the table, and so may tell
/// how many rows of a class are borrowed from elsewhere. Counts of rows are rounded up to the next multiple of k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorrowedFacts {
    /// Classes that have borrowed rows, rounded up to the next multiple of k.
    pub classes: u64,
    /// Rows of these classes that are their own.
    pub own_rows: u64,
    /// Own rows in classes whose own rows alone would not be as diverse as required.
    pub own_rows_without_diversity: u64,
    /// The fewest own rows of a class.
    pub effective_k: u64,
    /// The fewest distinct values of a sensitive column among the own rows of a class; absent where no model counts values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_p: Option<u64>,
}

impl BorrowedFacts {
    fn of(borrowed: &BorrowedRows, k: u64) -> Option<Self> {
        let up = |count: u64| count.div_ceil(k.max(1)) * k.max(1);
        Some(Self {
            classes: up(borrowed.classes),
            own_rows: up(borrowed.own_rows),
            own_rows_without_diversity: up(borrowed.own_rows_without_diversity),
            effective_k: borrowed.effective_k?,
            effective_p: borrowed.effective_p,
        })
    }
}

/// One requirement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Requirement {
    /// The model.
    pub model: Cow<'static, str>,
    /// The sensitive column that it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What every class must have; for a limit, how many rows may lie beyond it.
    pub required: Quantity,
    /// What every class has, counted in the released files; for a limit, how many rows lie beyond it.
    pub achieved: Quantity,
}

/// A number in the units of its model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// Rows or distinct values.
    Count(u64),
    /// A total weight of categories.
    Weight(f64),
}

/// What the classes show of one sensitive column, read as its promise reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SensitiveFacts {
    /// The column.
    pub column: String,
    /// What counts as one value: `values`, `strong values` or `categories`.
    pub reading: Cow<'static, str>,
    /// The fewest distinct values of a class.
    pub fewest: u64,
    /// The mean of the distinct values over classes.
    pub mean: f64,
    /// Classes all of whose values are the same, as counted in paper D.
    pub disclosures: u64,
    /// How many classes have how many distinct values.
    #[serde(default)]
    pub diversity: Vec<Bin>,
}

/// What the release still tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// How many classes have how many rows.
    #[serde(default)]
    pub class_sizes: Vec<Bin>,
    /// The parts of each quasi-identifier.
    pub columns: BTreeMap<String, ColumnFacts>,
}

/// The part of one quasi-identifier.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ColumnFacts {
    /// The mean NCP over rows.
    pub ncp: f64,
    /// Its part of the total information loss.
    pub information_loss: f64,
    /// SSE / SST, where it shows means or medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sse_sst: Option<f64>,
    /// The rows by how much of the column's domain their released value covers; none for stand-ins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detail: Vec<DetailStep>,
    /// How its distribution changed, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<DistributionFacts>,
}

/// Rows whose released value covers a part of the column's domain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetailStep {
    /// The most that is covered; more than the step before. Zero is a value as it was, and one is everything.
    pub up_to: f64,
    /// The rows.
    pub rows: u64,
}

/// How the distribution of a quasi-identifier changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistributionFacts {
    /// The share of the rows that a reader of the release would put into another slice of the domain.
    pub distance: f64,
    /// The shares of the slices of the domain, in steps of at least k rows and at least one in a hundred. Empty for a
    /// table that is too small.
    pub slices: Vec<SliceFacts>,
}

/// A slice of the domain of a quasi-identifier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceFacts {
    /// Where it ends, as a share of the domain.
    pub end: f64,
    /// The share of the rows of the input.
    pub before: f64,
    /// The share of the rows of the release, when each is spread evenly over what its value stands for.
    pub after: f64,
}

/// How the release was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AlgorithmFacts {
    /// How the table was cut into leaves.
    pub partition: Cow<'static, str>,
    /// How classes were formed: what `auto` picked, where the policy says so.
    pub cluster: Cow<'static, str>,
    /// Why.
    pub reason: Cow<'static, str>,
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceFacts {
    /// Threads.
    pub threads: usize,
    /// The most memory that the process held, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// What it took of the cluster, where it ran on one. Threads and memory are those of the driver then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFacts>,
}

/// What a job took of a cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// Into how many partitions rows were sent.
    pub partitions: usize,
    /// How many groups there were: distinct combinations of quasi-identifiers and of what is looked at of sensitive values.
    pub groups: u64,
    /// The size of the outline, which every executor reads.
    pub outline_bytes: u64,
    /// What went from machine to machine, by the stage that received it, as it lay in memory.
    pub shuffle_bytes: BTreeMap<Cow<'static, str>, u64>,
}

/// What is known of a release besides what the verifier found.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseFacts {
    pub(crate) input: InputFacts,
    pub(crate) output: OutputFacts,
    pub(crate) columns: ColumnCounts,
    pub(crate) algorithm: AlgorithmFacts,
    pub(crate) utility: Utility,
    /// The sizes of the classes of the input.
    pub(crate) cells: ClassSizes,
    pub(crate) borrowed: BorrowedRows,
}

/// What identifies a run.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) run_id: String,
    pub(crate) policy_digest: String,
    /// Whether the policy asks for a report.
    pub(crate) has_report: bool,
}

impl Sidecar {
    /// A sidecar without times, which are known last.
    pub(crate) fn new(run: &RunFacts, release: ReleaseFacts, findings: &Findings, resources: ResourceFacts) -> Self {
        let ReleaseFacts { input, output, columns, algorithm, utility, cells, borrowed } = release;
        let k =
            findings.requirements.iter().find(|found| found.column.is_none()).map_or(1, |found| match found.required {
                Amount::Count(k) => k,
                Amount::Weight(_) => 1,
            });
        let mut sizes = ClassSizes::default();
        findings.class_sizes.iter().for_each(|(size, classes)| sizes.add(*size, *classes));
        let mut utility = UtilityFacts::from(utility);
        utility.class_sizes = size_bins(sizes.iter(), k);
        Self {
            schema_version: SCHEMA_VERSION,
            throng_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run.run_id.clone(),
            policy_digest: run.policy_digest.clone(),
            input,
            output,
            columns: Some(columns),
            privacy: PrivacyFacts { borrowed: BorrowedFacts::of(&borrowed, k), ..PrivacyFacts::of(findings) },
            risk: Some(RiskFacts::of(&cells, &sizes, k)),
            utility,
            algorithm,
            timing_ms: BTreeMap::new(),
            resources,
            has_report: run.has_report,
        }
    }

    /// Understands a sidecar of this version, or of an earlier one that tells less.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let sidecar: Self = serde_json::from_slice(bytes).ok()?;
        (sidecar.schema_version == SCHEMA_VERSION).then_some(sidecar)
    }

    pub(crate) fn set_times(&mut self, times: &[(&'static str, Duration)]) {
        self.timing_ms = times.iter().map(|(stage, time)| (Cow::Borrowed(*stage), time.as_millis() as u64)).collect();
    }
}

impl PrivacyFacts {
    /// Requirements as the verifier found them in released values.
    pub fn of(findings: &Findings) -> Self {
        let requirement = |found: &RequirementFindings| Requirement {
            model: found.model.into(),
            column: found.column.clone(),
            required: found.required.into(),
            achieved: found.achieved.into(),
        };
        let sensitive = |found: &Diversity| SensitiveFacts {
            column: found.column.clone(),
            reading: found.reading.into(),
            fewest: found.fewest,
            mean: round(found.mean),
            disclosures: found.disclosures,
            diversity: value_bins(found.by_distinct.iter().map(|(values, of)| (*values, *of))),
        };
        Self {
            satisfied: findings.holds(),
            requirements: findings.requirements.iter().map(requirement).collect(),
            homogeneity: round(findings.homogeneity),
            sensitive: findings.diversity.iter().map(sensitive).collect(),
            borrowed: None,
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
                detail: column.detail.map_or_else(Vec::new, detail_steps),
                distribution: column.change.map(DistributionFacts::from),
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
            class_sizes: Vec::new(),
            columns: utility.columns.into_iter().map(part).collect(),
        }
    }
}

/// The steps, of which all but the last two are round.
fn detail_steps(rows: [u64; DETAIL_STEPS.len()]) -> Vec<DetailStep> {
    DETAIL_STEPS.into_iter().zip(rows).map(|(up_to, rows)| DetailStep { up_to, rows }).collect()
}

impl From<Change> for DistributionFacts {
    fn from(change: Change) -> Self {
        let slice = |slice: throng_core::metrics::Slice| SliceFacts {
            end: round(slice.end),
            before: round(slice.before),
            after: round(slice.after),
        };
        // Two digits, so that the distance of a small table does not tell of single rows.
        let distance = (change.distance * 100.0).round() / 100.0;
        Self { distance, slices: change.slices.into_iter().map(slice).collect() }
    }
}

/// Six digits after the point say all that a measure is worth, and less about its parts.
fn round(measure: f64) -> f64 {
    (measure * 1e6).round() / 1e6
}
