//! The files of a log, and the choice of a version.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStoreExt};
use throng_policy::TablePin;

use super::action::{CommitInfo, LogAction, parse_lines};
use super::{damaged, unsupported};
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// Folder of the log below a table.
pub(crate) const LOG: &str = "_delta_log";

/// The files of a log. Summaries of several entries (`*.compacted.json`), checksums and the hint to the last checkpoint repeat what
/// is in these, and are not used.
#[derive(Debug)]
pub(crate) struct DeltaLog {
    pub(super) table: StorePath,
    /// Entries by version.
    commits: BTreeMap<u64, ObjectMeta>,
    /// Checkpoints by version: their parts by number, and the number of parts.
    checkpoints: BTreeMap<(u64, u64), BTreeMap<u64, ObjectMeta>>,
    /// Versions with a checkpoint of the second version.
    second_checkpoints: Vec<u64>,
}

/// A file of a Delta log, as far as its name tells.
enum LogFile {
    Commit(u64),
    /// Version, number of the part, number of parts.
    Checkpoint(u64, u64, u64),
    SecondCheckpoint(u64),
}

/// The checkpoint at which a replay begins, if any, and the entries that follow.
pub(super) struct LogSegment<'a> {
    pub(super) checkpoint: Option<(u64, Vec<&'a ObjectMeta>)>,
    pub(super) commits: Vec<(u64, &'a ObjectMeta)>,
}

impl DeltaLog {
    /// Lists the log of a table; `None` if there is no table.
    pub(crate) async fn list(table: &StorePath) -> Result<Option<Self>, JobError> {
        let log = table.child(LOG);
        let failed = |error| JobError::storage(format!("listing {log}"), &error);
        let listed: Vec<ObjectMeta> = log.store.list(Some(&log.path)).try_collect().await.map_err(failed)?;
        let (mut commits, mut second_checkpoints) = (BTreeMap::new(), Vec::new());
        let mut checkpoints: BTreeMap<(u64, u64), BTreeMap<u64, ObjectMeta>> = BTreeMap::new();
        for object in listed {
            let below: Vec<_> = object.location.prefix_match(&log.path).into_iter().flatten().collect();
            let [name] = below.as_slice() else { continue };
            match log_file(name.as_ref()) {
                Some(LogFile::Commit(version)) => {
                    commits.insert(version, object);
                }
                Some(LogFile::Checkpoint(version, part, parts)) => {
                    checkpoints.entry((version, parts)).or_default().insert(part, object);
                }
                Some(LogFile::SecondCheckpoint(version)) => second_checkpoints.push(version),
                None => {}
            }
        }
        checkpoints.retain(|(_, parts), found| found.len() as u64 == *parts);
        let is_empty = commits.is_empty() && checkpoints.is_empty() && second_checkpoints.is_empty();
        Ok((!is_empty).then(|| Self { table: table.clone(), commits, checkpoints, second_checkpoints }))
    }

    /// Returns the latest version.
    pub(crate) fn latest(&self) -> u64 {
        let checkpoint = self.checkpoints.keys().next_back().map(|(version, _)| *version);
        let commit = self.commits.keys().next_back().copied();
        checkpoint.max(commit).max(self.second_checkpoints.iter().max().copied()).unwrap_or_default()
    }

    /// Returns the version that a pin selects.
    pub(crate) async fn select(&self, pin: TablePin) -> Result<u64, JobError> {
        let (table, latest) = (&self.table, self.latest());
        match pin {
            TablePin::Latest => Ok(latest),
            TablePin::Version(version) if version <= latest => Ok(version),
            TablePin::Version(version) => {
                let text = format!("the Delta table {table} has no version {version}; its latest is {latest}");
                Err(JobError::new(Kind::NoInput, text))
            }
            TablePin::AsOf(time) if time > Utc::now() => {
                let text = "`as_of` under [input] is in the future, when there may be later versions";
                Err(JobError::new(Kind::BadPolicy, format!("{text}; choose a time that has passed")))
            }
            TablePin::AsOf(time) => self.as_of(time).await?.ok_or_else(|| {
                let time = time.to_rfc3339_opts(SecondsFormat::Millis, true);
                let text = format!("the log of the Delta table {table} has no version that is as old as {time}");
                JobError::new(Kind::NoInput, format!("{text}; choose a later time, or a version"))
            }),
        }
    }

    /// Returns the latest version as of a time. The time of a version is taken from its entry if the table records it, and
    /// otherwise from the file; it is raised to the times of earlier versions, because clocks of writers differ.
    async fn as_of(&self, time: DateTime<Utc>) -> Result<Option<u64>, JobError> {
        let mut found = None;
        let mut latest_time = DateTime::<Utc>::MIN_UTC;
        for (version, object) in &self.commits {
            latest_time = latest_time.max(object.last_modified);
            if latest_time <= time {
                found = Some(*version);
            }
        }
        for (version, object) in self.commits.iter().rev() {
            // Versions from before the table recorded times are looked up by the times of their files.
            let Some(recorded) = self.commit_info(object).await?.in_commit_timestamp else {
                return Ok(found.map(|found: u64| found.min(*version)));
            };
            if recorded <= time.timestamp_millis() {
                return Ok(Some(*version));
            }
        }
        Ok(None)
    }

    async fn commit_info(&self, object: &ObjectMeta) -> Result<CommitInfo, JobError> {
        let actions = self.read_entry(object).await?;
        Ok(actions.into_iter().find_map(|action| action.commit_info).unwrap_or_default())
    }

    /// Reads and parses an entry.
    pub(super) async fn read_entry(&self, object: &ObjectMeta) -> Result<Vec<LogAction>, JobError> {
        let place = self.table.at(object.location.clone());
        let failed = |error| JobError::storage(format!("reading {place}"), &error);
        let bytes = place.store.get(&place.path).await.map_err(failed)?.bytes().await.map_err(failed)?;
        let name = object.location.filename().unwrap_or_default();
        parse_lines(&bytes).ok_or_else(|| damaged(&self.table, &format!("{name} can't be read")))
    }

    /// Returns the files from which the state of a version is replayed: the last checkpoint up to it, and all entries
    /// after.
    pub(super) fn segment(&self, version: u64) -> Result<LogSegment<'_>, JobError> {
        let checkpoint = self.checkpoints.keys().rev().find(|(of, _)| *of <= version);
        self.segment_from(checkpoint.copied(), version)
    }

    /// Returns the files from which all versions up to this one that are still readable are replayed.
    pub(super) fn longest_segment(&self, version: u64) -> Result<LogSegment<'_>, JobError> {
        let mut starts =
            std::iter::once(None).chain(self.checkpoints.keys().filter(|(of, _)| *of <= version).map(Some));
        let longest = starts.find_map(|start| self.segment_from(start.copied(), version).ok());
        longest.map_or_else(|| self.segment(version), Ok)
    }

    fn segment_from(&self, checkpoint: Option<(u64, u64)>, version: u64) -> Result<LogSegment<'_>, JobError> {
        let parts = checkpoint.and_then(|key| Some((key.0, self.checkpoints.get(&key)?.values().collect::<Vec<_>>())));
        let first = checkpoint.map_or(0, |(of, _)| of + 1);
        let commit = |number| match self.commits.get(&number) {
            Some(object) => Ok((number, object)),
            None => Err(self.missing(number, version)),
        };
        Ok(LogSegment { checkpoint: parts, commits: (first..=version).map(commit).collect::<Result<_, _>>()? })
    }

    fn missing(&self, number: u64, version: u64) -> JobError {
        let table = &self.table;
        if self.second_checkpoints.iter().any(|of| (number..=version).contains(of)) {
            let advice = "set its table property `delta.checkpointPolicy` to `classic`, and write a checkpoint";
            return unsupported(table, "a checkpoint of the second version (`v2Checkpoint`)", advice);
        }
        let text =
            format!("version {version} of the Delta table {table} can't be read: entry {number} of its log is missing");
        JobError::new(Kind::NoInput, format!("{text}; it was removed as too old, so choose a later version"))
    }
}

/// Returns the name of the entry of a version.
pub(crate) fn entry_name(version: u64) -> String {
    format!("{LOG}/{version:020}.json")
}

/// Classifies a file of a log by its name.
fn log_file(name: &str) -> Option<LogFile> {
    let number =
        |text: &str, digits: usize| match text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u64>().ok(),
            false => None,
        };
    let parts: Vec<&str> = name.split('.').collect();
    match parts.as_slice() {
        [version, "json"] => number(version, 20).map(LogFile::Commit),
        [version, "checkpoint", "parquet"] => number(version, 20).map(|version| LogFile::Checkpoint(version, 1, 1)),
        [version, "checkpoint", part, of, "parquet"] => {
            let (version, part, of) = (number(version, 20)?, number(part, 10)?, number(of, 10)?);
            (1..=of).contains(&part).then_some(LogFile::Checkpoint(version, part, of))
        }
        [version, "checkpoint", _unique, "json" | "parquet"] => number(version, 20).map(LogFile::SecondCheckpoint),
        _ => None,
    }
}
