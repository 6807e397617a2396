//! Reads the sidecar of a published release.

use object_store::ObjectStoreExt;
use throng_report::Sidecar;

use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// Reads the sidecar of a release; `location` is its `metrics.json` or the folder of the release.
pub async fn read_sidecar(location: &str) -> Result<Sidecar, JobError> {
    let place = StorePath::parse(location)?;
    let place = if location.ends_with(".json") { place } else { place.child("_throng/metrics.json") };
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    let bytes = match place.store.get(&place.path).await {
        Ok(found) => found.bytes().await.map_err(failed)?,
        Err(error) if is_missing(&error) => {
            let text = format!("there is no {place}; name the metrics.json of a release, or its folder");
            return Err(JobError::new(Kind::NoInput, text));
        }
        Err(error) => return Err(failed(error)),
    };
    Sidecar::parse(&bytes).ok_or_else(|| {
        let text = format!("{place} is damaged, or is not a metrics.json of this version of Throng");
        JobError::new(Kind::BadData, text)
    })
}

/// Whether the path does not exist, or has a file where a folder should be.
fn is_missing(error: &object_store::Error) -> bool {
    let mut sources = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    matches!(error, object_store::Error::NotFound { .. })
        || sources.any(|source| {
            let found = source.downcast_ref::<std::io::Error>();
            found.is_some_and(|error| error.kind() == std::io::ErrorKind::NotADirectory)
        })
}
