//! The sidecar `_throng/metrics.json`: required and achieved privacy, information loss and cost of a run.
//!
//! It is published with the data, so it holds aggregates over the whole release only.

mod convert;
mod histogram;
mod risk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use convert::{ReleaseFacts, RunFacts};
pub use histogram::Bin;
pub use risk::{AtRisk, AttackerRisk, MarketerRisk, RiskFacts, TableRisk};

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
    /// Size of the input.
    pub input: InputFacts,
    /// Size of the release.
    pub output: OutputFacts,
    /// Columns by their treatment. Absent in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnCounts>,
    /// Required and achieved privacy.
    pub privacy: PrivacyFacts,
    /// Re-identification risk. Absent in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskFacts>,
    /// Utility of the release.
    pub utility: UtilityFacts,
    /// The methods and their settings.
    pub algorithm: AlgorithmFacts,
    /// Milliseconds by stage, and `total`.
    pub timing_ms: BTreeMap<Cow<'static, str>, u64>,
    /// Use of resources.
    pub resources: ResourceFacts,
    /// Whether a report is published beside it.
    #[serde(skip)]
    pub has_report: bool,
}

/// Size of the input.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct InputFacts {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// The size of the files.
    pub bytes: u64,
}

/// Size of the release.
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

/// Columns of the input by their treatment.
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

/// Required and achieved privacy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrivacyFacts {
    /// Whether every requirement holds.
    pub satisfied: bool,
    /// The requirements, one by one.
    pub requirements: Vec<Requirement>,
    /// The highest homogeneity of a class; zero when every class is as diverse as required.
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

/// One requirement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Requirement {
    /// The model.
    pub model: Cow<'static, str>,
    /// The sensitive column that it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The least value of every class; for a limit, the most rows that may lie beyond it.
    pub required: Quantity,
    /// The least value of a class in the released files; for a limit, the rows that lie beyond it.
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

/// Diversity of one sensitive column, with values counted as its privacy model counts them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SensitiveFacts {
    /// The column.
    pub column: String,
    /// The unit that is counted: `values`, `strong values` or `categories`.
    pub reading: Cow<'static, str>,
    /// The fewest distinct values of a class.
    pub fewest: u64,
    /// The mean of the distinct values over classes.
    pub mean: f64,
    /// Classes all of whose values are the same.
    pub disclosures: u64,
    /// The largest share of one value among the rows of a class; absent in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_share: Option<f64>,
    /// How many classes have how many distinct values.
    #[serde(default)]
    pub diversity: Vec<Bin>,
}

/// Utility of the release.
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
    /// How its distribution changed, where that can be published.
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

/// Use of resources by the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceFacts {
    /// Threads.
    pub threads: usize,
    /// Peak memory of the process, where the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Use of the cluster, where it ran on one. Threads and memory are those of the driver then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFacts>,
}

/// Use of a cluster by a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// Into how many partitions rows were sent.
    pub partitions: usize,
    /// Groups: distinct combinations of quasi-identifiers and counted sensitive values.
    pub groups: u64,
    /// The size of the outline, which every executor reads.
    pub outline_bytes: u64,
    /// Shuffled bytes in memory format, by the stage that received them.
    pub shuffle_bytes: BTreeMap<Cow<'static, str>, u64>,
}

impl Sidecar {
    /// Parses a sidecar of this version, or of an earlier one with fewer fields; `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let sidecar: Self = serde_json::from_slice(bytes).ok()?;
        (sidecar.schema_version == SCHEMA_VERSION).then_some(sidecar)
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
