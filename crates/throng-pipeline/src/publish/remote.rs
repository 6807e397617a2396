//! Publish on an object store: unique names, and one conditional put of the manifest.
//!
//! ```text
//!  copy to part-<run>-* ─► remove the old _SUCCESS ─► put the manifest ─► metrics.json ─► _SUCCESS ─► clean up
//!  └────────── any error removes the copies ──────────┘   └──── nothing of the new release is removed ─────┘
//! ```

use std::time::SystemTime;

use futures::TryStreamExt;
use object_store::{Error, GetResult, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use throng_policy::Mode;

use super::leftovers::look_around;
use super::{Documents, Finish, METRICS, STAGING, SUCCESS, already_there, json, not_ours, writing};
use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::place::Place;
use crate::report::REPORT;

/// How often a put is tried again that completes a release which is published already.
const RETRIES: usize = 3;

/// A folder of staged objects below the output. It stays when this is dropped: [`commit`](Self::commit) or
/// [`abandon`](Self::abandon) must be awaited.
#[derive(Debug)]
pub(crate) struct RemoteStaging {
    output: Place,
    staging: Place,
    run_id: String,
    /// The manifest that will be replaced, and the files that it lists.
    replaced: Option<(UpdateVersion, Manifest)>,
    /// What dead runs left behind. It was seen before the commit: whichever run might still need any of it goes by a
    /// manifest that the commit replaces, and can't commit any more.
    leftovers: Vec<Place>,
}

/// Why a release did not become visible.
enum Failure {
    /// It is certainly not published.
    Unpublished(JobError),
    /// The store took the manifest or did not, and could not be asked.
    Unknown(JobError),
}

impl RemoteStaging {
    pub(super) async fn begin(output: &Place, mode: Mode, run_id: &str) -> Result<Self, JobError> {
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
        let old = replaced.as_ref().map(|(_, manifest)| manifest);
        let leftovers = look_around(output, mode, old, SystemTime::now()).await?;
        let staging = output.child(&format!("{STAGING}/{run_id}"));
        Ok(Self { output: output.clone(), staging, run_id: run_id.to_owned(), replaced, leftovers })
    }

    pub(super) fn place(&self) -> Place {
        self.staging.clone()
    }

    /// Copies verified files to their unique names, commits by the manifest, and completes the release. An error means
    /// that nothing is published, or says that this can't be told; after a commit that is known there is none.
    pub(super) async fn commit(self, manifest: Manifest, sidecar: Finish<'_>) -> Result<Vec<FileEntry>, JobError> {
        let named =
            |file: FileEntry| FileEntry { path: file.path.replace("part-", &format!("part-{}-", self.run_id)), ..file };
        let staged: Vec<String> = manifest.files.iter().map(|file| file.path.clone()).collect();
        let manifest = Manifest { files: manifest.files.into_iter().map(named).collect(), ..manifest };
        let result = match self.make_visible(&staged, &manifest, sidecar).await {
            Ok(documents) => {
                self.complete(documents).await;
                self.clean_up().await;
                Ok(manifest.files)
            }
            Err(Failure::Unpublished(error)) => {
                for file in &manifest.files {
                    remove(&self.output.child(&file.path)).await;
                }
                Err(error)
            }
            // A manifest that lists absent files would be worse than files that no manifest lists: those are removed by
            // the next run that commits.
            Err(Failure::Unknown(error)) => Err(error),
        };
        self.abandon().await;
        result
    }

    /// All that happens up to the commit, and the documents as they were at that moment.
    async fn make_visible(
        &self,
        staged: &[String],
        manifest: &Manifest,
        sidecar: Finish<'_>,
    ) -> Result<Documents, Failure> {
        let store = &self.output.store;
        let failed = |error: Error| Failure::Unpublished(self.failed(&error));
        for (from, to) in staged.iter().zip(&manifest.files) {
            store.copy(&self.staging.child(from).path, &self.output.child(&to.path).path).await.map_err(failed)?;
        }
        let documents = Documents::of(&sidecar()).map_err(Failure::Unpublished)?;
        if self.replaced.is_none() {
            return self.put_manifest(manifest).await.map(|()| documents);
        }
        // It must not stand beside the new release before that is complete.
        match store.delete(&self.output.child(SUCCESS).path).await {
            Ok(()) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(error)),
        }
        let committed = self.put_manifest(manifest).await;
        if let Err(Failure::Unpublished(_)) = &committed {
            self.mark_what_stands().await;
        }
        committed.map(|()| documents)
    }

    /// The commit.
    async fn put_manifest(&self, manifest: &Manifest) -> Result<(), Failure> {
        let mode = match &self.replaced {
            None => PutMode::Create,
            Some((version, _)) => PutMode::Update(version.clone()),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let bytes = json(manifest).map_err(Failure::Unpublished)?;
        let put = self.output.store.put_opts(&self.output.child(MANIFEST).path, bytes.into(), options).await;
        let Err(error) = put else { return Ok(()) };
        // The answer of a store that took the manifest may have been lost, and a second try of the client refused then.
        match (self.run_id_in(MANIFEST).await, &error) {
            (Ok(Some(run_id)), _) if run_id == self.run_id => Ok(()),
            (Ok(_), Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                let text = format!("another run published to {} first; its release stands", self.output);
                Err(Failure::Unpublished(JobError::new(Kind::TemporaryIo, text)))
            }
            (Ok(_), _) => Err(Failure::Unpublished(self.failed(&error))),
            (Err(_), _) => {
                let text = format!(
                    "the connection to {} was lost at the moment of publishing; the release is published if \
                     {MANIFEST} names the run {}, and else run again",
                    self.output, self.run_id
                );
                Err(Failure::Unknown(JobError::new(Kind::TemporaryIo, text)))
            }
        }
    }

    /// Adds what is not needed to read the release. It is published by now, so that a failure is only told.
    async fn complete(&self, documents: Documents) {
        match documents.report {
            Some(report) => {
                if let Err(error) = self.put_persistently(REPORT, report.into()).await {
                    tracing::warn!(output = %self.output, %error, "the release is published, but {REPORT} could not be written");
                }
            }
            // That of the replaced release says nothing of this one.
            None if self.replaced.is_some() => remove(&self.output.child(REPORT)).await,
            None => {}
        }
        let completed = match self.put_persistently(METRICS, documents.metrics.into()).await {
            Ok(()) => self.put_persistently(SUCCESS, PutPayload::default()).await,
            Err(error) => {
                // That of the replaced release says nothing of this one.
                if self.replaced.is_some() {
                    remove(&self.output.child(METRICS)).await;
                }
                Err(error)
            }
        };
        if let Err(error) = completed {
            let output = &self.output;
            tracing::warn!(%output, %error, "the release is published, but {METRICS} or {SUCCESS} could not be written");
        }
    }

    async fn put_persistently(&self, name: &str, payload: PutPayload) -> Result<(), Error> {
        let place = self.output.child(name);
        let mut retries = 0;
        loop {
            match place.store.put(&place.path, payload.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) if retries == RETRIES => return Err(error),
                Err(_) => retries += 1,
            }
        }
    }

    /// Removes what the new release replaced, and what dead runs left behind.
    async fn clean_up(&self) {
        for file in self.replaced.iter().flat_map(|(_, manifest)| &manifest.files) {
            remove(&self.output.child(&file.path)).await;
        }
        for place in &self.leftovers {
            remove(place).await;
        }
    }

    /// Puts `_SUCCESS` back after a commit that failed, if the release that stands is complete. One that is not, by a
    /// run that was faster, is marked by that run.
    async fn mark_what_stands(&self) {
        let stands = self.run_id_in(MANIFEST).await.ok().flatten();
        if stands.is_some()
            && stands == self.run_id_in(METRICS).await.ok().flatten()
            && let Err(error) = self.put_persistently(SUCCESS, PutPayload::default()).await
        {
            tracing::warn!(output = %self.output, %error, "the old release stands, but {SUCCESS} could not be put back");
        }
    }

    /// The run that wrote a document of the release, if there is one.
    async fn run_id_in(&self, name: &str) -> Result<Option<String>, Error> {
        #[derive(serde::Deserialize)]
        struct Document {
            run_id: String,
        }
        let Some(found) = read(&self.output.child(name)).await? else { return Ok(None) };
        Ok(serde_json::from_slice(&found.bytes().await?).ok().map(|document: Document| document.run_id))
    }

    fn failed(&self, error: &Error) -> JobError {
        writing(format!("publishing {}", self.output), error)
    }

    /// Removes what was staged.
    pub(super) async fn abandon(&self) {
        match self.staging.store.list(Some(&self.staging.path)).try_collect::<Vec<_>>().await {
            Ok(listed) => {
                for object in listed {
                    remove(&self.staging.at(object.location)).await;
                }
            }
            Err(error) => tracing::warn!(staging = %self.staging, %error, "could not remove staged objects"),
        }
    }
}

/// The object at a place, if there is one.
async fn read(place: &Place) -> Result<Option<GetResult>, Error> {
    match place.store.get(&place.path).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn remove(place: &Place) {
    match place.store.delete(&place.path).await {
        Ok(()) | Err(Error::NotFound { .. }) => {}
        Err(error) => tracing::warn!(%place, %error, "could not remove an object"),
    }
}
