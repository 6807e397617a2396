//! A policy after validation: what the file means, before any data is seen.

use std::sync::Arc;

use throng_core::columns::{Nulls, Release};
use throng_core::hierarchy::HierarchySpec;

use crate::document::Document;
use crate::settings::{Cluster, Format, Mode, Partition};

/// A valid policy with the overrides of the command line in effect. Made by [`Policy::load`] and [`Policy::parse`].
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where the table comes from.
    pub input: Input,
    /// Where the release goes.
    pub output: Output,
    /// What the release promises.
    pub privacy: PrivacySettings,
    /// How the release is computed.
    pub algorithm: Algorithm,
    /// What the columns mean.
    pub columns: Columns,
    /// Keeps the places of the file for problems that only show against a schema.
    pub(crate) document: Arc<Document>,
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

/// Where the release goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// A folder or URL, with environment variables put in.
    pub location: String,
    /// What happens when it already holds a release.
    pub mode: Mode,
}

/// What the release promises: `1 <= p <= k` and `2 <= k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivacySettings {
    /// The least number of rows in a class.
    pub k: u64,
    /// The least number of distinct values of each sensitive column in a class.
    pub p: u64,
}

/// How the release is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// How the table is cut into parts.
    pub partition: Partition,
    /// How the rows of a part become classes.
    pub cluster: Cluster,
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
    /// What must not be learned; released as it is, and counted by p.
    Sensitive,
    /// Enough to find the person together with others; generalized.
    Quasi(Quasi),
}

/// How a quasi-identifier is generalized.
#[derive(Clone, Debug)]
pub struct Quasi {
    /// How it is written; none leaves the choice to its type. Never an interval or bounds together with a hierarchy.
    pub release: Option<Release>,
    /// Its weight in the loss; finite and greater than zero.
    pub weight: f64,
    /// What happens to its nulls.
    pub nulls: Nulls,
    /// How its values become less specific.
    pub hierarchy: Option<Arc<HierarchySpec>>,
}
