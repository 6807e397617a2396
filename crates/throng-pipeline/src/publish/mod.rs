//! Publish: make a verified release visible, all of it or nothing.
//!
//! ```text
//!            stage               verify              commit
//!  Staged ───────────► files ───────────► verified ──────────► Release visible
//!     │ any error              │ any doubt           │ lost the race
//!     └──────────────┬─────────┴─────────────────────┘
//!                    ▼
//!           staging is removed
//! ```
//!
//! On the local file system a release is assembled in a hidden folder beside the output and appears by one rename. On an
//! object store staged files lie below `_throng/staging/`; verified ones are copied to unique names, and the conditional
//! put of the manifest is the commit. Before the commit any error takes back what was done. After it the release is
//! published: what fails then is told in the log, and nothing of the release is removed.

#[cfg(test)]
mod failing_store;
mod leftovers;
mod local;
mod remote;

use throng_policy::Mode;

use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, Manifest};
use crate::place::Place;
use crate::report::report;
use crate::sidecar::Sidecar;

use local::LocalStaging;
use remote::RemoteStaging;

/// Where the sidecar is, below the output location.
const METRICS: &str = "_throng/metrics.json";
/// Where runs on an object store stage their files, each in a folder of its own.
const STAGING: &str = "_throng/staging";
/// Written last; empty.
const SUCCESS: &str = "_SUCCESS";

/// Completes the sidecar at the moment when it is written.
pub(crate) type Finish<'a> = &'a mut (dyn FnMut() -> Sidecar + Send);

/// What is published beside the data.
#[derive(Debug)]
struct Documents {
    metrics: Vec<u8>,
    /// The same for people, where the policy asks for it.
    report: Option<Vec<u8>>,
}

impl Documents {
    fn of(sidecar: &Sidecar) -> Result<Self, JobError> {
        let report = sidecar.has_report.then(|| report(sidecar).into_bytes());
        Ok(Self { metrics: json(sidecar)?, report })
    }
}

/// A release that is not visible yet.
///
/// On the local file system dropping it gives it up. On an object store [`abandon`](Self::abandon) must be awaited for
/// that; a process that is killed leaves objects below `_throng/staging/`, which a later run removes after its commit,
/// once they are older than a day.
#[derive(Debug)]
pub(crate) enum Staging {
    Local(LocalStaging),
    Remote(Box<RemoteStaging>),
}

impl Staging {
    /// Prepares a staging place for an output location, after making sure that the output may be written.
    pub(crate) async fn begin(output: &Place, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        match output.local_path() {
            Some(path) => LocalStaging::begin(path, mode, run_id).map(Self::Local),
            None => RemoteStaging::begin(output, mode, run_id).await.map(|staging| Self::Remote(Box::new(staging))),
        }
    }

    /// Where staged data files go.
    pub(crate) fn place(&self) -> Result<Place, JobError> {
        match self {
            Self::Local(staging) => staging.place(),
            Self::Remote(staging) => Ok(staging.place()),
        }
    }

    /// Makes a verified release visible. An error means that it is not, except where it says that it can't tell.
    pub(crate) async fn commit(self, manifest: Manifest, sidecar: Finish<'_>) -> Result<Vec<FileEntry>, JobError> {
        match self {
            Self::Local(staging) => staging.commit(manifest, sidecar),
            Self::Remote(staging) => staging.commit(manifest, sidecar).await,
        }
    }

    /// Removes everything that was staged.
    pub(crate) async fn abandon(self) {
        match self {
            Self::Local(staging) => drop(staging),
            Self::Remote(staging) => staging.abandon().await,
        }
    }
}

fn json<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, JobError> {
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|_| JobError::internal("a document could not be written"))?;
    text.push(b'\n');
    Ok(text)
}

/// An error of an object store while the output was written or looked at. Whatever is missing then is not the input.
pub(crate) fn writing(doing: impl std::fmt::Display, error: &object_store::Error) -> JobError {
    use object_store::Error as Store;
    let advice = match error {
        Store::NotFound { .. } => "check that the output location exists, then run again",
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => "check the credentials in the environment",
        _ => "try again",
    };
    let error = error.to_string();
    JobError::new(Kind::TemporaryIo, format!("{doing}: {}; {advice}", error.lines().next().unwrap_or_default()))
}

fn already_there(output: &impl std::fmt::Display) -> JobError {
    let advice = "set `mode = \"overwrite\"` under [output], pass --overwrite, or choose another location";
    JobError::new(Kind::BadPolicy, format!("{output} already holds files; {advice}"))
}

fn not_ours(output: &impl std::fmt::Display) -> JobError {
    let text = format!("{output} holds files that are not a release of Throng, and they are not overwritten");
    JobError::new(Kind::BadPolicy, format!("{text}; choose another location, or remove them"))
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
