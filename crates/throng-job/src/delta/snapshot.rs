//! The state of a version, by replaying the log.

use std::collections::BTreeMap;

use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};

use super::action::{AddFile, DeletionVector, DeltaProtocol, LogAction, TableMetadata};
use super::checkpoint::read_checkpoint;
use super::log::{DeltaLog, LogSegment};
use super::protocol::check_readable;
use super::{damaged, unsupported};
use crate::error::JobError;

/// Number of entries that are read concurrently.
const CONCURRENT_ENTRIES: usize = 16;

/// Identity of a file of a table.
type FileKey = (String, Option<DeletionVector>);

/// The state of a table in one version.
#[derive(Clone, Debug)]
pub(crate) struct DeltaSnapshot {
    pub(crate) version: u64,
    pub(crate) protocol: DeltaProtocol,
    pub(crate) metadata: TableMetadata,
    /// Files with their percent-encoded paths, in their order.
    pub(crate) files: Vec<AddFile>,
}

/// The versions of a table that can still be read, for its next writer.
#[derive(Debug)]
pub(crate) struct DeltaHistory {
    pub(crate) latest: DeltaSnapshot,
    /// Files of each earlier version.
    pub(crate) earlier: Vec<Vec<String>>,
    /// When files were removed, in milliseconds since 1970; those of the latest version are not among them.
    pub(crate) removed: BTreeMap<String, i64>,
    /// Run of Throng that wrote the latest version; `None` if another program did.
    pub(crate) latest_run: Option<String>,
    /// Run of Throng that wrote the files of the latest version; `None` if another program did, or the log no longer says.
    pub(crate) files_run: Option<String>,
}

impl DeltaSnapshot {
    /// Reads the state of a version. Returns an error for a table with unsupported features.
    pub(crate) async fn read(session: &SessionContext, log: &DeltaLog, version: u64) -> Result<Self, JobError> {
        let segment = log.segment(version)?;
        let mut state = ReplayState::default();
        replay(session, log, &segment, |_, actions| state.apply(actions)).await?;
        let snapshot = state.snapshot(log, version)?;
        check_readable(&log.table, &snapshot.protocol, &snapshot.metadata)?;
        if snapshot.files.iter().any(|file| file.deletion_vector.is_some()) {
            let advice =
                "rewrite the files without deleted rows (`REORG TABLE … APPLY (PURGE)`, or a copy of the table)";
            return Err(unsupported(&log.table, "deletion vectors", advice));
        }
        Ok(snapshot)
    }
}

impl DeltaHistory {
    /// Reads all versions that can still be read.
    pub(crate) async fn read(session: &SessionContext, log: &DeltaLog) -> Result<Self, JobError> {
        let version = log.latest();
        let segment = log.longest_segment(version)?;
        let mut state = ReplayState::default();
        let mut versions: Vec<Vec<String>> = Vec::new();
        let (mut latest_run, mut files_run) = (None, None);
        replay(session, log, &segment, |_, actions| {
            latest_run = actions.iter().find_map(|action| action.commit_info.as_ref()?.throng_run_id.clone());
            // Some programs write a separate entry when they have vacuumed files.
            if actions.iter().any(|action| action.add.is_some() || action.remove.is_some()) {
                files_run.clone_from(&latest_run);
            }
            state.apply(actions);
            versions.push(state.files.keys().map(|(path, _)| path.clone()).collect());
        })
        .await?;
        versions.pop();
        let removed = std::mem::take(&mut state.removed);
        Ok(Self { latest: state.snapshot(log, version)?, earlier: versions, removed, latest_run, files_run })
    }
}

/// State of a replay so far.
#[derive(Debug, Default)]
struct ReplayState {
    protocol: Option<DeltaProtocol>,
    metadata: Option<TableMetadata>,
    files: BTreeMap<FileKey, AddFile>,
    removed: BTreeMap<String, i64>,
    has_second_checkpoint: bool,
}

impl ReplayState {
    /// Applies one version. An entry never adds and removes the same file with the same deletion vector.
    fn apply(&mut self, actions: Vec<LogAction>) {
        let mut added = Vec::new();
        for action in actions {
            self.protocol = action.protocol.or(self.protocol.take());
            self.metadata = action.metadata.or(self.metadata.take());
            self.has_second_checkpoint |= action.sidecar.is_some() || action.checkpoint_metadata.is_some();
            if let Some(remove) = action.remove {
                self.removed.insert(remove.path.clone(), remove.deletion_timestamp.unwrap_or_default());
                self.files.remove(&(remove.path, remove.deletion_vector));
            }
            added.extend(action.add);
        }
        for add in added {
            self.removed.remove(&add.path);
            self.files.insert((add.path.clone(), add.deletion_vector.clone()), add);
        }
    }

    fn snapshot(self, log: &DeltaLog, version: u64) -> Result<DeltaSnapshot, JobError> {
        let table = &log.table;
        if self.has_second_checkpoint {
            let advice = "set its table property `delta.checkpointPolicy` to `classic`, and write a checkpoint";
            return Err(unsupported(table, "a checkpoint of the second version (`v2Checkpoint`)", advice));
        }
        let protocol = self.protocol.ok_or_else(|| damaged(table, "it has no protocol"))?;
        let metadata = self.metadata.ok_or_else(|| damaged(table, "it has no metadata"))?;
        Ok(DeltaSnapshot { version, protocol, metadata, files: self.files.into_values().collect() })
    }
}

/// Calls `visit` with the actions of a checkpoint and of each entry after it, in the order of versions.
async fn replay(
    session: &SessionContext,
    log: &DeltaLog,
    segment: &LogSegment<'_>,
    mut visit: impl FnMut(u64, Vec<LogAction>),
) -> Result<(), JobError> {
    if let Some((version, parts)) = &segment.checkpoint {
        visit(*version, read_checkpoint(session, &log.table, parts).await?);
    }
    let entries = segment.commits.iter().map(|(version, object)| {
        let (version, object) = (*version, (*object).clone());
        async move { Ok::<_, JobError>((version, log.read_entry(&object).await?)) }
    });
    let mut entries = futures::stream::iter(entries.collect::<Vec<_>>()).buffered(CONCURRENT_ENTRIES);
    while let Some((version, actions)) = entries.try_next().await? {
        visit(version, actions);
    }
    Ok(())
}
