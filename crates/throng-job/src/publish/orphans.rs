//! Orphans of dead runs, and how to distinguish a dead run from a live one.
//!
//! | where | orphan | dead when |
//! |---|---|---|
//! | local | the hidden folder `.NAME.throng-<run>` beside the output | its lock is free; the lock ends with its process |
//! | store | `_throng/staging/<run>/*`, `_throng/probe/<run>` | all of it is older than a day: a store has no processes to look at |
//! | store | `part-<run>-*.parquet` that the manifest does not list | it is older than a day; or a later run has committed, since a run that started from an older manifest can't commit any more |
//!
//! On a file system without locks, a folder is dead when nothing in it has changed for a day. Nothing else is ever
//! removed: names of runs are recognized by the 32 hexadecimal digits of their id.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use futures::{StreamExt, TryStreamExt};
use object_store::{Error, ObjectMeta, ObjectStoreExt};

use super::{SUCCESS, writing};
use crate::error::{JobError, store_reason};
use crate::manifest::Manifest;
use crate::store_path::StorePath;

/// A run on a store that has written nothing for this long is considered dead.
pub(crate) const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Number of objects that are removed concurrently.
const CONCURRENT_REMOVALS: usize = 8;

/// Attempts to create a staging folder while a concurrent cleanup removes it.
const ATTEMPTS: usize = 100;

/// Lock on the staging folder of a live run.
#[derive(Debug)]
pub(crate) struct Guard {
    _folder: fs::File,
}

/// Staging folders beside a local output.
#[derive(Debug, Default)]
pub(crate) struct LocalOrphans {
    pub(crate) dead: Vec<DeadFolder>,
    /// Number of folders whose runs are or may be alive.
    pub(crate) alive: usize,
}

/// The folder of a dead run. Its lock is held, so that no run can use it.
#[derive(Debug)]
pub(crate) struct DeadFolder {
    pub(crate) path: PathBuf,
    _guard: Option<Guard>,
}

impl DeadFolder {
    pub(crate) fn remove(self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the name of the staging folder of a run.
pub(super) fn staging_name(output: &Path, run_id: &str) -> String {
    format!("{}{run_id}", staging_prefix(output))
}

fn staging_prefix(output: &Path) -> String {
    let name = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!(".{name}.throng-")
}

/// Creates a private folder and locks it. `None` where folders can't be locked.
pub(super) fn create_guarded(folder: &Path) -> io::Result<Option<Guard>> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    for _ in 0..ATTEMPTS {
        match create_private(folder) {
            // A concurrent cleanup got the lock first and is removing the folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => match try_guard(folder) {
                Ok(Some(guard)) if is_at(&guard, folder) => return Ok(Some(guard)),
                Ok(_) => {}
                Err(_) if folder.exists() => return Ok(None),
                Err(_) => {}
            },
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder could not be locked"))
}

/// Locks a folder; `None` if the lock is taken.
#[cfg(unix)]
fn try_guard(folder: &Path) -> io::Result<Option<Guard>> {
    let file = fs::File::open(folder)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Guard { _folder: file })),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(not(unix))]
fn try_guard(_folder: &Path) -> io::Result<Option<Guard>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Whether the locked folder still exists under this name.
#[cfg(unix)]
fn is_at(guard: &Guard, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (locked, named) = (guard._folder.metadata().map(id), fs::metadata(folder).map(id));
    matches!((locked, named), (Ok(locked), Ok(named)) if locked == named)
}

#[cfg(not(unix))]
fn is_at(_guard: &Guard, _folder: &Path) -> bool {
    true
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

/// Finds staging folders beside a local output. Where there are no locks, those older than `lifetime` are dead.
pub(crate) fn find_local(output: &Path, lifetime: Duration) -> LocalOrphans {
    let mut found = LocalOrphans::default();
    let prefix = staging_prefix(output);
    let Some(Ok(entries)) = output.parent().map(fs::read_dir) else { return found };
    for entry in entries.flatten() {
        let is_of_a_run = entry.file_name().to_str().and_then(|name| name.strip_prefix(&prefix)).is_some_and(is_run_id);
        if !is_of_a_run || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        match try_guard(&path) {
            Ok(Some(guard)) => found.dead.push(DeadFolder { path, _guard: Some(guard) }),
            Err(_) if is_untouched(&path, lifetime) => found.dead.push(DeadFolder { path, _guard: None }),
            Ok(None) | Err(_) => found.alive += 1,
        }
    }
    found.dead.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Whether nothing in a folder has changed for `lifetime`.
fn is_untouched(folder: &Path, lifetime: Duration) -> bool {
    let is_old = |path: &Path| {
        let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > lifetime))
    };
    is_old(folder) && fs::read_dir(folder).is_ok_and(|entries| entries.flatten().all(|entry| is_old(&entry.path())))
}

/// Staged objects and probes by run.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenObjects(BTreeMap<String, Vec<ObjectMeta>>);

