//! Finds the release that rows may be appended to.
//!
//! The manifest is the memory of an appended release: it says which input files were released. Without it, or with an earlier
//! one, files would be released a second time, in other classes, and both releases together disclose more than one. So a
//! missing, damaged or outdated manifest is refused. The sidecar reveals an outdated one, because it is always written after
//! the manifest.

use object_store::ObjectStoreExt;
use throng_policy::Policy;
use throng_report::Sidecar;

use crate::error::{JobError, Kind};
use crate::manifest::{MANIFEST, Manifest, policy_digest};
use crate::publish::METRICS;
use crate::store_path::StorePath;

/// Advice on how to continue without the manifest.
const BEGIN_AGAIN: &str = "restore it from a backup, or begin a new release at another location";

/// Returns the manifest of the release at an output; `None` if there is no release.
pub(super) async fn appendable(output: &StorePath, policy: &Policy) -> Result<Option<Manifest>, JobError> {
    let sidecar = read(output, METRICS).await?;
    let Some(bytes) = read(output, MANIFEST).await? else {
        return match sidecar {
            None => Ok(None),
            Some(_) => {
                Err(refused(format!("{output} has a release whose manifest {MANIFEST} was lost; {BEGIN_AGAIN}")))
            }
        };
    };
    let Some(manifest) = Manifest::parse(&bytes) else {
        return Err(refused(format!(
            "the manifest {MANIFEST} of {output} is damaged, or of a later version; {BEGIN_AGAIN}"
        )));
    };
    let Some(appended) = &manifest.appended else {
        return Err(refused(format!(
            "{output} holds a release that was not made by appending, and its rows can't be distinguished from new ones; choose another \
             location"
        )));
    };
    let counted = sidecar.as_deref().and_then(Sidecar::parse).and_then(|sidecar| sidecar.append);
    if counted.is_some_and(|counted| counted.appends > appended.appends) {
        return Err(refused(format!(
            "the manifest {MANIFEST} of {output} is older than its release, and files that were released would be released again; \
             {BEGIN_AGAIN}"
        )));
    }
    if manifest.policy_digest != policy_digest(policy)? {
        return Err(refused(format!(
            "the policy, its seed or the secret is not the one that {output} was made with, and the files of one release must \
             have one promise; take the change back, or choose another location"
        )));
    }
    if !manifest.is_in(policy.output.data_folder.as_deref()) {
        return Err(refused(format!(
            "the files of {output} are not in the `data_folder` of the policy, and all files of a release lie in one folder; take \
             the change back, or choose another location"
        )));
    }
    Ok(Some(manifest))
}

async fn read(output: &StorePath, name: &str) -> Result<Option<Vec<u8>>, JobError> {
    let place = output.child(name);
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    match place.store.get(&place.path).await {
        Ok(found) => Ok(Some(found.bytes().await.map_err(failed)?.to_vec())),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn refused(message: String) -> JobError {
    JobError::new(Kind::BadPolicy, message)
}
