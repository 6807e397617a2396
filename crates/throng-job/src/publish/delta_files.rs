//! The files of a Delta table of releases: those of its versions, and those that may be removed.
//!
//! | file | removed when |
//! |---|---|
//! | of the latest version | never |
//! | of an earlier version | it was replaced longer ago than the table keeps files for readers |
//! | `part-<run>-*.parquet` that no version names | it is older than a day; or a later run has committed, since a run that started from an older version can't commit any more |

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use object_store::ObjectMeta;
use object_store::path::Path;

use super::orphans::{HiddenObjects, is_of_a_run};
use super::writing;
use crate::delta::entry::RETENTION;
use crate::delta::{DeltaHistory, DeltaLog, LOG};
use crate::error::JobError;
use crate::job::JobOptions;
use crate::session::session;
use crate::store_path::StorePath;

/// Files at an output that is, or becomes, a Delta table.
#[derive(Debug)]
pub(crate) struct DeltaFiles {
    /// Versions of the table, if there is one.
    pub(crate) table: Option<DeltaHistory>,
    /// Files of earlier versions that no reader needs any more.
    pub(crate) expired: Vec<Path>,
    /// Data files of runs that no version names.
    pub(super) unlisted: Vec<ObjectMeta>,
    /// Staged objects and probes.
    hidden: HiddenObjects,
    /// Whether there are other objects.
    pub(super) has_files_of_others: bool,
    /// Number of versions, including the latest, that will be readable by time travel after another version is committed and
    /// expired files are removed.
    pub(super) readable_versions: u64,
    /// Number of releases among these: versions with different files.
    pub(super) readable_releases: u64,
}

impl DeltaFiles {
    /// Lists everything below an output, and reads the log.
    pub(crate) async fn look(output: &StorePath, now: SystemTime) -> Result<Self, JobError> {
        let table = match DeltaLog::list(output).await? {
            Some(log) => Some(DeltaHistory::read(&session(&JobOptions::default())?, &log).await?),
            None => None,
        };
        let failed = |error| writing(format!("looking at {output}"), &error);
        let listed: Vec<ObjectMeta> = output.store.list(Some(&output.path)).try_collect().await.map_err(failed)?;
        let active: BTreeSet<&str> =
            table.iter().flat_map(|table| &table.latest.files).map(|file| file.path.as_str()).collect();
        let is_expired = |removed: i64| {
            let removed = SystemTime::UNIX_EPOCH + Duration::from_millis(removed.try_into().unwrap_or_default());
            now.duration_since(removed).is_ok_and(|age| age > RETENTION)
        };
        let (mut expired, mut unlisted, mut hidden) = (Vec::new(), Vec::new(), HiddenObjects::default());
        let mut has_files_of_others = false;
        let mut kept: BTreeSet<String> = BTreeSet::new();
        for object in listed {
            let below = object.location.prefix_match(&output.path).into_iter().flatten();
            let parts: Vec<String> = below.map(|part| part.as_ref().to_owned()).collect();
            match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                // Some tools create an empty object with the name of a folder.
                [] if object.size == 0 => {}
                [LOG | "_throng", ..] => hidden.add(&parts, object),
                [name] if active.contains(name) => {
                    kept.insert((*name).to_owned());
                }
                [name] if is_of_a_run(name) => match table.as_ref().and_then(|table| table.removed.get(*name)) {
                    Some(removed) if is_expired(*removed) => expired.push(object.location),
                    Some(_) => {
                        kept.insert((*name).to_owned());
                    }
                    None => unlisted.push(object),
                },
                _ => has_files_of_others = true,
            }
        }
        let versions = table.iter().flat_map(|table| {
            let latest = table.latest.files.iter().map(|file| file.path.clone()).collect();
            table.earlier.iter().cloned().chain([latest])
        });
        let readable = versions.filter(|files: &Vec<String>| files.iter().any(|file| kept.contains(file)));
        let readable: Vec<Vec<String>> = readable.collect();
        let readable_versions = readable.len() as u64;
        let readable_releases = readable.iter().collect::<BTreeSet<_>>().len() as u64;
        Ok(Self { expired, unlisted, hidden, has_files_of_others, readable_versions, readable_releases, table })
    }

    /// Returns everything that dead runs have left behind, and the number of runs that may be alive. A run is dead when all of its
    /// objects are older than `lifetime`.
    pub(crate) fn dead(&self, lifetime: Duration, now: SystemTime) -> (Vec<ObjectMeta>, usize) {
        self.hidden.dead(&self.unlisted, lifetime, now)
    }
}
