//! Completes a release whose run ended between its commit and its last document.

use object_store::{Error, ObjectStoreExt, PutPayload};

use super::orphans::StoreOrphans;
use super::remote::run_id_in;
use super::{METRICS, REPORT, SUCCESS};
use crate::manifest::Manifest;
use crate::store_path::StorePath;

/// Writes `_SUCCESS` for the current release on a store, if it is missing and no other run is in progress. Documents that
/// describe another release are removed. Never fails the job: readers of the manifest miss nothing.
pub(crate) async fn complete_existing(output: &StorePath, manifest: &Manifest) {
    // On the local file system a release appears all at once.
    if output.local_path().is_some() {
        return;
    }
    let marker = output.child(SUCCESS);
    if !matches!(marker.store.head(&marker.path).await, Err(Error::NotFound { .. })) {
        return;
    }
    // A run that is about to commit has removed the marker, and has files in addition to those of the release.
    match StoreOrphans::look(output, Some(manifest), &[]).await {
        Ok(around) if around.unlisted.is_empty() && !around.has_files_of_others => {}
        _ => return,
    }
    let Ok(described) = run_id_in(output, METRICS).await else { return };
    if described.as_ref() != Some(&manifest.run_id) {
        for name in [METRICS, REPORT] {
            let place = output.child(name);
            match place.store.delete(&place.path).await {
                Ok(()) | Err(Error::NotFound { .. }) => {}
                Err(_) => return,
            }
        }
    }
    match marker.store.put(&marker.path, PutPayload::default()).await {
        Ok(_) => tracing::info!(%output, "the current release was completed"),
        Err(_) => tracing::warn!(%output, "the current release is published, but {SUCCESS} could not be written"),
    }
}
