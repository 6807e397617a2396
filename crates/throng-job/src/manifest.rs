//! The manifest: the list of the files of a release. Readers that use it never see a partial release.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use throng_policy::Policy;
use throng_report::document::AppendTotals;

use crate::error::JobError;
use crate::write::hexadecimal;

/// Version of the manifest's schema.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Path of the manifest below the output location.
pub(crate) const MANIFEST: &str = "_throng/manifest.json";

/// Content of `_throng/manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the schema of the manifest.
    pub schema_version: u32,
    /// Version of Throng that wrote the release.
    pub throng_version: String,
    /// Id of the run that wrote it.
    pub run_id: String,
    /// Digest of the policy in effect, without locations.
    pub policy_digest: String,
    /// Keyed digest of the input files and their versions; `None` where versions could not be distinguished. It does
    /// not depend on their content, and shows whether a run would read the same input again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<String>,
    /// Version of the Delta table that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_version: Option<u64>,
    /// Version of the Delta table that is the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_version: Option<u64>,
    /// The files of the release.
    pub files: Vec<FileEntry>,
    /// Folders in which replaced releases had data files. A run that is killed after its commit leaves these files; the next run
    /// recognizes and removes them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub replaced_folders: BTreeSet<String>,
    /// Input files of a release that was appended to; `None` for any other release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appended: Option<AppendedInputs>,
}

/// Input files of a release that was appended to. Digests are keyed: without the secret they can't be compared with
/// those of a guess.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendedInputs {
    /// Number of runs that have added rows to the release.
    pub appends: u64,
    /// Digest of the names and types of the released columns.
    pub columns: String,
    /// The input files whose rows the release has.
    pub files: Vec<AppendedFile>,
    /// Sums over all appends; `None` if an append by an earlier version did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<AppendTotals>,
}

/// An input file whose rows a release has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendedFile {
    /// Digest of its location.
    pub place: String,
    /// Digest of its location, size, time and tag; `None` where these could not distinguish two versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Digest of its bytes.
    pub content: String,
}

impl Manifest {
    /// Creates the manifest of a release that was made by a run of this version and is no Delta table.
    pub(crate) fn new(run_id: &str, policy_digest: &str, files: Vec<FileEntry>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            throng_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run_id.to_owned(),
            policy_digest: policy_digest.to_owned(),
            input_digest: None,
            input_version: None,
            table_version: None,
            files,
            replaced_folders: BTreeSet::new(),
            appended: None,
        }
    }

    /// Parses a manifest of this version. All listed files must lie directly in the release or in a folder of it, under visible
    /// names, so that a forged document can't refer to anything outside.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(bytes).ok()?;
        let is_name = |name: &str| !name.is_empty() && !name.contains('\\') && !name.starts_with(['_', '.']);
        let is_plain = |path: &str| path.split('/').count() <= 2 && path.split('/').all(is_name);
        let is_folder = |name: &String| is_name(name) && !name.contains('/');
        let is_known = manifest.schema_version == SCHEMA_VERSION
            && manifest.files.iter().all(|file| is_plain(&file.path))
            && manifest.replaced_folders.iter().all(is_folder);
        is_known.then_some(manifest)
    }

    /// Returns the names of the folders of the release that have files: one for each of several tables, or that of all data files.
    pub(crate) fn folders(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(|file| Some(file.path.split_once('/')?.0)).collect()
    }

    /// Returns the names of all folders in which this release or one that it replaced may have files.
    pub(crate) fn used_folders(&self) -> BTreeSet<&str> {
        self.folders().into_iter().chain(self.replaced_folders.iter().map(String::as_str)).collect()
    }

    /// Whether all files of one table lie in this folder of the release; `None` is the release itself.
    pub(crate) fn is_in(&self, data_folder: Option<&str>) -> bool {
        self.files.iter().all(|file| file.path.split_once('/').map(|(folder, _)| folder) == data_folder)
    }

    /// Whether the release has a file of this name.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.path == name)
    }
}

/// A data file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path below the output location.
    pub path: String,
    /// Number of rows of the file.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Returns the keyed digest of a policy. Without the secret it can't be compared with the digest of a guessed policy.
pub(crate) fn policy_digest(policy: &Policy) -> Result<String, JobError> {
    Ok(hexadecimal(&policy.release_key()?.derive("policy digest", policy.canonical_json().as_bytes()).to_bytes()))
}

/// Returns the keyed digest of the input files and their versions.
pub(crate) fn input_digest(policy: &Policy, identity: &str) -> Result<String, JobError> {
    Ok(hexadecimal(&policy.release_key()?.derive("input digest", identity.as_bytes()).to_bytes()))
}
