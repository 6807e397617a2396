//! The manifest: which files are the release. Readers who go by it never see half of one.

use serde::{Deserialize, Serialize};

/// The version of the manifest's shape.
pub(crate) const SCHEMA_VERSION: u32 = 1;

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
    /// The files of the release.
    pub files: Vec<FileEntry>,
}

/// One data file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
