//! `throng clean`: removes the orphans of dead runs at an output, files of replaced versions of a Delta table, and nothing else.

use std::time::{Duration, SystemTime};

use object_store::ObjectStoreExt;
use throng_policy::Store;

use crate::delta::{DeltaLog, is_of_throng};
use crate::error::{JobError, Kind};
use crate::manifest::{MANIFEST, Manifest};
use crate::publish::delta_files::DeltaFiles;
use crate::publish::orphans::{LIFETIME, StoreOrphans, find_local, remove_all};
use crate::store_path::StorePath;

/// Criteria for dead runs, and whether to remove their files.
#[derive(Clone, Copy, Debug)]
pub struct CleanOptions {
    /// A run that has written nothing for this long is considered dead. On the local file system a free lock shows that
    /// at once, and this age applies only where locks are not supported.
    pub older_than: Duration,
    /// List the orphans without removing them.
    pub dry_run: bool,
}

impl Default for CleanOptions {
    fn default() -> Self {
        Self { older_than: LIFETIME, dry_run: false }
    }
}

/// Orphans and live runs found at an output.
#[derive(Clone, Debug)]
pub struct Cleaned {
    /// Output location.
    pub location: String,
    /// Removed orphans, or with `dry_run` those that would be: folders on the local file system, objects on a store.
    pub removed: Vec<String>,
    /// Number of runs that are or may be alive; their files were kept.
    pub alive: usize,
}

/// Removes the orphans of dead runs at an output location; for a Delta table also the files of replaced versions whose retention
/// time has passed. Keeps the release, the files of live runs, and all other files.
pub async fn clean(location: &str, settings: &Store, options: CleanOptions) -> Result<Cleaned, JobError> {
    let output = StorePath::parse_with(location, settings)?;
    if output.is_web() {
        let text = format!("{output} can only be read, so no run can have left anything there");
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let is_table = DeltaLog::list(&output).await?.is_some();
    let (removed, alive, failed) = match output.local_path() {
        Some(path) if is_table => {
            let (mut removed, alive, failed) = clean_local(&path, options);
            let (of_table, alive_there, failed_there) = clean_table(&output, options).await?;
            removed.extend(of_table);
            (removed, alive.max(alive_there), failed + failed_there)
        }
        Some(path) => clean_local(&path, options),
        None if is_table => clean_table(&output, options).await?,
        None => clean_store(&output, options).await?,
    };
    if failed > 0 {
        let text = format!("{failed} of {} leftovers at {output} could not be removed", removed.len());
        return Err(JobError::new(Kind::TemporaryIo, format!("{text}; check permissions, then run again")));
    }
    Ok(Cleaned { location: output.to_string(), removed, alive })
}

fn clean_local(output: &std::path::Path, options: CleanOptions) -> (Vec<String>, usize, usize) {
    // If the output is a symlink, runs stage beside its target.
    let output = output.canonicalize().unwrap_or_else(|_| output.to_owned());
    let found = find_local(&output, options.older_than);
    let removed = found.dead.iter().map(|dead| dead.path.display().to_string()).collect();
    let mut failed = 0;
    if !options.dry_run {
        for dead in found.dead {
            let folder = dead.path.clone();
            if let Err(error) = dead.remove() {
                tracing::warn!(folder = %folder.display(), %error, "could not remove what a dead run left behind");
                failed += 1;
            }
        }
    }
    (removed, found.alive, failed)
}

/// Removes files of earlier versions that no reader needs any more, besides the orphans of dead runs.
async fn clean_table(output: &StorePath, options: CleanOptions) -> Result<(Vec<String>, usize, usize), JobError> {
    let now = SystemTime::now();
    let around = DeltaFiles::look(output, now).await?;
    if !around.table.as_ref().is_some_and(|table| is_of_throng(&table.latest.metadata)) {
        let text = format!("{output} is a Delta table that is not a release of Throng; nothing was removed");
        return Err(JobError::new(Kind::BadPolicy, format!("{text}; use VACUUM")));
    }
    let (dead, alive) = around.dead(options.older_than, now);
    let mut paths: Vec<_> = dead.into_iter().map(|object| object.location).chain(around.expired).collect();
    paths.sort();
    let removed = paths.iter().map(|path| output.at(path.clone()).to_string()).collect();
    let left = if options.dry_run { 0 } else { remove_all(output, paths).await };
    Ok((removed, alive, left))
}

async fn clean_store(output: &StorePath, options: CleanOptions) -> Result<(Vec<String>, usize, usize), JobError> {
    let manifest = output.child(MANIFEST);
    let failed = |error| JobError::storage(format!("reading {manifest}"), &error);
    let release = match manifest.store.get(&manifest.path).await {
        Ok(found) => {
            let release = Manifest::parse(&found.bytes().await.map_err(failed)?);
            // Without a readable manifest the listed files are unknown, so no file may be removed.
            Some(release.ok_or_else(|| damaged(&manifest))?)
        }
        Err(object_store::Error::NotFound { .. }) => None,
        Err(error) => return Err(failed(error)),
    };
    let around = StoreOrphans::look(output, release.as_ref(), &[]).await?;
    let (dead, alive) = around.dead(options.older_than, SystemTime::now());
    let mut paths: Vec<_> = dead.into_iter().map(|object| object.location).collect();
    paths.sort();
    let removed = paths.iter().map(|path| output.at(path.clone()).to_string()).collect();
    let left = if options.dry_run { 0 } else { remove_all(output, paths).await };
    Ok((removed, alive, left))
}

fn damaged(manifest: &StorePath) -> JobError {
    let text = format!("{manifest} is damaged, or was written by another version of Throng; nothing was removed");
    JobError::new(Kind::BadPolicy, format!("{text}; remove it by hand if no one reads that release"))
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