impl HiddenObjects {
    /// Adds an object at this path below the output, if it belongs to a run.
    pub(super) fn add(&mut self, below: &[String], object: ObjectMeta) {
        match below.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["_throng", "staging", run_id, _, ..] | ["_throng", "probe", run_id] if is_run_id(run_id) => {
                self.0.entry((*run_id).to_owned()).or_default().push(object);
            }
            _ => {}
        }
    }

    /// Returns the objects of dead runs, and the number of runs that may be alive; `unlisted` are data files of runs.
    pub(super) fn dead(
        &self,
        unlisted: &[ObjectMeta],
        lifetime: Duration,
        now: SystemTime,
    ) -> (Vec<ObjectMeta>, usize) {
        let is_old =
            |object: &ObjectMeta| now.duration_since(object.last_modified.into()).is_ok_and(|age| age > lifetime);
        let mut runs = self.0.clone();
        for object in unlisted {
            let run_id = object.location.filename().and_then(run_of).unwrap_or_default();
            runs.entry(run_id.to_owned()).or_default().push(object.clone());
        }
        let (dead, alive): (Vec<_>, Vec<_>) = runs.into_values().partition(|objects| objects.iter().all(is_old));
        (dead.into_iter().flatten().collect(), alive.len())
    }
}

/// Objects in a folder of an output that are not part of its release.
#[derive(Debug, Default)]
struct FolderOrphans {
    unlisted: Vec<ObjectMeta>,
    has_files_of_others: bool,
}

/// Objects at an output location that are not part of its release.
#[derive(Debug, Default)]
pub(crate) struct StoreOrphans {
    /// Data files with names of runs that the manifest does not list.
    pub(super) unlisted: Vec<ObjectMeta>,
    hidden: HiddenObjects,
    /// Whether there are other objects.
    pub(super) has_files_of_others: bool,
}

impl StoreOrphans {
    /// Lists everything below an output; `release` is its manifest. Folders of `tables`, of the release, of those that it replaced
    /// and of staged tables hold data files too, unless there is anything else in them.
    pub(crate) async fn look(
        output: &StorePath,
        release: Option<&Manifest>,
        tables: &[String],
    ) -> Result<Self, JobError> {
        let failed = |error| writing(format!("looking at {output}"), &error);
        let listed: Vec<ObjectMeta> = output.store.list(Some(&output.path)).try_collect().await.map_err(failed)?;
        let of_release: HashSet<&str> =
            release.iter().flat_map(|release| &release.files).map(|file| file.path.as_str()).collect();
        let mut around = Self::default();
        let mut tables: HashSet<String> = tables.iter().cloned().collect();
        tables.extend(release.iter().flat_map(|release| release.used_folders()).map(str::to_owned));
        let mut in_folders: BTreeMap<String, FolderOrphans> = BTreeMap::new();
        for object in listed {
            let below = object.location.prefix_match(&output.path).into_iter().flatten();
            let parts: Vec<String> = below.map(|part| part.as_ref().to_owned()).collect();
            match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                // Some tools create an empty object with the name of a folder.
                [] if object.size == 0 => {}
                ["_throng", more @ ..] => {
                    if let ["staging", _, table, _] = more {
                        tables.insert((*table).to_owned());
                    }
                    around.hidden.add(&parts, object);
                }
                [name] if of_release.contains(name) => {}
                [name] if *name == SUCCESS && release.is_some() => {}
                [name] if is_of_a_run(name) => around.unlisted.push(object),
                [table, name] if of_release.contains(format!("{table}/{name}").as_str()) => {}
                [table, name] if is_of_a_run(name) => {
                    in_folders.entry((*table).to_owned()).or_default().unlisted.push(object);
                }
                [folder, _, ..] => in_folders.entry((*folder).to_owned()).or_default().has_files_of_others = true,
                _ => around.has_files_of_others = true,
            }
        }
        for (name, folder) in in_folders {
            match tables.contains(&name) && !folder.has_files_of_others {
                true => around.unlisted.extend(folder.unlisted),
                false => around.has_files_of_others = true,
            }
        }
        Ok(around)
    }

    /// Returns the orphans of dead runs, and the number of runs that may be alive. A run is dead when all of its
    /// objects are older than `lifetime`.
    pub(crate) fn dead(&self, lifetime: Duration, now: SystemTime) -> (Vec<ObjectMeta>, usize) {
        self.hidden.dead(&self.unlisted, lifetime, now)
    }
}

/// Removes objects. Logs those that can't be removed, and returns their number.
pub(crate) async fn remove_all(on: &StorePath, objects: impl IntoIterator<Item = object_store::path::Path>) -> usize {
    let removals = objects.into_iter().map(|path| {
        let place = on.at(path);
        async move {
            match place.store.delete(&place.path).await {
                Ok(()) | Err(Error::NotFound { .. }) => 0,
                Err(error) => {
                    tracing::warn!(%place, error = store_reason(&error), "could not remove an object");
                    1
                }
            }
        }
    });
    let removals: Vec<_> = removals.collect();
    futures::stream::iter(removals).buffer_unordered(CONCURRENT_REMOVALS).fold(0, async |sum, left| sum + left).await
}

/// Whether a text is a run id: 32 hexadecimal digits.
fn is_run_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a name has the form `part-<32 hexadecimal digits>-<number>.parquet`, which only runs of Throng use.
pub(super) fn is_of_a_run(name: &str) -> bool {
    run_of(name).is_some()
}

/// Returns the run id in the name of a data file.
fn run_of(name: &str) -> Option<&str> {
    let middle = name.strip_prefix("part-")?.strip_suffix(".parquet")?;
    let (run_id, number) = middle.split_once('-')?;
    let is_number = number.len() >= 5 && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_run_id(run_id) && is_number).then_some(run_id)
}

#[cfg(test)]
#[path = "orphans_tests.rs"]
mod tests;
