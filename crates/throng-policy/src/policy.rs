//! A validated policy, independent of data.

use std::sync::Arc;

use throng_core::anonymize::PartitionChoice;
use throng_core::columns::{Categories, ColumnRecoding, Limit, Nulls, Protection};
use throng_core::cover::CoverGrid;
use throng_core::hierarchy::HierarchySpec;
use throng_core::key::ReleaseKey;
use throng_core::look_alikes::LookAlikeRule;
use throng_core::model::{FrequencyRequirement, GroundDistance};
use throng_core::risk::SamplingFraction;

use crate::budget::Budget;
use crate::declared_type::DeclaredType;
use crate::field_path::FieldPath;
use crate::guards::Guards;
use crate::population::PopulationSettings;
use crate::preset::Preset;
use crate::problem::PolicyError;
use crate::raw::{Borrow, UnitNulls};
use crate::secret::Secret;
use crate::series::{SeriesSettings, StreamDelay};
use crate::settings::{ClusterSetting, Commit, Format, Goal, Mode, OutputFormat, Pseudonyms};
use crate::spanned_toml::SpannedToml;
use crate::store::Store;
use crate::table_pin::TablePin;

/// A valid policy with command-line overrides applied. Created by [`Policy::load`] and [`Policy::parse`].
#[derive(Clone, Debug)]
pub struct Policy {
    /// Input settings.
    pub input: Input,
    /// Output settings.
    pub output: Output,
    /// Object store settings.
    pub store: Store,
    /// Privacy models that every class must satisfy, and limits on the finished release.
    pub privacy: PrivacySettings,
    /// Algorithm settings.
    pub algorithm: Algorithm,
    /// Settings of a series of releases, if the policy defines one.
    pub series: Option<SeriesSettings>,
    /// How long a row of a stream may wait; `None` if a stream is released when it ends.
    pub stream: Option<StreamDelay>,
    /// Columns of each question that classes are formed for. The weights of the quasi-identifiers follow from them already.
    pub workload: Vec<Vec<String>>,
    /// Roles of the columns.
    pub columns: Columns,
    /// Name of the table of the input, if there are others.
    pub(crate) table: Option<String>,
    /// Tables that are released together with that of the input.
    pub(crate) tables: Vec<TablePart>,
    /// Path of the columns in the document.
    pub(crate) place: FieldPath,
    /// Whether the rows of the input are in blocks, see [`throng_core::columns::BLOCK_COLUMN`].
    pub(crate) has_blocks: bool,
    /// Source of the release key.
    pub(crate) key: KeySource,
    /// Positions in the file, for problems found when binding to a schema.
    pub(crate) document: Arc<SpannedToml>,
}

/// Settings of one further table in a policy for several tables.
#[derive(Clone, Debug)]
pub(crate) struct TablePart {
    pub(crate) name: String,
    pub(crate) input: Input,
    pub(crate) columns: Columns,
    /// The column that identifies a person.
    pub(crate) unit: String,
}

/// Source of the release key.
#[derive(Clone, Debug, Default)]
pub(crate) enum KeySource {
    /// Secret of the current user.
    #[default]
    User,
    /// Secret set by the host.
    Secret(Secret),
    /// Key derived by another process.
    Key(ReleaseKey),
}

impl Policy {
    /// Uses `secret` instead of that of the environment or the state folder.
    #[must_use]
    pub fn with_secret(self, secret: Secret) -> Self {
        Self { key: KeySource::Secret(secret), ..self }
    }

    /// Uses a key that another process derived for the same release.
    #[must_use]
    pub fn with_release_key(self, key: ReleaseKey) -> Self {
        Self { key: KeySource::Key(key), ..self }
    }

    /// Returns the key of every random choice, derived from secret and seed. Fails if no secret is given and none can
    /// be stored.
    pub fn release_key(&self) -> Result<ReleaseKey, PolicyError> {
        let secret = match &self.key {
            KeySource::Key(key) => return Ok(*key),
            KeySource::Secret(secret) => secret.clone(),
            KeySource::User => Secret::of_user()?,
        };
        Ok(ReleaseKey::new(secret.bytes(), self.algorithm.seed))
    }
}

/// Input settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Files, folders, globs or URLs; at least one, with environment variables expanded.
    pub locations: Vec<String>,
    /// Version of a Delta table; ignored for files.
    pub pin: TablePin,
    /// Format of the files; by default it follows from their extension.
    pub format: Option<Format>,
    /// How CSV files are read; unused for other formats.
    pub csv: CsvOptions,
}

/// How the fields of CSV files are separated and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Field delimiter.
    pub delimiter: u8,
    /// Whether the first line holds the column names.
    pub header: bool,
}

/// Comma as delimiter, with a header.
impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', header: true }
    }
}

/// Output settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Folder or URL, with environment variables expanded.
    pub location: String,
    /// Form of the release.
    pub format: OutputFormat,
    /// Behaviour if the location already holds a release.
    pub mode: Mode,
    /// Whether a report is published with the release.
    pub report: bool,
    /// Maximum number of rows per file; at least one.
    pub rows_per_file: u64,
    /// Folder of the release for its data files; `None` if they lie next to its documents.
    pub data_folder: Option<String>,
    /// How a release becomes visible on an object store.
    pub commit: Commit,
}

