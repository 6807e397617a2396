//! Publishes a release as a version of a Delta table: files under unique names, and one log entry that is created exclusively.
//!
//! Staging works as for other releases. A file in the folder of a table is invisible until an entry names it, so files are moved
//! there first; the entry is the commit. The manifest and the other documents follow it, and describe the latest version that Throng
//! has finished: readers of the table do not need them.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use datafusion::arrow::datatypes::Schema;
use futures::StreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use throng_policy::Mode;

use super::delta_files::DeltaFiles;
use super::local::{LocalSite, make_readable, sync, without_link, write_synced};
use super::orphans::{LIFETIME, remove_all};
use super::probe::check_conditional_puts;
use super::remote::{CONCURRENT_COPIES, CommitFailure, RemoteSite};
use super::{
    Documents, ExistingRelease, Finish, METRICS, REPORT, already_there, json, lost, not_ours, without_attempt, writing,
};
use crate::delta::entry::release_entry;
use crate::delta::{DeltaSnapshot, LOG, entry_name, is_of_throng, run_id_of};
use crate::error::{JobError, store_reason};
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::store_path::StorePath;

/// Name of the entry in the staging of a local run.
const STAGED_ENTRY: &str = "entry.json";

/// Where a release is staged.
#[derive(Debug)]
enum DeltaStaging {
    Local(LocalSite),
    Remote(Box<RemoteSite>),
}

/// A table to which another version, or its first, is added.
#[derive(Debug)]
pub(super) struct DeltaSite {
    output: StorePath,
    run_id: String,
    staging: DeltaStaging,
    /// The version that is replaced.
    replaced: Option<DeltaSnapshot>,
    /// Run of Throng that wrote its files; `None` if another program did.
    replaced_run: Option<String>,
    /// Number of earlier versions that stay readable.
    earlier: u64,
    /// Number of releases among these.
    earlier_releases: u64,
    /// Files to remove after the commit.
    leftovers: Vec<Path>,
}

impl DeltaSite {
    pub(super) async fn begin(output: &StorePath, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        let output = match output.local_path() {
            Some(path) => StorePath::local(&without_link(path)?)?,
            None => output.clone(),
        };
        if output.local_path().is_some_and(|path| path.is_file()) {
            return Err(not_ours(&output));
        }
        let around = DeltaFiles::look(&output, SystemTime::now()).await?;
        match (&around.table, mode) {
            (Some(_), Mode::Error) => return Err(already_there(&output)),
            (Some(table), _) if !is_of_throng(&table.latest.metadata) => return Err(not_ours(&output)),
            (None, Mode::Error) if around.has_files_of_others => return Err(already_there(&output)),
            (None, _) if around.has_files_of_others => return Err(not_ours(&output)),
            _ => {}
        }
        // A release that is not a Delta table has its files or its manifest in the folder.
        let manifest = output.child(MANIFEST);
        let has_manifest = around.table.is_none() && manifest.store.head(&manifest.path).await.is_ok();
        if has_manifest {
            return Err(if mode == Mode::Error { already_there(&output) } else { not_ours(&output) });
        }
        let staging = match output.local_path() {
            Some(path) => DeltaStaging::Local(LocalSite::stage(path, mode, None, run_id)?),
            None => {
                check_conditional_puts(&output, run_id).await?;
                DeltaStaging::Remote(Box::new(RemoteSite::stage(&output, run_id)))
            }
        };
        let (dead, _) = around.dead(LIFETIME, SystemTime::now());
        let mut leftovers: Vec<Path> = dead.into_iter().map(|object| object.location).collect();
        leftovers.extend(around.unlisted.into_iter().map(|object| object.location));
        leftovers.extend(around.expired);
        let (replaced, replaced_run) = around.table.map(|table| (table.latest, table.files_run)).unzip();
        Ok(Self {
            output,
            run_id: run_id.to_owned(),
            staging,
            replaced,
            replaced_run: replaced_run.flatten(),
            earlier: around.readable_versions,
            earlier_releases: around.readable_releases,
            leftovers,
        })
    }

