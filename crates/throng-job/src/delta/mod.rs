//! The log of a Delta table: reads the state of a version, and writes the entry of the next one.
//!
//! A table is a folder of Parquet files and a log, `_delta_log/`, of numbered entries. An entry adds and removes files, and the
//! files of a version are those that were added and not removed up to it. A file that no entry names is invisible, so an
//! entry that is created exclusively is an atomic commit.
//!
//! The protocol is small as long as files are read whole, so the log is parsed here instead of by a library. Every feature
//! that would change the meaning of a file is refused by name: deletion vectors, column mapping, and every reader feature that
//! is not listed in [`protocol`].
//!
//! | file | content |
//! |---|---|
//! | `action` | the lines of an entry |
//! | `log` | the files of the log, and the choice of a version |
//! | `checkpoint` | the state of a version in Parquet files |
//! | `snapshot` | the files of a version, by replaying the log |
//! | `protocol` | supported features |
//! | `types` | types of columns |
//! | `entry` | the entry of a release |

mod action;
mod checkpoint;
pub(crate) mod entry;
mod log;
mod protocol;
mod snapshot;
mod types;

pub(crate) use action::AddFile;
pub(crate) use entry::{is_of_throng, run_id_of};
pub(crate) use log::{DeltaLog, LOG, entry_name};
pub(crate) use snapshot::{DeltaHistory, DeltaSnapshot};
pub(crate) use types::{DeltaField, check_releasable, parse_schema, partition_value};

use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// Returns the error for a log that contradicts the protocol.
fn damaged(table: &StorePath, what: &str) -> JobError {
    let text = format!("the log of the Delta table {table} is damaged: {what}");
    JobError::new(Kind::BadData, format!("{text}; restore it, or write the table again"))
}

/// Returns the error for a table with an unsupported feature.
fn unsupported(table: &StorePath, what: &str, advice: &str) -> JobError {
    JobError::new(Kind::BadData, format!("the Delta table {table} has {what}, which is not supported; {advice}"))
}
