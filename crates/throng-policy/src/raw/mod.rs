//! The policy file as it is written: the one declaration of its fields.
//!
//! The doc comments are the reference that users read, because the JSON schema carries them as descriptions. They use
//! the words of the file, not those of the code.

mod categories;
mod columns;
mod cover;
mod hierarchy;
mod limit;
mod ordered;
mod population;
mod release;
mod series;
mod store;
mod workload;

use schemars::JsonSchema;
use serde::Deserialize;

pub use categories::{MIN_CATEGORIES, RawBorder, RawCategory};
pub use columns::{DefaultEntry, RawColumn, RawColumns, RawDistance, RawRecursive, RawRole, Unlisted};
pub use cover::{RawCover, RawCoverGrid, RawCoverName};
pub use hierarchy::{
    Branch, DEFAULT_FILE_DELIMITER, DEFAULT_GROWTH, DEFAULT_LEVELS, DEFAULT_ORIGIN, HierarchyRule, MAX_LEVELS,
    RawHierarchy,
};
pub use limit::RawLimit;
pub use ordered::Ordered;
pub use population::RawPopulation;
pub use release::RawRelease;
pub use series::{RawMaxDelay, RawSeries};
pub use store::RawStore;
pub use workload::RawWorkload;

use crate::budget::PATTERN;
use crate::preset::Preset;
use throng_core::anonymize::PartitionChoice;

use crate::settings::{ClusterSetting, Commit, Format, Goal, Mode, OutputFormat, Pseudonyms};

/// The only version of the file format so far.
pub const VERSION: u64 = 1;
/// The smallest group that hides anybody.
pub const MIN_K: u64 = 2;
/// The smallest number of sensitive values; it asks for nothing.
pub const MIN_P: u64 = 1;
/// The gain of an attack that learns nothing.
pub const MIN_GAIN: f64 = 1.0;
/// The seed of a policy that names none.
pub const DEFAULT_SEED: u64 = 0;
/// The fewest rows of a file of the release.
pub const MIN_ROWS_PER_FILE: u64 = 1;
/// The rows of a file of the release, where the policy does not say: a few hundred megabytes at most.
pub const DEFAULT_ROWS_PER_FILE: u64 = 2 * 1024 * 1024;
/// What separates the fields of a CSV input.
pub const DEFAULT_CSV_DELIMITER: &str = ",";
/// Whether a report is published with a release.
pub const DEFAULT_REPORT: bool = false;
/// Whether a CSV input begins with the names of its columns.
pub const DEFAULT_CSV_HEADER: bool = true;

/// A policy of Throng: which table to release, what the release promises, and what each column means.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policy")]
pub struct RawPolicy {
    /// The version of the file format. Always 1.
    #[schemars(extend("const" = VERSION))]
    #[expect(dead_code, reason = "checked before the file is deserialized")]
    pub version: u64,
    /// Where the table comes from.
    pub input: RawInput,
    /// Where the release goes.
    pub output: RawOutput,
    /// How object stores are accessed. Credentials do not belong here: they come only from the environment.
    #[serde(default)]
    #[schemars(with = "RawStore")]
    pub store: Option<RawStore>,
    /// What the release promises.
    pub privacy: RawPrivacy,
    /// How the release is computed. The promise does not depend on it, the loss of detail does.
    #[serde(default)]
    #[schemars(with = "RawAlgorithm")]
    pub algorithm: Option<RawAlgorithm>,
    /// Releases that stay safe together, for `mode = "series"` and `mode = "append"` under `[output]`, and for streams.
    #[serde(default)]
    #[schemars(with = "RawSeries")]
    pub series: Option<RawSeries>,
    /// The questions that the release should answer well.
    #[serde(default)]
    #[schemars(with = "RawWorkload")]
    pub workload: Option<RawWorkload>,
    /// What each column of the input means. Every column needs a role, so that a new one never slips into a release.
    pub columns: RawColumns,
    /// With `[tables]`: the name of the table of `[input]`, which is its folder in the release.
    pub table: Option<String>,
    /// More tables about the same people, released together with that of `[input]` or not at all. In each of them the unit is
    /// released as a pseudonym, by which the tables can be joined. People are put into groups by the table of `[input]`; rows of
    /// people whom it does not have are suppressed.
    pub tables: Option<Ordered<RawTable>>,
}

/// A table that is released together with that of `[input]`, by its name, which is its folder in the release.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Table")]
pub struct RawTable {
    /// Where the table comes from.
    pub input: RawInput,
    /// The column that identifies the person. By default it has the name that it has in `[privacy]`.
    pub unit: Option<String>,
    /// What each column of the table means.
    pub columns: RawColumns,
}