    /// Returns the release that is replaced, and the number of earlier ones that stay readable.
    pub(super) fn before(&self) -> (ExistingRelease, u64) {
        let existing = match (&self.replaced, &self.replaced_run) {
            (None, _) => ExistingRelease::Nothing,
            (Some(_), Some(run_id)) => ExistingRelease::OfRun(run_id.clone()),
            (Some(_), None) => ExistingRelease::OfOthers,
        };
        (existing, self.earlier_releases)
    }

    pub(super) fn place(&self) -> Result<StorePath, JobError> {
        match &self.staging {
            DeltaStaging::Local(site) => site.place(),
            DeltaStaging::Remote(site) => Ok(site.place()),
        }
    }

    pub(super) fn attempts(&self) -> Result<StorePath, JobError> {
        match &self.staging {
            DeltaStaging::Local(site) => site.attempts(),
            DeltaStaging::Remote(site) => Ok(site.place()),
        }
    }

    pub(super) fn take(&self, attempts: Vec<FileEntry>) -> Result<Vec<FileEntry>, JobError> {
        match &self.staging {
            DeltaStaging::Local(site) => site.take(attempts, None),
            DeltaStaging::Remote(_) => Ok(attempts),
        }
    }

    pub(super) async fn abandon_writing(self) {
        if let DeltaStaging::Remote(site) = self.staging {
            site.abandon_writing().await;
        }
    }

    /// Returns the version that a commit makes, and the number of earlier ones that stay readable.
    pub(super) fn version(&self) -> (u64, u64) {
        (self.replaced.as_ref().map_or(0, |table| table.version + 1), self.earlier)
    }

    /// Moves verified files to the table, and commits by the log entry. On an error nothing is published, unless the message
    /// states that the outcome is unknown.
    pub(super) async fn commit(
        &self,
        manifest: Manifest,
        schema: &Schema,
        sidecar: Finish<'_>,
    ) -> Result<(Manifest, Documents), JobError> {
        let named = |file: FileEntry| {
            let path = without_attempt(&file.path).replace("part-", &format!("part-{}-", self.run_id));
            FileEntry { path, ..file }
        };
        let (version, _) = self.version();
        let staged: Vec<String> = manifest.files.iter().map(|file| file.path.clone()).collect();
        let files = manifest.files.into_iter().map(named).collect();
        let manifest = Manifest { files, table_version: Some(version), ..manifest };
        let failure = match self.make_visible(&staged, &manifest, schema, version, sidecar).await {
            Ok(documents) => return Ok((manifest, documents)),
            Err(failure) => failure,
        };
        let error = match failure {
            CommitFailure::Unpublished(error) => {
                remove_all(&self.output, manifest.files.iter().map(|file| self.output.child(&file.path).path)).await;
                error
            }
            // An entry that names absent files would be worse than files that no entry names: the next run that commits
            // removes those.
            CommitFailure::Unknown(error) => error,
        };
        match &self.staging {
            DeltaStaging::Local(_) => {
                for folder in self.local_folders().into_iter().flatten() {
                    // Fails if the folder is not empty: it holds a table, or other files.
                    let _ = fs::remove_dir(folder);
                }
            }
            DeltaStaging::Remote(site) => site.abandon().await,
        }
        Err(error)
    }

    /// Runs all steps up to and including the commit, and returns the documents as of the commit.
    async fn make_visible(
        &self,
        staged: &[String],
        manifest: &Manifest,
        schema: &Schema,
        version: u64,
        sidecar: Finish<'_>,
    ) -> Result<Documents, CommitFailure> {
        let unpublished = CommitFailure::Unpublished;
        let place = self.output.child(&entry_name(version));
        // A run that has already lost the race must not disturb the winner.
        match place.store.head(&place.path).await {
            Err(Error::NotFound { .. }) => {}
            Ok(_) => return Err(unpublished(lost(&self.output))),
            Err(error) => return Err(unpublished(self.failed(&error))),
        }
        let now = chrono::Utc::now().timestamp_millis();
        let entry = |now| release_entry(&self.output, self.replaced.as_ref(), manifest, schema, now);
        match &self.staging {
            DeltaStaging::Local(site) => {
                self.move_files(site, staged, manifest).map_err(unpublished)?;
                let documents = Documents::of(&sidecar()).map_err(unpublished)?;
                let entry = entry(now).map_err(unpublished)?;
                self.create_entry(site, version, &entry).map_err(unpublished)?;
                Ok(documents)
            }
            DeltaStaging::Remote(site) => {
                let copies = staged.iter().zip(&manifest.files).map(|(from, to)| site.copy(from, to));
                let copies = futures::stream::iter(copies.collect::<Vec<_>>()).buffer_unordered(CONCURRENT_COPIES);
                // Wait for all copies before any is removed.
                let copies: Vec<Result<(), JobError>> = copies.collect().await;
                copies.into_iter().collect::<Result<(), _>>().map_err(unpublished)?;
                let documents = Documents::of(&sidecar()).map_err(unpublished)?;
                let payload = PutPayload::from(entry(now).map_err(unpublished)?);
                let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
                site.put_commit(&entry_name(version), payload, options, |entry| Some(run_id_of(entry))).await?;
                Ok(documents)
            }
        }
    }

