//! The lines of a log entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line of a log entry. Exactly one field is set; fields that are not listed here do not change which rows a version has.
#[derive(Debug, Default, Deserialize)]
pub(super) struct LogAction {
    pub(super) protocol: Option<DeltaProtocol>,
    #[serde(rename = "metaData")]
    pub(super) metadata: Option<TableMetadata>,
    pub(super) add: Option<AddFile>,
    pub(super) remove: Option<RemoveFile>,
    #[serde(rename = "commitInfo")]
    pub(super) commit_info: Option<CommitInfo>,
    /// A file of a checkpoint of the second version, which holds further actions.
    pub(super) sidecar: Option<serde::de::IgnoredAny>,
    #[serde(rename = "checkpointMetadata")]
    pub(super) checkpoint_metadata: Option<serde::de::IgnoredAny>,
}

/// Versions and features that a reader and a writer must support.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeltaProtocol {
    pub(crate) min_reader_version: i64,
    pub(crate) min_writer_version: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reader_features: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) writer_features: Option<Vec<String>>,
}

/// Identity, schema and settings of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableMetadata {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) format: FileFormatName,
    /// The schema as JSON text.
    pub(crate) schema_string: String,
    #[serde(default)]
    pub(crate) partition_columns: Vec<String>,
    #[serde(default)]
    pub(crate) configuration: BTreeMap<String, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_time: Option<i64>,
}

impl TableMetadata {
    /// Returns a setting of the table.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.configuration.get(name)?.as_deref()
    }
}

/// The format of the files of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FileFormatName {
    pub(crate) provider: String,
    #[serde(default)]
    pub(crate) options: BTreeMap<String, Option<String>>,
}

impl Default for FileFormatName {
    fn default() -> Self {
        Self { provider: "parquet".to_owned(), options: BTreeMap::new() }
    }
}

/// A file that a version adds.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddFile {
    /// Path below the table, or a URL, percent-encoded.
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) partition_values: BTreeMap<String, Option<String>>,
    pub(crate) size: i64,
    pub(crate) deletion_vector: Option<DeletionVector>,
}

/// A file that a version removes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoveFile {
    pub(super) path: String,
    /// Milliseconds since 1970.
    pub(super) deletion_timestamp: Option<i64>,
    pub(super) deletion_vector: Option<DeletionVector>,
}

/// Rows of a file that are deleted. Part of the identity of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletionVector {
    storage_type: String,
    path_or_inline_dv: String,
    offset: Option<i64>,
}

/// The origin of a version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitInfo {
    /// Milliseconds since 1970, where the table records times in its log.
    pub(super) in_commit_timestamp: Option<i64>,
    /// Run of Throng that made the version.
    pub(super) throng_run_id: Option<String>,
}

/// Parses the lines of an entry. `None` if a line is not an action.
pub(super) fn parse_lines(bytes: &[u8]) -> Option<Vec<LogAction>> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.map(|line| serde_json::from_slice(line).ok()).collect()
}
