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
//! put of the manifest is the commit.

mod local;
mod remote;

use throng_policy::Mode;

use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, Manifest};
use crate::place::Place;
use crate::sidecar::Sidecar;

use local::LocalStaging;
use remote::RemoteStaging;

/// Where the manifest is, below the output location.
const MANIFEST: &str = "_throng/manifest.json";
/// Where the sidecar is.
const METRICS: &str = "_throng/metrics.json";
/// Written last; empty.
const SUCCESS: &str = "_SUCCESS";

/// Completes the sidecar at the moment when it is written.
pub(crate) type Finish<'a> = &'a mut (dyn FnMut() -> Sidecar + Send);

/// A release that is not visible yet. Dropping it gives it up.
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

    /// Makes a verified release visible.
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
