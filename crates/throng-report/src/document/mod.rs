//! The sidecar `_throng/metrics.json`: required and achieved privacy, information loss and cost of a run.
//!
//! It is published with the data, so it holds aggregates over the whole release only.

mod append;
mod attacks;
mod convert;
mod guards;
mod histogram;
mod risk;
mod series;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use append::{AppendFacts, AppendTotals};
pub use attacks::{AttackFacts, AttackGain};
pub use convert::{ReleaseFacts, RunFacts};
pub use guards::{DeterminedFacts, GuardFacts, InsensitiveFacts, SinglingColumn};
pub use histogram::Bin;
pub use risk::{
    AtRisk, AttackerRisk, MarketerRisk, MatchedPeople, PopulationFacts, PresenceFacts, RiskFacts, TableRisk,
};
pub use series::SeriesFacts;

/// Version of the sidecar's schema.
const SCHEMA_VERSION: u32 = 1;

/// Content of `_throng/metrics.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sidecar {
    /// Version of the schema of the sidecar.
    pub schema_version: u32,
    /// Version of Throng that made the release.
    pub throng_version: String,
    /// Id of the run that made the release.
    pub run_id: String,
    /// Digest of the policy in effect, without locations.
    pub policy_digest: String,
    /// Size of the input.
    pub input: InputFacts,
    /// Size of the release.
    pub output: OutputFacts,
    /// Columns by treatment. Absent in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnCounts>,
    /// Required and achieved privacy.
    pub privacy: PrivacyFacts,
    /// Re-identification risk. Absent in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskFacts>,
    /// Attacks on the release before it was published; absent where the policy does not limit their gain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacks: Option<AttackFacts>,
    /// The series that the release belongs to; absent if it belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesFacts>,
    /// All appends of the release; absent if it was not appended to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append: Option<AppendFacts>,
    /// Utility of the release.
    pub utility: UtilityFacts,
    /// The methods and their settings.
    pub algorithm: AlgorithmFacts,
    /// Milliseconds by stage, and `total`.
    pub timing_ms: BTreeMap<Cow<'static, str>, u64>,
    /// Resource usage.
    pub resources: ResourceFacts,
    /// Tables that were released together; the fields above describe the first one. Absent if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableFacts>,
    /// Whether a report is published with it.
    #[serde(skip)]
    pub has_report: bool,
}

/// One of several tables of a release.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableFacts {
    /// Name of the table, which is its folder.
    pub name: String,
    /// Number of rows of the input.
    pub input_rows: u64,
    /// Number of rows of the release.
    pub rows: u64,
    /// Number of suppressed rows.
    pub suppressed_rows: u64,
    /// Number of equivalence classes of the table.
    pub classes: u64,
    /// Mean NCP over rows and quasi-identifiers.
    pub ncp: f64,
    /// The requirements, one by one.
    pub requirements: Vec<Requirement>,
}

impl TableFacts {
    /// Returns the facts of a table from its sidecar.
    pub fn of(name: &str, sidecar: &Sidecar) -> Self {
        Self {
            name: name.to_owned(),
            input_rows: sidecar.input.rows,
            rows: sidecar.output.rows,
            suppressed_rows: sidecar.output.suppressed_rows,
            classes: sidecar.utility.classes,
            ncp: sidecar.utility.ncp,
            requirements: sidecar.privacy.requirements.clone(),
        }
    }
}

/// Size of the input.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct InputFacts {
    /// Number of rows that were read, suppressed ones included.
    pub rows: u64,
    /// Number of files that were read.
    pub files: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Version of the Delta table that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// Size of the release.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct OutputFacts {
    /// Number of released rows.
    pub rows: u64,
    /// Number of data files that were written.
    pub files: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Number of suppressed rows.
    pub suppressed_rows: u64,
    /// Version of the Delta table that is the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Number of earlier versions of the table that can still be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_versions: Option<u64>,
}