/// Where the table comes from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Input")]
pub struct RawInput {
    /// A file, a folder, a glob, or a URL such as `s3://bucket/folder/`; or a list of them. Files can also be read from
    /// `https://`. A Delta table has `delta+` before its folder or URL. `${NAME}` stands for an environment variable and `$$`
    /// for a dollar. Credentials come only from the environment.
    pub location: Locations,
    /// For a Delta table: the version that is read. By default the latest.
    pub version: Option<u64>,
    /// For a Delta table: reads the version that was the latest at this time, a date (its first moment in UTC) or a time
    /// as in RFC 3339.
    pub as_of: Option<String>,
    /// The format of the files. By default it follows from their extension.
    pub format: Option<Format>,
    /// For CSV: the one character between two fields. By default a comma.
    #[schemars(length(min = 1, max = 1), extend("default" = DEFAULT_CSV_DELIMITER))]
    pub delimiter: Option<String>,
    /// For CSV: whether the first line has the names of the columns. By default it has.
    #[schemars(extend("default" = DEFAULT_CSV_HEADER))]
    pub header: Option<bool>,
}

/// One location, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Locations {
    /// One location.
    One(String),
    /// Several locations, read as one table.
    Several(Vec<String>),
}

/// Where the release goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Output")]
pub struct RawOutput {
    /// A folder or a URL such as `s3://bucket/folder/`. `${NAME}` stands for an environment variable and `$$` for a
    /// dollar. Credentials come only from the environment.
    pub location: String,
    /// The form of the release. By default `parquet`.
    #[schemars(extend("default" = OutputFormat::Parquet.as_str()))]
    pub format: Option<OutputFormat>,
    /// What happens when the location already holds a release. By default the run stops.
    #[schemars(extend("default" = Mode::Error.as_str()))]
    pub mode: Option<Mode>,
    /// Whether a page for people, `_throng/report.html`, is published with the release: the promise, the risk before and
    /// after, and what was lost. By default it is not.
    #[schemars(extend("default" = DEFAULT_REPORT))]
    pub report: Option<bool>,
    /// Maximum number of rows per file of the release. By default 2097152.
    #[schemars(range(min = MIN_ROWS_PER_FILE), extend("default" = DEFAULT_ROWS_PER_FILE))]
    pub rows_per_file: Option<u64>,
    /// A folder of the release that holds its data files and nothing else, for readers that do not pass over the documents in
    /// `_throng/`, such as polars: `data_folder = "data"`. By default data files lie beside them.
    pub data_folder: Option<String>,
    /// How a release on an object store becomes visible. By default `conditional`.
    #[schemars(extend("default" = Commit::Conditional.as_str()))]
    pub commit: Option<Commit>,
}

