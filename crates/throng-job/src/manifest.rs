//! The manifest: which files are the release. Readers who go by it never see half of one.

use serde::{Deserialize, Serialize};
use throng_policy::Policy;

use crate::error::JobError;
use crate::write::hexadecimal;

/// The version of the manifest's shape.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Where the manifest is, below the output location.
pub(crate) const MANIFEST: &str = "_throng/manifest.json";

/// `_throng/manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this shape.
    pub schema_version: u32,
    /// The version of Throng that wrote the release.
    pub throng_version: String,
    /// The run that wrote it.
    pub run_id: String,
    /// The digest of the policy in effect, locations left out.
    pub policy_digest: String,
    /// The digest of which files were read, in which version; none where that could not be told. It holds nothing of
    /// their content, and tells whether a run would find the same input again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<String>,
    /// The files of the release.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// Understands a manifest of this version. All that it lists lies directly in the release, under a visible name, so
    /// that a document from elsewhere can't point at anything outside.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let manifest: Self = serde_json::from_slice(bytes).ok()?;
        let is_plain = |path: &str| !path.is_empty() && !path.contains(['/', '\\']) && !path.starts_with(['_', '.']);
        let is_known =
            manifest.schema_version == SCHEMA_VERSION && manifest.files.iter().all(|file| is_plain(&file.path));
        is_known.then_some(manifest)
    }

    /// Whether a file of this name is part of the release.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.path == name)
    }
}

/// One data file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path below the output location.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Returns the keyed digest of a policy. Without the secret it can't be compared with that of a guessed policy.
pub(crate) fn policy_digest(policy: &Policy) -> Result<String, JobError> {
    Ok(hexadecimal(&policy.release_key()?.derive("policy digest", policy.canonical_json().as_bytes()).to_bytes()))
}

/// Returns the keyed digest of which files were read, in which version.
pub(crate) fn input_digest(policy: &Policy, identity: &str) -> Result<String, JobError> {
    Ok(hexadecimal(&policy.release_key()?.derive("input digest", identity.as_bytes()).to_bytes()))
}