/// Input columns by treatment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnCounts {
    /// Not released: identifiers, and columns that the policy drops.
    pub dropped: u64,
    /// Quasi-identifiers.
    pub quasi: u64,
    /// Sensitive columns.
    pub sensitive: u64,
    /// Released unchanged.
    pub unchanged: u64,
    /// The columns that are released, in the order of the input; empty in sidecars of earlier versions. Names of the others are
    /// not published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<ReleasedColumnFacts>,
}

/// A column that is released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleasedColumnFacts {
    /// Its name in the input.
    pub column: String,
    /// Its role in the policy.
    pub role: Cow<'static, str>,
    /// Its released form; absent for a column that is released as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Cow<'static, str>>,
    /// Its weight in the loss that classes are formed by; absent where it is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// Required and achieved privacy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PrivacyFacts {
    /// Whether every requirement holds.
    pub satisfied: bool,
    /// What k and p count. Rows in sidecars of earlier versions.
    #[serde(default)]
    pub counts: PrivacyUnit,
    /// The requirements, one by one.
    pub requirements: Vec<Requirement>,
    /// The highest homogeneity of a class; zero when every class is as diverse as required.
    pub homogeneity: f64,
    /// Diversity of the classes in each sensitive column.
    pub sensitive: Vec<SensitiveFacts>,
    /// Classes with borrowed rows; absent where no class has any, and in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<BorrowedFacts>,
    /// Conditions of the delivery and of the release beyond the promise; absent where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<GuardFacts>,
    /// Exposure by insensitive columns; absent if there are none, or it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insensitive: Option<InsensitiveFacts>,
    /// Columns that were left out and may identify people with several rows, where the policy names no unit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeating_identifiers: u64,
    /// People whose rows are linked; absent where no pseudonym is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pseudonyms: Option<PseudonymFacts>,
}

/// People whose rows are linked by a pseudonym, over all tables of the release. The profile of a person is the multiset of the
/// classes of all of their rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PseudonymFacts {
    /// The column that has the pseudonym.
    pub column: String,
    /// Scope in which pseudonyms are the same: `per-run` or `stable`.
    pub scope: Cow<'static, str>,
    /// Number of people who have rows in the release.
    pub people: u64,
    /// Number of distinct profiles.
    pub profiles: u64,
    /// Minimum number of people with one profile.
    pub smallest_profile: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The unit that the requirements count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrivacyUnit {
    /// Rows, each of which stands for one person.
    #[default]
    Rows,
    /// Units of privacy, such as people or households, which may have several rows.
    Units,
}

/// Protection that remains against an intruder who knows the quasi-identifiers of everyone in the table, and can
/// therefore infer how many rows of a class are borrowed. Row counts are rounded up to the next multiple of k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BorrowedFacts {
    /// Classes that have borrowed rows, rounded up to the next multiple of k.
    pub classes: u64,
    /// Rows of these classes that are not borrowed.
    pub own_rows: u64,
    /// Own rows in classes whose own rows alone are not as diverse as required.
    pub own_rows_without_diversity: u64,
    /// Minimum number of own rows of a class.
    pub effective_k: u64,
    /// Minimum number of distinct values of a sensitive column among the own rows of a class; absent where no model
    /// counts values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_p: Option<u64>,
}

/// A requirement with its achieved value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Requirement {
    /// Name of the privacy model.
    pub model: Cow<'static, str>,
    /// Sensitive column of the requirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Minimum over classes; for a limit, the maximum number of rows beyond it.
    pub required: Quantity,
    /// Minimum over the classes in the released files; for a limit, the number of rows beyond it.
    pub achieved: Quantity,
}

/// A number in the units of its model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// Rows or distinct values.
    Count(u64),
    /// Total weight of categories.
    Weight(f64),
}

/// Diversity of one sensitive column, with values counted as its privacy model counts them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SensitiveFacts {
    /// Name of the column.
    pub column: String,
    /// The unit that is counted: `values`, `strong values` or `categories`.
    pub reading: Cow<'static, str>,
    /// Minimum number of distinct values in a class.
    pub fewest: u64,
    /// Mean number of distinct values over classes.
    pub mean: f64,
    /// Classes whose values are all equal.
    pub disclosures: u64,
    /// The largest share of one value among the rows of a class; absent in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_share: Option<f64>,
    /// How texts that look alike are counted: `merged` or `distinct`; absent for columns that are not text or have categories,
    /// and in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_alikes: Option<Cow<'static, str>>,
    /// Histogram of distinct values per class.
    #[serde(default)]
    pub diversity: Vec<Bin>,
}