/// What the release promises.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "dependentRequired" = { "preset": ["p"] },
    "if" = { "not": { "required": ["preset"] } },
    "then" = { "required": ["k"] }
))]
#[schemars(rename = "Privacy")]
pub struct RawPrivacy {
    /// A k that is in use elsewhere, by name, with the reason for it. It needs an explicit `p`, and is not a statement of
    /// legal compliance.
    pub preset: Option<Preset>,
    /// Every person shares the released quasi-identifiers with at least k - 1 others. At least 2. Beside a `preset`, at
    /// least the k of that; without one it must be given.
    #[schemars(range(min = MIN_K))]
    pub k: Option<u64>,
    /// Every such group has at least p different values in each sensitive column. From 1, the default, which adds
    /// nothing to k-anonymity, up to k. A column may have its own `p`.
    #[schemars(range(min = MIN_P), extend("default" = MIN_P))]
    pub p: Option<u64>,
    /// In every such group the categories of a sensitive column weigh at least alpha together: a row of the first
    /// category of the column weighs 0, a row of the last one 1, and the others lie evenly between. Needs a sensitive
    /// column with `categories`, and holds for each of them. By default nothing is weighed.
    #[schemars(range(min = 0))]
    pub alpha: Option<f64>,
    /// The column, or columns, that identify the unit of privacy, such as the person or the household that a row belongs
    /// to. With it k and p count units instead of rows: every class has rows of at least k units, and p values that p
    /// different units carry. A series needs it, to follow people from release to release. By default every row is a unit.
    pub unit: Option<Names>,
    /// What happens to a row without a unit. By default `own`.
    #[schemars(extend("default" = "own"))]
    pub unit_nulls: Option<UnitNulls>,
    /// For a unit with `release = "pseudonym"`: where the pseudonyms of two runs are the same. By default `per-run`.
    #[schemars(extend("default" = Pseudonyms::PerRun.as_str()))]
    pub pseudonyms: Option<Pseudonyms>,
    /// Whether a class that lacks rows may borrow some of a combination of quasi-identifiers that has more than enough. With
    /// `never` every class has all rows of its combinations, so that k and p hold even for an intruder who knows the
    /// quasi-identifiers of everyone in the input, at the price of a higher loss. By default `allowed`.
    #[schemars(extend("default" = "allowed"))]
    pub borrow: Option<Borrow>,
    /// The largest share of the rows of the input that may be suppressed, from 0 to 1. The run fails when more of them
    /// would have to be. By default there is no limit.
    #[schemars(range(min = 0, max = 1))]
    pub suppression_limit: Option<f64>,
    /// The fewest rows of an input that is released. A smaller delivery is refused, and the existing release stays. By
    /// default any number of rows is released.
    #[schemars(range(min = 1))]
    pub min_rows: Option<u64>,
    /// How far the number of released rows may lie above or below that of the release at the output, as a share of the
    /// latter; in a series, the number of rows of the input and that of the last input. A larger change is refused, and the
    /// existing release stays. By default any change is released.
    #[schemars(range(min = 0))]
    pub max_rows_change: Option<f64>,
    /// The largest information loss (NCP) of a release, from 0 to 1. A release that loses more is not published. By default
    /// there is no limit.
    #[schemars(range(min = 0, max = 1))]
    pub loss_limit: Option<f64>,
    /// The largest share of the released rows that insensitive columns may single out, alone or together with the released
    /// quasi-identifiers, from 0 to 1. A release that exceeds it is not published. By default there is only a warning.
    #[schemars(range(min = 0, max = 1))]
    pub insensitive_uniqueness: Option<f64>,
    /// What an intruder may gain from the release. The run attacks the staged release, and publishes nothing when an attack
    /// gains more. By default nothing is attacked.
    #[serde(default)]
    #[schemars(with = "RawAttacks")]
    pub attacks: Option<RawAttacks>,
    /// The population that the input is a sample of. Changes nothing in the release: the risk of an intruder who does not
    /// know who is in the input follows from it, and a release may be refused by it. By default the input stands for the
    /// population.
    #[serde(default)]
    #[schemars(with = "RawPopulation")]
    pub population: Option<RawPopulation>,
}

/// What an intruder may gain from the release.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Attacks")]
pub struct RawAttacks {
    /// The largest gain of an attack: its chance of success with the release over that without, at least 1. `throng attack`
    /// measures the gains of an existing release.
    #[schemars(range(min = MIN_GAIN))]
    pub max_gain: f64,
}

/// One name, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Names {
    /// One column.
    One(String),
    /// Several columns, which identify a unit together.
    Several(Vec<String>),
}

/// What happens to a row whose unit is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnitNulls {
    /// The row is a separate unit.
    #[default]
    Own,
    /// The run stops.
    Error,
}

impl UnitNulls {
    /// Returns the name in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Error => "error",
        }
    }
}

/// Whether classes may borrow rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Borrow {
    /// A class may have some of the rows of a combination, drawn at random.
    #[default]
    Allowed,
    /// Rows with equal quasi-identifiers stay together.
    Never,
}

impl Borrow {
    /// Returns the name in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Never => "never",
        }
    }
}

/// How the release is computed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Algorithm")]
pub struct RawAlgorithm {
    /// How the table is first cut into parts. By default `mondrian`.
    #[schemars(extend("default" = PartitionChoice::Mondrian.as_str()))]
    pub partition: Option<PartitionChoice>,
    /// How the rows of a part become classes. By default `auto`.
    #[schemars(extend("default" = ClusterSetting::Auto.as_str()))]
    pub cluster: Option<ClusterSetting>,
    /// What the cluster method `auto` is chosen by. By default `loss`.
    #[schemars(extend("default" = Goal::Loss.as_str()))]
    pub goal: Option<Goal>,
    /// How long the search for better classes may go on: `fast`, `balanced`, `thorough`, or a time such as `30s`. For the
    /// cluster method `auto`. More never loses more. By default `balanced`.
    #[schemars(extend("default" = "balanced", "pattern" = PATTERN))]
    pub budget: Option<String>,
    /// Whether to prove how much any release under this policy loses at least. The bound and the distance of the release
    /// from it go into the sidecar and the report. Takes longer than the release where it has many distinct rows. By
    /// default false.
    #[schemars(extend("default" = false))]
    pub bound: Option<bool>,
    /// Drives every random choice, together with the secret of the user. The same input, policy, seed and secret give the
    /// same release. By default 0.
    #[schemars(extend("default" = DEFAULT_SEED))]
    pub seed: Option<u64>,
}
