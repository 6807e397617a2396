//! Supported table features, and those that are refused by name.

use super::action::{DeltaProtocol, TableMetadata};
use super::{damaged, unsupported};
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// The highest version of the protocol of readers, in which features are listed by name.
const LISTED_FEATURES: i64 = 3;

/// Setting of tables whose columns have other names in their files.
const COLUMN_MAPPING: &str = "delta.columnMapping.mode";

/// Features that require nothing of a reader, or that are checked where they are used: a deletion vector at the file that has
/// one, column mapping by the mode of the table, a checkpoint of the second version when it would have to be read.
const READ: [&str; 5] = ["deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"];

/// Features of the table of a release; it has no others.
const WRITTEN: [&str; 1] = [TIMESTAMP_NTZ];

/// The feature of timestamps without time zone.
pub(super) const TIMESTAMP_NTZ: &str = "timestampNtz";

/// Returns an error if a table must not be read by a reader that supports only [`READ`].
pub(super) fn check_readable(
    table: &StorePath,
    protocol: &DeltaProtocol,
    metadata: &TableMetadata,
) -> Result<(), JobError> {
    let advice = "read it with an engine that knows the feature, and write a copy without it";
    match protocol.min_reader_version {
        1 | 2 => {}
        LISTED_FEATURES => {
            let Some(features) = &protocol.reader_features else {
                return Err(damaged(table, "its protocol lists no features"));
            };
            if let Some(unknown) = features.iter().find(|feature| !READ.contains(&feature.as_str())) {
                return Err(unsupported(table, &format!("the reader feature `{unknown}`"), advice));
            }
        }
        version => {
            return Err(unsupported(table, &format!("the version {version} of the reader protocol"), advice));
        }
    }
    if let Some(mode) = metadata.setting(COLUMN_MAPPING).filter(|mode| *mode != "none") {
        return Err(unsupported(table, &format!("column mapping (`{COLUMN_MAPPING}` = `{mode}`)"), advice));
    }
    if metadata.format.provider != "parquet" {
        return Err(unsupported(table, &format!("files of the format `{}`", metadata.format.provider), advice));
    }
    Ok(())
}

/// Returns the protocol of the next version of a table of releases. Protocol versions never decrease.
pub(super) fn next_protocol(
    table: &StorePath,
    old: Option<&DeltaProtocol>,
    has_local_times: bool,
) -> Result<DeltaProtocol, JobError> {
    let plain =
        DeltaProtocol { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None };
    let listed = DeltaProtocol {
        min_reader_version: LISTED_FEATURES,
        min_writer_version: 7,
        reader_features: Some(vec![TIMESTAMP_NTZ.to_owned()]),
        writer_features: Some(vec![TIMESTAMP_NTZ.to_owned()]),
    };
    let known =
        |features: &Option<Vec<String>>| features.iter().flatten().all(|feature| WRITTEN.contains(&feature.as_str()));
    match old {
        Some(old) if old.min_reader_version > 1 || old.min_writer_version > 2 => {
            let is_known = (old.min_reader_version, old.min_writer_version) == (LISTED_FEATURES, 7)
                && known(&old.reader_features)
                && known(&old.writer_features);
            match is_known {
                true => Ok(listed),
                false => {
                    let text = format!("the protocol of the Delta table {table} was changed by another program");
                    Err(JobError::new(Kind::BadPolicy, format!("{text}; choose another location for the release")))
                }
            }
        }
        _ if has_local_times => Ok(listed),
        _ => Ok(plain),
    }
}
