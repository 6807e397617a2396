//! Compares the documents of a release with its rows: what is published with the data must match it.

use object_store::ObjectStoreExt;
use throng_core::verify::{Findings, Promise};
use throng_report::Sidecar;
use throng_report::document::{PrivacyFacts, PrivacyUnit, Requirement};

use crate::error::{JobError, Kind};
use crate::manifest::Manifest;
use crate::store_path::StorePath;

/// Path of the sidecar below the output location.
const SIDECAR: &str = "_throng/metrics.json";

/// Returns an error if the manifest or the sidecar of a release contradicts the findings in its rows. The sidecar may be missing.
/// Figures of classes are compared if the promise has the same quasi-identifiers as the sidecar, and requirements if they are the
/// same; the sidecar of a release that was appended to describes the last append.
pub(crate) async fn check_documents(
    place: &StorePath,
    manifest: &Manifest,
    promise: &Promise,
    findings: &Findings,
) -> Result<(), JobError> {
    let listed: u64 = manifest.files.iter().map(|file| file.rows).sum();
    if listed != findings.rows {
        return Err(refused(place, "manifest.json", "rows"));
    }
    let document = place.child(SIDECAR);
    let failed = |error| JobError::storage(format!("reading {document}"), &error);
    let bytes = match document.store.get(&document.path).await {
        Ok(found) => found.bytes().await.map_err(failed)?,
        Err(object_store::Error::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let Some(sidecar) = Sidecar::parse(&bytes) else {
        let text =
            format!("the release is refused: {document} is damaged, or was written by another version of Throng");
        return Err(JobError::new(Kind::Verification, text));
    };
    match difference(&sidecar, manifest, promise, findings) {
        Some(what) => Err(refused(place, "metrics.json", what)),
        None => Ok(()),
    }
}

fn refused(place: &StorePath, document: &str, what: &str) -> JobError {
    let text = format!(
        "the release is refused: the {what} in _throng/{document} of {place} are not those of the release; it was changed after \
         it was published"
    );
    JobError::new(Kind::Verification, text)
}

/// Returns what differs.
fn difference(sidecar: &Sidecar, manifest: &Manifest, promise: &Promise, findings: &Findings) -> Option<&'static str> {
    if sidecar.run_id != manifest.run_id || sidecar.policy_digest != manifest.policy_digest {
        return Some("run and policy");
    }
    if !sidecar.privacy.satisfied {
        return Some("requirements");
    }
    // Several tables are counted one by one.
    if manifest.appended.is_some() || !sidecar.tables.is_empty() {
        return None;
    }
    if sidecar.output.rows != findings.rows {
        return Some("rows");
    }
    if !has_quasi_identifiers(sidecar, promise) {
        return None;
    }
    if sidecar.utility.classes != findings.classes {
        return Some("classes");
    }
    // Units are not released, so rows are counted here.
    if sidecar.privacy.counts == PrivacyUnit::Units {
        return None;
    }
    let found = PrivacyFacts::of(findings).requirements;
    let is_same =
        |a: &Requirement, b: &Requirement| (&a.model, &a.column, a.required) == (&b.model, &b.column, b.required);
    let differs = |said: &Requirement| {
        found.iter().find(|found| is_same(found, said)).is_some_and(|found| found.achieved != said.achieved)
    };
    sidecar.privacy.requirements.iter().any(differs).then_some("requirements")
}

/// Whether the quasi-identifiers of a promise are those that a sidecar describes. With bounds, one quasi-identifier
/// becomes two columns.
fn has_quasi_identifiers(sidecar: &Sidecar, promise: &Promise) -> bool {
    let described = |name: &str| {
        let stem = name.strip_suffix("_min").or_else(|| name.strip_suffix("_max"));
        let mut names = [Some(name), stem].into_iter().flatten();
        names.find(|name| sidecar.utility.columns.contains_key(*name)).map(str::to_owned)
    };
    let names: Option<std::collections::BTreeSet<String>> = promise.quasi.iter().map(|name| described(name)).collect();
    names.is_some_and(|names| names.len() == sidecar.utility.columns.len())
}
