//! A policy after validation: what the file means, before any data is seen.

use std::sync::Arc;

use throng_core::columns::{Categories, ColumnRecoding, Limit, Nulls, Protection};
use throng_core::hierarchy::HierarchySpec;
use throng_core::key::ReleaseKey;

use crate::budget::Budget;
use crate::preset::Preset;
use crate::problem::PolicyError;
use crate::secret::Secret;
use crate::settings::{ClusterSetting, Commit, Format, Mode, PartitionSetting};
use crate::spanned_toml::SpannedToml;
use crate::store::Store;

/// A valid policy with the overrides of the command line in effect. Made by [`Policy::load`] and [`Policy::parse`].
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where the table comes from.
    pub input: Input,
    /// Where the release goes.
    pub output: Output,
    /// How object stores are talked to.
    pub store: Store,
    /// What the release promises.
    pub privacy: PrivacySettings,
    /// How the release is computed.
    pub algorithm: Algorithm,
    /// What the columns mean.
    pub columns: Columns,
    /// Where the key of a release comes from.
    pub(crate) key: KeySource,
    /// Keeps the places of the file for problems that only show against a schema.
    pub(crate) document: Arc<SpannedToml>,
}

/// Where the key of a release comes from.
#[derive(Clone, Debug, Default)]
pub(crate) enum KeySource {
    /// The secret of the user who makes the release.
    #[default]
    User,
    /// A secret of the host.
    Secret(Secret),
    /// Derived elsewhere.
    Key(ReleaseKey),
}

impl Policy {
    /// Uses this secret in place of that of the environment or of the state folder.
    #[must_use]
    pub fn with_secret(self, secret: Secret) -> Self {
        Self { key: KeySource::Secret(secret), ..self }
    }

    /// Uses a key that another process has derived for the same release.
    #[must_use]
    pub fn with_release_key(self, key: ReleaseKey) -> Self {
        Self { key: KeySource::Key(key), ..self }
    }

    /// Returns the key of every random choice: derived from the secret and the seed. Fails where no secret is given and
    /// none can be kept.
    pub fn release_key(&self) -> Result<ReleaseKey, PolicyError> {
        let secret = match &self.key {
            KeySource::Key(key) => return Ok(*key),
            KeySource::Secret(secret) => secret.clone(),
            KeySource::User => Secret::of_user()?,
        };
        Ok(ReleaseKey::new(secret.bytes(), self.algorithm.seed))
    }
}

/// Where the table comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Files, folders, globs or URLs; at least one, with environment variables put in.
    pub locations: Vec<String>,
    /// The format of the files; by default their extension tells.
    pub format: Option<Format>,
    /// How CSV files are read.
    pub csv: CsvOptions,
}

/// How CSV files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// The byte between two fields.
    pub delimiter: u8,
    /// Whether the first line has the names of the columns.
    pub header: bool,
}

/// Commas, and a header.
impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', header: true }
    }
}

/// Where the release goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// A folder or URL, with environment variables put in.
    pub location: String,
    /// What happens when it already holds a release.
    pub mode: Mode,
    /// Whether a report is published with it.
    pub report: bool,
    /// The most rows of a file; at least one.
    pub rows_per_file: u64,
    /// How a release on an object store becomes visible.
    pub commit: Commit,
}

/// What the release promises: `1 <= p <= k` and `2 <= k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacySettings {
    /// The preset that k was taken from, or that k is at least that of.
    pub preset: Option<Preset>,
    /// The least number of rows in a class.
    pub k: u64,
    /// The least number of distinct values of each sensitive column in a class, unless the column has its own.
    pub p: u64,
    /// The least weight of the categories of a class; finite and not negative. Some column has categories then.
    pub alpha: Option<f64>,
    /// The largest share of the rows of the input that may be suppressed, from 0 to 1.
    pub suppression_limit: Option<f64>,
}

/// How the release is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// How the table is cut into parts.
    pub partition: PartitionSetting,
    /// How the rows of a part become classes.
    pub cluster: ClusterSetting,
    /// How long the search for better classes may go on.
    pub budget: Budget,
    /// Drives every random choice.
    pub seed: u64,
}

/// What the columns mean. At least one is a quasi-identifier.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Whether columns that the policy does not name are left out of the release, instead of being an error.
    pub drop_unlisted: bool,
    /// The roles by exact name, in the order of the file; a column that is called `default` comes last.
    pub by_name: Vec<(String, Role)>,
}

/// What a column says about a person.
#[derive(Clone, Debug)]
pub enum Role {
    /// Names the person; left out of the release.
    Identifier,
    /// Says nothing that needs protection; released as it is.
    Insensitive,
    /// What must not be learned; counted by p.
    Sensitive(Sensitive),
    /// Enough to find the person together with others; generalized.
    Quasi(Quasi),
}

/// How a quasi-identifier is generalized.
#[derive(Clone, Debug)]
pub struct Quasi {
    /// How it is written; none leaves the choice to its type. Never an ordered release together with a hierarchy.
    pub release: Option<ColumnRecoding>,
    /// Its weight in the loss; finite and greater than zero.
    pub weight: f64,
    /// What happens to its nulls.
    pub nulls: Nulls,
    /// How its values become less specific.
    pub hierarchy: Option<Arc<HierarchySpec>>,
    /// How far it may be generalized. Fits the hierarchy, as far as that is known without data; whether it also fits
    /// the release is only known together with the type.
    pub limit: Option<Limit>,
}

/// What is promised about a sensitive column, and how it is released.
#[derive(Clone, Debug, Default)]
pub struct Sensitive {
    /// Its own p, from 1 to k, in place of that of the policy. Either is at most the number of its categories.
    pub p: Option<u64>,
    /// The values of its hierarchy, other than the root, that must not be learned either. The hierarchy is a tree.
    pub protection: Option<Arc<Protection>>,
    /// Its values in categories, the most sensitive first.
    pub categories: Option<Arc<Categories>>,
    /// How it is written; the value where it has no categories.
    pub release: SensitiveRelease,
}

/// How a sensitive column is written into the release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SensitiveRelease {
    /// The value as it is.
    #[default]
    Value,
    /// The name of its category in place of the value.
    Category,
    /// The value as it is, and its category in a column of its own.
    Both,
}

impl SensitiveRelease {
    /// The names that a column has in the release.
    pub fn released_names(self, name: &str) -> Vec<String> {
        match self {
            Self::Value | Self::Category => vec![name.to_owned()],
            Self::Both => vec![name.to_owned(), Self::category_name(name)],
        }
    }

    /// The name of the column that shows the category beside the value.
    pub fn category_name(name: &str) -> String {
        format!("{name}_category")
    }
}
