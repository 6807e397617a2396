//! Publish: make a verified release visible, all of it or nothing.
//!
//! ```text
//!                  write, read back                    clean
//!  begin ──► Staged ─────────────► Verified ──► Committed ──► files of the release
//!              │                       │ commit      │
//!              │ any error, a stop     │ any error,  │ an error is told in the log:
//!              ▼                       ▼ a lost race ▼ the release is published
//!           abandon: nothing is left, and what stood before stands
//! ```
//!
//! Each state is a type, and each step takes the state before it: [`Staged::verified`] asks for files that were
//! [read back](crate::readback), and only a [`Verified`] release has a commit. The commit point is one operation:
//!
//! | | staged | commit point | cleaned |
//! |---|---|---|---|
//! | local | a hidden folder beside the output, locked while its run lives | one rename; one exchange of two folders where a release is replaced | the replaced folder |
//! | store | objects below `_throng/staging/<run>/` | one conditional put of the manifest | replaced files, leftovers of dead runs, staged objects |
//!
//! On a store the order around the commit is what readers rely on:
//!
//! ```text
//!  remove _SUCCESS ─► copy to part-<run>-* ─► put the manifest ─► remove old parts ─► metrics.json ─► _SUCCESS
//!  └─────── an error takes all of it back ──────┘   └─────── nothing of the new release is removed ───────┘
//! ```
//!
//! Whoever reads by the manifest sees exactly the old or the new release. Whoever lists the folder sees verified files only,
//! and `_SUCCESS` only while those of one release, and no others, are there. A process that is killed leaves what
//! [`leftovers`] recognises: the next run removes it, or [`clean`](crate::clean).

#[cfg(test)]
mod failing_store;
mod local;
pub(crate) mod orphans;
mod probe;
mod remote;

use throng_policy::{Commit, Mode};
use throng_report::document::RunFacts;
use throng_report::{Sidecar, report};

use crate::error::{JobError, Kind, NO_CREDENTIALS, lacks_credentials, store_reason};
use crate::manifest::{self, FileEntry, Manifest};
use crate::readback::ReadBack;
use crate::store_path::StorePath;

use local::LocalSite;
use remote::RemoteSite;

/// Where the sidecar is, below the output location.
pub(crate) const METRICS: &str = "_throng/metrics.json";
/// Where the report is, below the output location.
const REPORT: &str = "_throng/report.html";
/// Where runs on an object store stage their files, each in a folder of its own.
const STAGING: &str = "_throng/staging";
/// Written last; empty.
pub(crate) const SUCCESS: &str = "_SUCCESS";

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

/// Where a release is staged and published.
#[derive(Debug)]
enum Site {
    Local(LocalSite),
    Remote(Box<RemoteSite>),
}

/// A release that is being written, and that nobody sees.
///
/// On the local file system dropping it gives it up. On an object store [`abandon`](Self::abandon) must be awaited for
/// that.
#[derive(Debug)]
pub(crate) struct Staged(Site);

/// A release that was read back and keeps its promise, and that nobody sees yet.
#[derive(Debug)]
pub(crate) struct Verified {
    site: Site,
    files: Vec<FileEntry>,
}

/// A release that is visible. What it replaced may still be there.
#[derive(Debug)]
pub(crate) struct Committed {
    site: Site,
    manifest: Manifest,
    /// What is yet to be put beside it, as it was at the commit; none where that is part of the commit.
    documents: Option<Documents>,
}

impl Staged {
    /// Prepares a staging place for an output location, after making sure that the output may be written.
    pub(crate) async fn begin(output: &StorePath, mode: Mode, commit: Commit, run_id: &str) -> Result<Self, JobError> {
        if output.is_web() {
            return Err(JobError::new(
                Kind::BadPolicy,
                format!(
                    "{output} can only be read; choose a folder, or a location that begins with s3://, gs:// or az://"
                ),
            ));
        }
        let site = match output.local_path() {
            Some(path) => Site::Local(LocalSite::begin(path, mode, run_id)?),
            None => Site::Remote(Box::new(RemoteSite::begin(output, mode, commit, run_id).await?)),
        };
        Ok(Self(site))
    }

