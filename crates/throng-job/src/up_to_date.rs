//! Whether a run would reproduce the current release: same input, policy and version.
//!
//! The manifest has digests of the input and the policy of a release. If in doubt the answer is no, and the job runs: a
//! file was removed or has another size, a release is incomplete, or the version of the input is unknown.

use std::collections::HashMap;
use std::time::SystemTime;

use futures::TryStreamExt;
use object_store::ObjectStoreExt;
use throng_policy::{OutputFormat, Policy};

use crate::error::JobError;
use crate::input::current_fingerprint;
use crate::manifest::{MANIFEST, Manifest, input_digest, policy_digest};
use crate::publish::delta_files::DeltaFiles;
use crate::publish::{METRICS, REPORT, SUCCESS};
use crate::store_path::StorePath;

/// A release that a run would only reproduce.
#[derive(Clone, Debug)]
pub struct CurrentRelease {
    /// Output location.
    pub location: String,
    /// Manifest of the release.
    pub manifest: Manifest,
}

/// Returns the current release, if a run of this policy would reproduce it. Reads no rows and writes nothing.
pub async fn up_to_date(policy: &Policy) -> Result<Option<CurrentRelease>, JobError> {
    let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
    let found = match policy.output.format {
        OutputFormat::Parquet => complete_release(&output).await,
        OutputFormat::Delta => complete_version(&output).await,
    };
    let why = match &found {
        None => Some("no complete release of one run is there"),
        Some(manifest) => difference(manifest, policy, &output).await?,
    };
    if let Some(why) = why {
        tracing::info!(why, "the job runs");
    }
    Ok(found.filter(|_| why.is_none()).map(|manifest| CurrentRelease { location: output.to_string(), manifest }))
}

/// Returns the reason why a run of this policy would not reproduce the current release.
async fn difference(
    manifest: &Manifest,
    policy: &Policy,
    output: &StorePath,
) -> Result<Option<&'static str>, JobError> {
    if manifest.throng_version != env!("CARGO_PKG_VERSION") {
        return Ok(Some("the release is of another version of Throng"));
    }
    if manifest.policy_digest != policy_digest(policy)? {
        return Ok(Some("the release is of another policy"));
    }
    if !policy.has_tables() && !manifest.is_in(policy.output.data_folder.as_deref()) {
        return Ok(Some("the data files of the release are in another folder"));
    }
    let report = output.child(REPORT);
    if policy.output.report && report.store.head(&report.path).await.is_err() {
        return Ok(Some("the report of the release is missing"));
    }
    let Some(digest) = &manifest.input_digest else {
        return Ok(Some("the input was too recent, when it was released, to detect later changes"));
    };
    Ok(match current_fingerprint(policy).await? {
        None => Some("the input is too recent to detect changes"),
        Some(fingerprint) if *digest != input_digest(policy, &fingerprint)? => Some("the input has changed"),
        Some(_) => None,
    })
}

/// Returns the manifest at a location, if the metrics there are of the same run.
async fn documented_release(output: &StorePath) -> Option<Manifest> {
    let document = async |name: &str| {
        let place = output.child(name);
        let found = place.store.get(&place.path).await.ok()?;
        found.bytes().await.ok()
    };
    let manifest = Manifest::parse(&document(MANIFEST).await?)?;
    let metrics: serde_json::Value = serde_json::from_slice(&document(METRICS).await?).ok()?;
    (metrics["run_id"] == manifest.run_id.as_str()).then_some(manifest)
}

/// Returns the manifest of a Delta table, if its latest version is that of the manifest and all of its files exist.
async fn complete_version(output: &StorePath) -> Option<Manifest> {
    let manifest = documented_release(output).await?;
    let table = DeltaFiles::look(output, SystemTime::now()).await.ok()?.table?;
    let is_latest = manifest.table_version == Some(table.latest.version)
        && table.latest_run.as_ref() == Some(&manifest.run_id)
        && table.latest.files.len() == manifest.files.len();
    for file in &manifest.files {
        let place = output.child(&file.path);
        let found = place.store.head(&place.path).await.ok()?;
        let is_listed = table.latest.files.iter().any(|listed| listed.path == file.path);
        if !is_listed || found.size != file.bytes {
            return None;
        }
    }
    is_latest.then_some(manifest)
}

/// Returns the manifest of the release at a location, if the release is complete and alone.
async fn complete_release(output: &StorePath) -> Option<Manifest> {
    let manifest = documented_release(output).await?;
    let listed: Vec<_> = output.store.list(Some(&output.path)).try_collect().await.ok()?;
    let mut sizes: HashMap<String, u64> = HashMap::new();
    for object in listed {
        let parts: Vec<String> =
            object.location.prefix_match(&output.path)?.map(|part| part.as_ref().to_owned()).collect();
        if parts.first().is_none_or(|first| first != "_throng") {
            sizes.insert(parts.join("/"), object.size);
        }
    }
    // Some tools create an empty object with the name of a folder.
    sizes.remove("");
    sizes.remove(SUCCESS)?;
    let is_there = manifest.files.iter().all(|file| sizes.get(&file.path) == Some(&file.bytes));
    (is_there && sizes.len() == manifest.files.len()).then_some(manifest)
}
