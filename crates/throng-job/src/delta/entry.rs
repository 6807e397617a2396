//! The log entry of a release, which replaces all files of the version before.

use std::collections::BTreeMap;
use std::time::Duration;

use arrow::datatypes::Schema;
use serde_json::{Value, json};

use super::action::{FileFormatName, TableMetadata, parse_lines};
use super::protocol::next_protocol;
use super::snapshot::DeltaSnapshot;
use super::types::{has_local_times, schema_string};
use crate::error::JobError;
use crate::manifest::Manifest;
use crate::store_path::StorePath;

/// How long the files of a replaced release are kept for readers that have begun to read it.
pub(crate) const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The setting of [`RETENTION`], by which other programs remove files too.
const RETENTION_SETTING: (&str, &str) = ("delta.deletedFileRetentionDuration", "interval 1 hours");

/// Setting of the tables of releases.
const RELEASE_SETTING: &str = "throng.release";

/// Setting of tables from which nothing may be removed.
const APPEND_ONLY: &str = "delta.appendOnly";

/// Whether a table holds releases, which a later release may replace.
pub(crate) fn is_of_throng(table: &TableMetadata) -> bool {
    table.setting(RELEASE_SETTING).is_some() && table.setting(APPEND_ONLY) != Some("true")
}

/// Returns the run id in an entry; empty if another program wrote it.
pub(crate) fn run_id_of(entry: &[u8]) -> String {
    let infos = parse_lines(entry).into_iter().flatten().filter_map(|action| action.commit_info);
    infos.filter_map(|info| info.throng_run_id).next().unwrap_or_default()
}

/// Returns the entry of a release: its files, and the removal of those of the version that it replaces. It holds no column
/// statistics, and nothing about the input.
pub(crate) fn release_entry(
    table: &StorePath,
    replaced: Option<&DeltaSnapshot>,
    manifest: &Manifest,
    schema: &Schema,
    now_millis: i64,
) -> Result<Vec<u8>, JobError> {
    let unwritable = || JobError::internal("a release has a column that its table can't have");
    let has_local_times = schema.fields().iter().any(|field| has_local_times(field.data_type()));
    let protocol = next_protocol(table, replaced.map(|table| &table.protocol), has_local_times)?;
    let settings = [RETENTION_SETTING, (RELEASE_SETTING, "1")];
    let metadata = TableMetadata {
        id: replaced.map_or_else(|| uuid::Uuid::new_v4().to_string(), |table| table.metadata.id.clone()),
        format: FileFormatName::default(),
        schema_string: schema_string(schema).ok_or_else(unwritable)?,
        partition_columns: Vec::new(),
        configuration: BTreeMap::from(settings.map(|(name, value)| (name.to_owned(), Some(value.to_owned())))),
        created_time: replaced.map_or(Some(now_millis), |table| table.metadata.created_time),
    };
    let mode = if replaced.is_some() { "Overwrite" } else { "ErrorIfExists" };
    let origin = json!({
        "timestamp": now_millis,
        "operation": "WRITE",
        "operationParameters": { "mode": mode, "partitionBy": "[]" },
        "isBlindAppend": replaced.is_none(),
        "engineInfo": concat!("Throng/", env!("CARGO_PKG_VERSION")),
        "throngRunId": manifest.run_id,
        "throngPolicyDigest": manifest.policy_digest,
    });
    let mut lines =
        vec![json!({ "commitInfo": origin }), json!({ "protocol": protocol }), json!({ "metaData": metadata })];
    let old = replaced.iter().flat_map(|table| &table.files);
    lines.extend(old.map(|file| {
        json!({ "remove": {
            "path": file.path,
            "deletionTimestamp": now_millis,
            "dataChange": true,
            "extendedFileMetadata": true,
            "partitionValues": {},
            "size": file.size,
        } })
    }));
    lines.extend(manifest.files.iter().map(|file| {
        json!({ "add": {
            "path": file.path,
            "partitionValues": {},
            "size": file.bytes,
            "modificationTime": now_millis,
            "dataChange": true,
            "stats": json!({ "numRecords": file.rows }).to_string(),
        } })
    }));
    Ok(lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n").into_bytes())
}