/// Utility of the release.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UtilityFacts {
    /// Number of equivalence classes of the release.
    pub classes: u64,
    /// Normalized average class size.
    pub avg: f64,
    /// Discernibility metric.
    pub dm: u64,
    /// Mean NCP over rows and quasi-identifiers.
    pub ncp: f64,
    /// Mean NCP, weighted by the weights of the quasi-identifiers.
    pub weighted_ncp: f64,
    /// Total information loss (Def. 9 and 10).
    pub information_loss: f64,
    /// Mean SSE/SST over the quasi-identifiers released as means or medians, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sse_sst: Option<f64>,
    /// Proven lower bound of the loss of any release under the policy, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// The measure that is bounded: `ncp`, which is `weighted_ncp` where weights differ, or `sse_sst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_of: Option<Cow<'static, str>>,
    /// How far the release is above the lower bound, relative to it; absent if the bound is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// Histogram of class sizes.
    #[serde(default)]
    pub class_sizes: Vec<Bin>,
    /// Utility per quasi-identifier.
    pub columns: BTreeMap<String, ColumnFacts>,
}

/// Utility of one quasi-identifier.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ColumnFacts {
    /// Mean NCP over rows.
    pub ncp: f64,
    /// Its share of the total information loss.
    pub information_loss: f64,
    /// SSE/SST, for columns released as means or medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sse_sst: Option<f64>,
    /// Rows by the share of the column's domain that their released value covers; empty for aggregates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detail: Vec<DetailStep>,
    /// Change of its distribution, where that can be published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<DistributionFacts>,
}

/// Rows whose released value covers a certain share of the column's domain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetailStep {
    /// Upper bound of the share; the lower bound is that of the previous step. 0 is the exact value, 1 the whole
    /// domain.
    pub up_to: f64,
    /// Number of rows whose released value covers a share within the step.
    pub rows: u64,
}

/// Change of the distribution of a quasi-identifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistributionFacts {
    /// Share of the rows that a reader of the release would assign to another slice of the domain.
    pub distance: f64,
    /// Shares by slice of the domain, in steps of at least k rows and at least 1%. Empty for a table that is too small.
    pub slices: Vec<SliceFacts>,
}

/// A slice of the domain of a quasi-identifier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceFacts {
    /// Upper end, as a share of the domain.
    pub end: f64,
    /// Share of the rows of the input.
    pub before: f64,
    /// Share of the rows of the release, each spread evenly over the values that its label covers.
    pub after: f64,
}

/// Methods of the release and their settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AlgorithmFacts {
    /// Partition method.
    pub partition: Cow<'static, str>,
    /// Cluster method; the chosen one if the policy says `auto`.
    pub cluster: Cow<'static, str>,
    /// Reason for the choice of the cluster method.
    pub reason: Cow<'static, str>,
    /// Random seed.
    pub seed: u64,
    /// Budget of local search.
    pub budget: String,
    /// Number of leaves of the partition, over all parts.
    pub leaves: u64,
    /// Cycles of local search; the minimum over parts.
    pub search_cycles: u32,
    /// Columns of each question that classes were formed for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workload: Vec<Vec<String>>,
}

/// Resource usage of the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceFacts {
    /// Number of worker threads of the job.
    pub threads: usize,
    /// Peak memory of the process, where the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Usage of the compute cluster, for distributed runs. Threads and memory are then those of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFacts>,
}

/// Usage of a compute cluster by a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// Number of shuffle partitions.
    pub partitions: usize,
    /// Number of groups: distinct combinations of quasi-identifiers and counted sensitive values.
    pub groups: u64,
    /// Size of the release plan, which every executor reads.
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