    /// Returns the folder of the log and that of the table, innermost first.
    fn local_folders(&self) -> Option<[PathBuf; 2]> {
        let output = self.output.local_path()?;
        Some([output.join(LOG), output])
    }

    fn move_files(&self, site: &LocalSite, staged: &[String], manifest: &Manifest) -> Result<(), JobError> {
        let failed = |error: io::Error| JobError::file_system(format!("publishing {}", self.output), &error);
        let Some([log, output]) = self.local_folders() else { return Ok(()) };
        let is_new = !output.exists();
        fs::create_dir_all(&log).map_err(failed)?;
        if is_new {
            make_readable(&output, &log).map_err(failed)?;
        }
        for (from, to) in staged.iter().zip(&manifest.files) {
            let from = site.folder().join(from);
            sync(&from).map_err(failed)?;
            fs::rename(from, output.join(&to.path)).map_err(failed)?;
        }
        sync(&output).map_err(failed)
    }

    /// Creates the entry as a hard link to a complete file, which fails if the entry exists.
    fn create_entry(&self, site: &LocalSite, version: u64, entry: &[u8]) -> Result<(), JobError> {
        let failed = |error: io::Error| JobError::file_system(format!("publishing {}", self.output), &error);
        let Some([log, output]) = self.local_folders() else { return Ok(()) };
        let staged = site.folder().join(STAGED_ENTRY);
        write_synced(&staged, entry).map_err(failed)?;
        match fs::hard_link(&staged, output.join(entry_name(version))) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(lost(&self.output)),
            Err(error) => return Err(failed(error)),
        }
        if let Err(error) = sync(&log) {
            let output = &self.output;
            tracing::warn!(%output, %error, "the release is published, but may be lost if the machine stops now");
        }
        Ok(())
    }

    /// Writes the documents, and removes files that no version needs any more. The release is published already, so failures are
    /// only logged.
    pub(super) async fn clean(self, manifest: &Manifest, documents: Documents) {
        let mut stale: Vec<Path> = self.leftovers.clone();
        if documents.report.is_none() {
            stale.push(self.output.child(REPORT).path);
        }
        remove_all(&self.output, stale).await;
        let report = documents.report.map(|report| (REPORT, report));
        let texts = [json(manifest).ok().map(|text| (MANIFEST, text)), report, Some((METRICS, documents.metrics))];
        for (name, text) in texts.into_iter().flatten() {
            if let Err(error) = self.put(name, text.into()).await {
                let error = store_reason(&error);
                tracing::warn!(output = %self.output, error, "the release is published, but {name} could not be written");
            }
        }
        if let DeltaStaging::Remote(site) = &self.staging {
            site.abandon().await;
        }
    }

    async fn put(&self, name: &str, payload: PutPayload) -> Result<(), Error> {
        match &self.staging {
            DeltaStaging::Local(_) => {
                let place = self.output.child(name);
                place.store.put(&place.path, payload).await.map(|_| ())
            }
            DeltaStaging::Remote(site) => site.put_persistently(name, payload).await,
        }
    }

    fn failed(&self, error: &Error) -> JobError {
        writing(format!("publishing {}", self.output), error)
    }
}
