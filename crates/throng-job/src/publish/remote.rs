//! Publishes on an object store: unique file names, and one conditional put of the manifest.

use std::time::{Duration, SystemTime};

use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetResult, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use throng_policy::{Commit, Mode};

use super::orphans::{LIFETIME, StoreOrphans, remove_all};
use super::probe::check_conditional_puts;
use super::{
    Documents, Finish, METRICS, REPORT, STAGING, SUCCESS, already_there, json, lost, named_after_run, not_ours, writing,
};
use crate::error::{JobError, Kind, store_reason};
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::store_path::StorePath;

/// Retries of a put that commits or completes a release, besides those of the store's client.
const RETRIES: u32 = 3;

/// Wait before the first retry; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Time within which a store may still carry out a request that was in flight when its connection was dropped.
const LATE_WRITES: Duration = Duration::from_millis(500);

/// Number of files that are copied concurrently.
pub(super) const CONCURRENT_COPIES: usize = 8;

/// Staged objects below the output. They are not removed on drop: [`commit`](Self::commit) or
/// [`abandon`](Self::abandon) must be awaited.
#[derive(Debug)]
pub(super) struct RemoteSite {
    output: StorePath,
    staging: StorePath,
    run_id: String,
    how: Commit,
    /// Version of the manifest that will be replaced, and its content.
    replaced: Option<(UpdateVersion, Manifest)>,
    /// Names of the folders of the release that hold data files: of its tables, if it has several, or of all of its files.
    folders: Vec<String>,
    /// Orphans of dead runs, listed before the commit: a run that might still need one of them started from a manifest
    /// that the commit replaces, and can't commit any more.
    leftovers: Vec<Path>,
}

/// The reason why a commit failed.
pub(super) enum CommitFailure {
    /// The release is certainly not published.
    Unpublished(JobError),
    /// The store may have accepted the manifest, or may still do so.
    Unknown(JobError),
}

impl RemoteSite {
    pub(super) async fn begin(
        output: &StorePath,
        mode: Mode,
        how: Commit,
        folders: Vec<String>,
        run_id: &str,
    ) -> Result<Self, JobError> {
        let failed = |error| writing(format!("looking at {output}"), &error);
        let replaced = match read(&output.child(MANIFEST)).await.map_err(failed)? {
            Some(_) if mode == Mode::Error => return Err(already_there(output)),
            Some(found) => {
                let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
                let bytes = found.bytes().await.map_err(failed)?;
                Some((version, Manifest::parse(&bytes).ok_or_else(|| not_ours(output))?))
            }
            None => None,
        };
        let around = StoreOrphans::look(output, replaced.as_ref().map(|(_, manifest)| manifest), &folders).await?;
        match mode {
            _ if !around.has_files_of_others => {}
            Mode::Error => return Err(already_there(output)),
            Mode::Overwrite | Mode::Series | Mode::Append => return Err(not_ours(output)),
        }
        let (mut leftovers, _) = around.dead(LIFETIME, SystemTime::now());
        if how == Commit::Conditional {
            check_conditional_puts(output, run_id).await?;
            leftovers.extend(around.unlisted);
        }
        Ok(Self {
            output: output.clone(),
            staging: output.child(&format!("{STAGING}/{run_id}")),
            run_id: run_id.to_owned(),
            how,
            replaced,
            folders,
            leftovers: leftovers.into_iter().map(|object| object.location).collect(),
        })
    }

    /// Creates the staging of a release that is not committed by its manifest.
    pub(super) fn stage(output: &StorePath, run_id: &str) -> Self {
        Self {
            output: output.clone(),
            staging: output.child(&format!("{STAGING}/{run_id}")),
            run_id: run_id.to_owned(),
            how: Commit::Conditional,
            replaced: None,
            folders: Vec::new(),
            leftovers: Vec::new(),
        }
    }

    pub(super) fn place(&self) -> StorePath {
        self.staging.clone()
    }