    /// Where staged data files go.
    pub(crate) fn place(&self) -> Result<StorePath, JobError> {
        match &self.0 {
            Site::Local(site) => site.place(),
            Site::Remote(site) => Ok(site.place()),
        }
    }

    /// Where machines of a cluster stage files, each under the name of an attempt.
    ///
    /// On a local file system the folder that is published must hold verified files only, and an attempt that was given up
    /// may still write. So attempts have a folder of their own.
    pub(crate) fn attempts(&self) -> Result<StorePath, JobError> {
        match &self.0 {
            Site::Local(site) => site.attempts(),
            Site::Remote(site) => Ok(site.place()),
        }
    }

    /// The attempts that succeeded, as files of the staging place.
    pub(crate) async fn take(&self, attempts: Vec<FileEntry>) -> Result<Vec<FileEntry>, JobError> {
        match &self.0 {
            Site::Local(site) => site.take(attempts),
            // They are copied to other names in any case.
            Site::Remote(_) => Ok(attempts),
        }
    }

    /// What was staged is what was read back.
    pub(crate) fn verified(self, read_back: ReadBack) -> Verified {
        Verified { site: self.0, files: read_back.into_files() }
    }

    /// Removes everything that was staged.
    pub(crate) async fn abandon(self) {
        match self.0 {
            Site::Local(site) => drop(site),
            Site::Remote(site) => site.abandon().await,
        }
    }
}

impl Verified {
    /// Makes the release visible. An error means that it is not, and that what was staged is gone; or it says that it can't
    /// tell.
    pub(crate) async fn commit(
        self,
        run: &RunFacts,
        input_digest: Option<String>,
        sidecar: Finish<'_>,
    ) -> Result<Committed, JobError> {
        let manifest = Manifest {
            schema_version: manifest::SCHEMA_VERSION,
            throng_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run.run_id.clone(),
            policy_digest: run.policy_digest.clone(),
            input_digest,
            files: self.files,
        };
        match self.site {
            Site::Local(site) => {
                site.commit(&manifest, sidecar)?;
                Ok(Committed { site: Site::Local(site), manifest, documents: None })
            }
            Site::Remote(site) => {
                let (manifest, documents) = site.commit(manifest, sidecar).await?;
                Ok(Committed { site: Site::Remote(site), manifest, documents: Some(documents) })
            }
        }
    }
}

impl Committed {
    /// Completes the release, and removes what it replaced and what it was staged in. Nothing here can fail the job any
    /// more.
    pub(crate) async fn clean(self) -> Vec<FileEntry> {
        match (self.site, self.documents) {
            (Site::Local(site), _) => site.clean(),
            (Site::Remote(site), Some(documents)) => site.clean(documents).await,
            (Site::Remote(_), None) => {}
        }
        self.manifest.files
    }
}

/// The name of a data file without that of its attempt.
fn without_attempt(path: &str) -> String {
    let number = path.trim_start_matches("part-").split(['-', '.']).next().unwrap_or_default();
    format!("part-{number}.parquet")
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
        _ if lacks_credentials(error) => NO_CREDENTIALS,
        _ => "try again",
    };
    JobError::new(Kind::TemporaryIo, format!("{doing}: {}; {advice}", store_reason(error)))
}

fn already_there(output: &impl std::fmt::Display) -> JobError {
    let advice = "set `mode = \"overwrite\"` under [output], pass --overwrite, or choose another location";
    JobError::new(Kind::BadPolicy, format!("{output} already holds files; {advice}"))
}

fn not_ours(output: &impl std::fmt::Display) -> JobError {
    let text = format!("{output} holds files that are not a release of Throng, and they are not overwritten");
    JobError::new(Kind::BadPolicy, format!("{text}; choose another location, or remove them"))
}

/// Two runs at once: this one was slower.
fn lost(output: &impl std::fmt::Display) -> JobError {
    JobError::new(Kind::TemporaryIo, format!("another run published to {output} first; its release stands"))
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