/// Privacy settings, with `1 <= p <= k` and `2 <= k`.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivacySettings {
    /// Preset, if any; k is at least its value.
    pub preset: Option<Preset>,
    /// Minimum number of rows in a class.
    pub k: u64,
    /// Minimum number of distinct values of each sensitive column in a class, unless the column has its own.
    pub p: u64,
    /// Minimum category weight of a class; finite and not negative. Requires a column with categories.
    pub alpha: Option<f64>,
    /// Maximum share of input rows that may be suppressed, from 0 to 1.
    pub suppression_limit: Option<f64>,
    /// Columns that together identify the unit of privacy; empty if every row is a unit.
    pub unit: Vec<String>,
    /// Treatment of rows without a unit.
    pub unit_nulls: UnitNulls,
    /// Scope in which pseudonyms are the same, if the unit is released as one.
    pub pseudonyms: Pseudonyms,
    /// Maximum gain of an attack on the release; at least 1. Nothing is attacked if `None`.
    pub max_gain: Option<f64>,
    /// Share of the population that is in the input, if it is a sample.
    pub sampling_fraction: Option<SamplingFraction>,
    /// People of the population, if they are known individually instead of as a fraction.
    pub population: Option<PopulationSettings>,
    /// Conditions of the delivery and of the release beyond the promise.
    pub guards: Guards,
    /// Whether classes may borrow rows.
    pub borrow: Borrow,
}

/// Algorithm settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Partition method.
    pub partition: PartitionChoice,
    /// Clustering method.
    pub cluster: ClusterSetting,
    /// Criterion by which `auto` chooses the clustering method.
    pub goal: Goal,
    /// Budget of the local search.
    pub budget: Budget,
    /// Whether a lower bound of the loss is computed.
    pub bound: BoundSetting,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Whether a lower bound of the loss of any release is computed, and how long that may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundSetting {
    /// No bound.
    #[default]
    Off,
    /// A bound within a fixed amount of work.
    On,
    /// A bound that is improved for this time.
    Time(std::time::Duration),
}

/// Roles of the columns. At least one is a quasi-identifier.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Whether columns that the policy does not name are dropped, instead of being an error.
    pub drop_unlisted: bool,
    /// Roles by exact name, in file order; a column named `default` comes last.
    pub by_name: Vec<(String, Role)>,
    /// Declared types by exact name.
    pub types: Vec<(String, DeclaredType)>,
}

/// Role of a column.
#[derive(Clone, Debug)]
pub enum Role {
    /// Identifies the person; not released.
    Identifier,
    /// Identifies the person and is the unit of privacy; a pseudonym is released in its place.
    Pseudonym,
    /// Needs no protection; released unchanged.
    Insensitive,
    /// Must not be disclosed; counted by p.
    Sensitive(Sensitive),
    /// Identifies the person in combination with others; generalized.
    Quasi(Quasi),
}

/// Settings of a quasi-identifier.
#[derive(Clone, Debug)]
pub struct Quasi {
    /// Released form; `None` for the default of its type. Never an ordered release together with a hierarchy.
    pub release: Option<ColumnRecoding>,
    /// Weight in the loss; finite and greater than zero.
    pub weight: f64,
    /// Treatment of nulls.
    pub nulls: Nulls,
    /// Generalization hierarchy.
    pub hierarchy: Option<Arc<HierarchySpec>>,
    /// Limit of the generalization. Checked against the hierarchy as far as possible without data; whether it also fits
    /// the release is checked when the type is known.
    pub limit: Option<Limit>,
    /// Grid of the ends of released intervals. Whether it fits the release and the type is checked when the type is known.
    pub cover: Option<CoverGrid>,
}

/// Settings of a sensitive column.
#[derive(Clone, Debug, Default)]
pub struct Sensitive {
    /// p of this column, from 1 to k, instead of that of the policy. The effective p is at most the number of
    /// categories.
    pub p: Option<u64>,
    /// Weight in the diversity that clusterings maximize; finite and greater than zero.
    pub weight: Option<f64>,
    /// Protected values of its hierarchy, other than the root.
    pub protection: Option<Arc<Protection>>,
    /// Hierarchy by which values are compared; the protection, if any, uses the same one.
    pub hierarchy: Option<Arc<HierarchySpec>>,
    /// Categories of its values, the most sensitive first.
    pub categories: Option<Arc<Categories>>,
    /// Released form; `Value` if there are no categories.
    pub release: SensitiveRelease,
    /// Ascending lower bounds of all bands but the first, for numbers and dates; values of one band count as one.
    pub bands: Option<Arc<[f64]>>,
    /// Requirements on the frequencies of its values.
    pub frequencies: Vec<FrequencyRequirement>,
    /// Which texts count as one value, and which values are not counted.
    pub look_alikes: LookAlikeRule,
}

impl Sensitive {
    /// Whether a requirement compares values by the hierarchy.
    pub(crate) fn compares_by_hierarchy(&self) -> bool {
        self.frequencies.iter().any(needs_hierarchy)
    }
}

/// Whether a requirement compares values by their hierarchy.
pub(crate) fn needs_hierarchy(requirement: &FrequencyRequirement) -> bool {
    matches!(requirement, FrequencyRequirement::Closeness { distance: GroundDistance::Hierarchical, .. })
}

/// Released form of a sensitive column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SensitiveRelease {
    /// The value itself, unchanged.
    #[default]
    Value,
    /// The category name instead of the value.
    Category,
    /// The value, and the category name in an additional column.
    Both,
}

impl SensitiveRelease {
    /// Returns the released names of a column.
    pub fn released_names(self, name: &str) -> Vec<String> {
        match self {
            Self::Value | Self::Category => vec![name.to_owned()],
            Self::Both => vec![name.to_owned(), Self::category_name(name)],
        }
    }

    /// Returns the name of the additional category column.
    pub fn category_name(name: &str) -> String {
        format!("{name}_category")
    }
}