    /// Copies verified files to their unique names, and commits by the manifest. Returns the manifest with these names,
    /// and the documents as of the commit. On an error nothing is published, unless the message states that the outcome
    /// is unknown.
    ///
    /// Files of the replaced release that are `kept` are listed first, and are not copied.
    pub(super) async fn commit(
        &self,
        manifest: Manifest,
        kept: Vec<FileEntry>,
        sidecar: Finish<'_>,
    ) -> Result<(Manifest, Documents), JobError> {
        let staged: Vec<String> = manifest.files.iter().map(|file| file.path.clone()).collect();
        let added: Vec<FileEntry> =
            manifest.files.into_iter().map(|file| named_after_run(file, &self.run_id)).collect();
        let manifest = Manifest { files: [kept, added.clone()].concat(), ..manifest };
        let before = self.replaced.iter().flat_map(|(_, replaced)| replaced.used_folders());
        let replaced_folders =
            before.filter(|folder| !manifest.folders().contains(folder)).map(str::to_owned).collect();
        let manifest = Manifest { replaced_folders, ..manifest };
        let failure = match self.make_visible(&staged, &added, &manifest, sidecar).await {
            Ok(documents) => return Ok((manifest, documents)),
            Err(failure) => failure,
        };
        let error = match failure {
            CommitFailure::Unpublished(error) => {
                remove_all(&self.output, added.iter().map(|file| self.output.child(&file.path).path)).await;
                self.restore_success_marker().await;
                error
            }
            // A manifest that lists absent files would be worse than files that no manifest lists: the next run that
            // commits removes those.
            CommitFailure::Unknown(error) => error,
        };
        self.abandon().await;
        Err(error)
    }

