//! Publish on an object store: unique names, and one conditional put of the manifest.

use futures::TryStreamExt;
use object_store::{ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use throng_policy::Mode;

use super::{Finish, MANIFEST, METRICS, SUCCESS, already_there, json, not_ours};
use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, Manifest};
use crate::place::Place;

/// A folder of staged objects below the output.
#[derive(Debug)]
pub(crate) struct RemoteStaging {
    output: Place,
    staging: Place,
    run_id: String,
    /// The manifest that will be replaced, and the files that it lists.
    replaced: Option<(UpdateVersion, Manifest)>,
}

impl RemoteStaging {
    pub(super) async fn begin(output: &Place, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        let failed = |error| JobError::storage(format!("looking at {output}"), &error);
        let manifest = output.child(MANIFEST);
        let replaced = match output.store.get(&manifest.path).await {
            Ok(found) => {
                if mode == Mode::Error {
                    return Err(already_there(output));
                }
                let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
                let bytes = found.bytes().await.map_err(failed)?;
                let manifest = serde_json::from_slice(&bytes).map_err(|_| not_ours(output))?;
                Some((version, manifest))
            }
            Err(object_store::Error::NotFound { .. }) => {
                check_empty(output, mode).await?;
                None
            }
            Err(error) => return Err(failed(error)),
        };
        let staging = output.child(&format!("_throng/staging/{run_id}"));
        Ok(Self { output: output.clone(), staging, run_id: run_id.to_owned(), replaced })
    }

    pub(super) fn place(&self) -> Place {
        self.staging.clone()
    }

    /// Copies verified files to their unique names, commits by the manifest, and completes the release.
    pub(super) async fn commit(self, manifest: Manifest, sidecar: Finish<'_>) -> Result<Vec<FileEntry>, JobError> {
        let named =
            |file: FileEntry| FileEntry { path: file.path.replace("part-", &format!("part-{}-", self.run_id)), ..file };
        let staged: Vec<String> = manifest.files.iter().map(|file| file.path.clone()).collect();
        let manifest = Manifest { files: manifest.files.into_iter().map(named).collect(), ..manifest };
        let result = self.make_visible(&staged, &manifest, sidecar).await;
        if result.is_err() {
            for file in &manifest.files {
                remove(&self.output.child(&file.path)).await;
            }
        }
        self.abandon().await;
        result.map(|()| manifest.files)
    }

    async fn make_visible(&self, staged: &[String], manifest: &Manifest, sidecar: Finish<'_>) -> Result<(), JobError> {
        let store = &self.output.store;
        let failed = |error| JobError::storage(format!("publishing {}", self.output), &error);
        for (from, to) in staged.iter().zip(&manifest.files) {
            store.copy(&self.staging.child(from).path, &self.output.child(&to.path).path).await.map_err(failed)?;
        }
        let mode = match &self.replaced {
            None => PutMode::Create,
            Some((version, _)) => PutMode::Update(version.clone()),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let place = self.output.child(MANIFEST);
        match store.put_opts(&place.path, PutPayload::from(json(manifest)?), options).await {
            Ok(_) => {}
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                let text = format!("another run published to {} first; its release stands", self.output);
                return Err(JobError::new(Kind::TemporaryIo, text));
            }
            Err(error) => return Err(failed(error)),
        }
        // From here on the release is published; the rest completes it.
        store.put(&self.output.child(METRICS).path, json(&sidecar())?.into()).await.map_err(failed)?;
        store.put(&self.output.child(SUCCESS).path, PutPayload::default()).await.map_err(failed)?;
        for file in self.replaced.iter().flat_map(|(_, manifest)| &manifest.files) {
            remove(&self.output.child(&file.path)).await;
        }
        Ok(())
    }

    pub(super) async fn abandon(&self) {
        let listed = self.staging.store.list(Some(&self.staging.path)).try_collect::<Vec<_>>().await;
        for object in listed.unwrap_or_default() {
            remove(&self.staging.at(object.location)).await;
        }
    }
}

/// Without a manifest of ours, nothing else may be there either.
async fn check_empty(output: &Place, mode: Mode) -> Result<(), JobError> {
    let mut listed = output.store.list(Some(&output.path));
    let failed = |error| JobError::storage(format!("looking at {output}"), &error);
    while let Some(object) = listed.try_next().await.map_err(failed)? {
        let below = object.location.prefix_match(&output.path).and_then(|mut parts| parts.next());
        let is_ours = below.is_some_and(|part| part.as_ref() == "_throng");
        if !is_ours {
            return Err(if mode == Mode::Error { already_there(output) } else { not_ours(output) });
        }
    }
    Ok(())
}

async fn remove(place: &Place) {
    match place.store.delete(&place.path).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => tracing::warn!(%place, %error, "could not remove an object"),
    }
}
