//! `throng report` and `report = true`: one page that a privacy officer reads without knowing the code.
//!
//! It is made of the sidecar and of nothing else, so that it tells no more than is published already, and every figure in
//! it has the place that it has there (`data-key`). No script, no font and no picture comes from anywhere.

mod classes;
mod detail;
mod diversity;
mod limits;
pub(crate) mod numbers;
pub(crate) mod page;
mod promise;
mod reproduce;
mod requirements;
mod risk;
mod suppressed;
mod time;

use object_store::ObjectStoreExt;

use crate::error::{JobError, Kind};
use crate::place::Place;
use crate::sidecar::Sidecar;

/// Where the report is, below the output location.
pub(crate) const REPORT: &str = "_throng/report.html";

/// The report of a release.
pub fn report(sidecar: &Sidecar) -> String {
    page::page("Release report", |body| {
        promise::write(body, sidecar);
        requirements::write(body, sidecar);
        risk::write(body, sidecar);
        classes::write(body, sidecar);
        diversity::write(body, sidecar);
        detail::write(body, sidecar);
        suppressed::write(body, sidecar);
        limits::write(body, sidecar);
        time::write(body, sidecar);
        reproduce::write(body, sidecar);
    })
}

/// Reads the sidecar of a release: its `metrics.json`, or the folder of the release.
pub async fn read_sidecar(location: &str) -> Result<Sidecar, JobError> {
    let place = Place::parse(location)?;
    let place = if location.ends_with(".json") { place } else { place.child("_throng/metrics.json") };
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    let bytes = match place.store.get(&place.path).await {
        Ok(found) => found.bytes().await.map_err(failed)?,
        Err(error) if is_nowhere(&error) => {
            let text = format!("there is no {place}; name the metrics.json of a release, or its folder");
            return Err(JobError::new(Kind::NoInput, text));
        }
        Err(error) => return Err(failed(error)),
    };
    Sidecar::parse(&bytes).ok_or_else(|| {
        let text = format!("{place} is damaged, or is no metrics.json of this version of Throng");
        JobError::new(Kind::BadData, text)
    })
}

/// Whether nothing is there: no file, or a file where a folder was named.
fn is_nowhere(error: &object_store::Error) -> bool {
    let mut sources = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    matches!(error, object_store::Error::NotFound { .. })
        || sources.any(|source| {
            let found = source.downcast_ref::<std::io::Error>();
            found.is_some_and(|error| error.kind() == std::io::ErrorKind::NotADirectory)
        })
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