    /// Runs all steps up to and including the commit, and returns the documents as of the commit.
    async fn make_visible(
        &self,
        staged: &[String],
        added: &[FileEntry],
        manifest: &Manifest,
        sidecar: Finish<'_>,
    ) -> Result<Documents, CommitFailure> {
        let failed = |error: Error| CommitFailure::Unpublished(self.failed(&error));
        // A run that has already lost the race must not disturb the winner.
        if self.run_id_in(MANIFEST).await.map_err(failed)?.as_deref() != self.replaced_run() {
            return Err(CommitFailure::Unpublished(lost(&self.output)));
        }
        if self.replaced.is_some() {
            // The marker states that exactly the files of one release exist, which is about to change.
            match self.output.store.delete(&self.output.child(SUCCESS).path).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let copies = staged.iter().zip(added).map(|(from, to)| self.copy(from, to));
        let copies = futures::stream::iter(copies.collect::<Vec<_>>()).buffer_unordered(CONCURRENT_COPIES);
        // Wait for all copies before any is removed.
        let copies: Vec<Result<(), JobError>> = copies.collect().await;
        copies.into_iter().collect::<Result<(), _>>().map_err(CommitFailure::Unpublished)?;
        let documents = Documents::of(&sidecar()).map_err(CommitFailure::Unpublished)?;
        self.put_manifest(manifest).await.map(|()| documents)
    }

    /// Copies a staged file to its name in the release.
    pub(super) async fn copy(&self, from: &str, to: &FileEntry) -> Result<(), JobError> {
        let (from, place) = (self.staging.child(from), self.output.child(&to.path));
        place.store.copy(&from.path, &place.path).await.map_err(|error| self.failed(&error))?;
        // Some stores copy in the background, or truncate a copy.
        let copied = place.store.head(&place.path).await.map_err(|error| self.failed(&error))?;
        match copied.size == to.bytes {
            true => Ok(()),
            false => {
                let text = format!("publishing {}: the copy {place} is not complete; try again", self.output);
                Err(JobError::new(Kind::TemporaryIo, text))
            }
        }
    }

    /// Commits by a put of the manifest.
    async fn put_manifest(&self, manifest: &Manifest) -> Result<(), CommitFailure> {
        let mode = match (&self.replaced, self.how) {
            (_, Commit::LastWriterWins) => PutMode::Overwrite,
            (None, Commit::Conditional) => PutMode::Create,
            (Some((version, _)), Commit::Conditional) => PutMode::Update(version.clone()),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let payload = PutPayload::from(json(manifest).map_err(CommitFailure::Unpublished)?);
        self.put_commit(MANIFEST, payload, options, run_id_of).await
    }

    /// Commits by a put of one object; `run_id_of` parses the run id in it.
    ///
    /// A response may be lost or late although the store accepts the manifest. While that is possible the put is
    /// retried: if it succeeds, the earlier one can no longer take effect; if it is refused, the manifest has the id of
    /// the run that won.
    pub(super) async fn put_commit(
        &self,
        name: &str,
        payload: PutPayload,
        options: PutOptions,
        run_id_of: fn(&[u8]) -> Option<String>,
    ) -> Result<(), CommitFailure> {
        let path = self.output.child(name).path;
        let (mut in_doubt, mut wait) = (false, FIRST_WAIT);
        let mut last = None;
        for retry in 0..=RETRIES {
            let put = self.output.store.put_opts(&path, payload.clone(), options.clone()).await;
            let existing = match (&put, self.how) {
                (Ok(_), Commit::Conditional) => return Ok(()),
                _ => run_id_at(&self.output.child(name), run_id_of).await,
            };
            match (existing, put) {
                (Ok(Some(run_id)), _) if run_id == self.run_id => return Ok(()),
                // Without conditional puts, another run may have written last.
                (Ok(Some(run_id)), Ok(_)) if Some(run_id.as_str()) != self.replaced_run() => {
                    return Err(CommitFailure::Unknown(lost(&self.output)));
                }
                (_, Ok(_)) => return Ok(()),
                (Ok(existing), Err(_)) if existing.is_some() && existing.as_deref() != self.replaced_run() => {
                    let lost = lost(&self.output);
                    return Err(match self.how {
                        Commit::Conditional => CommitFailure::Unpublished(lost),
                        Commit::LastWriterWins => CommitFailure::Unknown(lost),
                    });
                }
                (_, Err(error)) if is_refusal(&error) && !in_doubt => {
                    return Err(CommitFailure::Unpublished(self.failed(&error)));
                }
                (_, Err(error)) => {
                    // A refused condition has changed nothing, so it leaves no doubt.
                    in_doubt |= !matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. });
                    tracing::warn!(error = store_reason(&error), retry, "{name} could not be put, or may have been");
                    last = Some(error);
                }
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        if let Some(error) = last.filter(|_| !in_doubt) {
            return Err(CommitFailure::Unpublished(self.failed(&error)));
        }
        let text = format!(
            "the connection to {} was lost at the moment of publishing; the release is published if {name} names the \
             run {}, and else run again",
            self.output, self.run_id
        );
        Err(CommitFailure::Unknown(JobError::new(Kind::TemporaryIo, text)))
    }

    /// Removes the replaced release and the orphans of dead runs, and adds the documents that readers of the release do
    /// not need. The release is published already, so failures are only logged.
    pub(super) async fn clean(&self, documents: Documents, manifest: &Manifest) {
        let replaced = self.replaced.iter().flat_map(|(_, replaced)| &replaced.files);
        let replaced = replaced.filter(|file| !manifest.lists(&file.path));
        let replaced = replaced.map(|file| self.output.child(&file.path).path);
        // The report of the replaced release does not describe this one.
        let report = documents.report.is_none().then(|| self.output.child(REPORT).path);
        let report = report.filter(|_| self.replaced.is_some());
        let left = remove_all(&self.output, replaced.chain(self.leftovers.iter().cloned()).chain(report)).await;
        if let Some(report) = documents.report
            && let Err(error) = self.put_persistently(REPORT, report.into()).await
        {
            let error = store_reason(&error);
            tracing::warn!(output = %self.output, error, "the release is published, but {REPORT} could not be written");
        }
        let completed = match self.put_persistently(METRICS, documents.metrics.into()).await {
            Ok(()) if left == 0 => self.put_persistently(SUCCESS, PutPayload::default()).await,
            Ok(()) => Ok(()),
            Err(error) => {
                // The metrics of the replaced release do not describe this one.
                if self.replaced.is_some() {
                    remove_all(&self.output, [self.output.child(METRICS).path]).await;
                }
                Err(error)
            }
        };
        let output = &self.output;
        if let Err(error) = completed {
            let error = store_reason(&error);
            tracing::warn!(%output, error, "the release is published, but {METRICS} or {SUCCESS} could not be written");
        } else if left > 0 {
            tracing::warn!(%output, left, "the release is published, but without {SUCCESS}: old files are still beside it");
        }
        self.abandon().await;
    }

    pub(super) async fn put_persistently(&self, name: &str, payload: PutPayload) -> Result<(), Error> {
        let place = self.output.child(name);
        let (mut retries, mut wait) = (0, FIRST_WAIT);
        loop {
            match place.store.put(&place.path, payload.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) if retries == RETRIES || is_refusal(&error) => return Err(error),
                Err(_) => retries += 1,
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
    }

    /// Restores `_SUCCESS` after a failed commit, if the current release is complete and alone. A concurrent run that
    /// won the race marks its own release.
    async fn restore_success_marker(&self) {
        if self.replaced.is_none() {
            return;
        }
        let stands = async {
            let found = read(&self.output.child(MANIFEST)).await.ok()??;
            let manifest = Manifest::parse(&found.bytes().await.ok()?)?;
            let metrics = self.run_id_in(METRICS).await.ok()?;
            let around = StoreOrphans::look(&self.output, Some(&manifest), &self.folders).await.ok()?;
            let is_alone = around.unlisted.is_empty() && !around.has_files_of_others;
            Some(is_alone && metrics.as_ref() == Some(&manifest.run_id))
        };
        if stands.await == Some(true)
            && let Err(error) = self.put_persistently(SUCCESS, PutPayload::default()).await
        {
            let error = store_reason(&error);
            tracing::warn!(output = %self.output, error, "the old release stands, but {SUCCESS} could not be put back");
        }
    }

    fn replaced_run(&self) -> Option<&str> {
        self.replaced.as_ref().map(|(_, manifest)| manifest.run_id.as_str())
    }

    /// Returns the run id in a document of the release, if there is one.
    async fn run_id_in(&self, name: &str) -> Result<Option<String>, Error> {
        run_id_in(&self.output, name).await
    }

    fn failed(&self, error: &Error) -> JobError {
        writing(format!("publishing {}", self.output), error)
    }

    /// Removes the staging of a run that ended while it was writing. A store may still carry out a request whose connection
    /// was dropped, so the staging is listed once more.
    pub(super) async fn abandon_writing(&self) {
        self.abandon().await;
        tokio::time::sleep(LATE_WRITES).await;
        self.abandon().await;
    }

    /// Removes the staging.
    pub(super) async fn abandon(&self) {
        match self.staging.store.list(Some(&self.staging.path)).try_collect::<Vec<_>>().await {
            Ok(listed) => {
                remove_all(&self.staging, listed.into_iter().map(|object| object.location)).await;
            }
            Err(error) => {
                let error = store_reason(&error);
                tracing::warn!(staging = %self.staging, error, "could not remove staged objects");
            }
        }
    }
}

/// Returns the run id in a document of a release, if there is one.
pub(crate) async fn run_id_in(output: &StorePath, name: &str) -> Result<Option<String>, Error> {
    run_id_at(&output.child(name), run_id_of).await
}

async fn run_id_at(place: &StorePath, run_id_of: fn(&[u8]) -> Option<String>) -> Result<Option<String>, Error> {
    match read(place).await? {
        Some(found) => Ok(run_id_of(&found.bytes().await?)),
        None => Ok(None),
    }
}

/// Returns the run id in the text of a document.
fn run_id_of(document: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct RunDocument {
        run_id: String,
    }
    serde_json::from_slice(document).ok().map(|document: RunDocument| document.run_id)
}

/// Whether the store certainly did not perform the request. Failures of the server or the network are not certain.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotFound { .. }
            | Error::NotImplemented { .. }
            | Error::NotSupported { .. }
            | Error::InvalidPath { .. }
    )
}

/// Returns the object at a path, if there is one.
async fn read(place: &StorePath) -> Result<Option<GetResult>, Error> {
    match place.store.get(&place.path).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
