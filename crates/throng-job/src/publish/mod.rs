//! Publish: make a verified release visible, all of it or nothing.
//!
//! ```text
//!                  write, read back                    clean
//!  begin ──► Staged ─────────────► Verified ──► Committed ──► files of the release
//!              │                       │ commit      │
//!              │ any error, a stop     │ any error,  │ an error is logged:
//!              ▼                       ▼ a lost race ▼ the release is published
//!           abandon: nothing is left, and the earlier release stays
//! ```
//!
//! Each state is a type, and each step consumes the previous state: [`Staged::verified`] requires files that were [read
//! back](crate::readback), and only a [`Verified`] release can be committed. The commit is one operation:
//!
//! | | staging | commit | cleanup |
//! |---|---|---|---|
//! | local | a hidden folder beside the output, locked while its run lives | one rename; one exchange of two folders where a release is replaced | the replaced folder |
//! | Delta table | as on the same kind of storage | one exclusive creation of a log entry | files that no version needs any more, staged objects |
//! | store | objects below `_throng/staging/<run>/` | one conditional put of the manifest | replaced files, orphans of dead runs, staged objects |
//!
//! On a store, readers rely on the order around the commit:
//!
//! ```text
//!  remove _SUCCESS ─► copy to part-<run>-* ─► put the manifest ─► remove old parts ─► metrics.json ─► _SUCCESS
//!  └─────── an error takes all of it back ──────┘   └─────── nothing of the new release is removed ───────┘
//! ```
//!
//! An append ([`Verified::appending`]) commits in the same way, with the files of the current release among the new ones: on the
//! local file system as links in the staging, on a store by their names in the manifest.
//!
//! A reader of the manifest sees exactly the old or the new release. A reader that lists the folder sees verified files
//! only, and `_SUCCESS` only while the files of exactly one release exist. A process that is killed leaves what
//! [`orphans`] recognizes: the next run or [`clean`](crate::clean) removes it.

mod delta;
pub(crate) mod delta_files;
mod existing;
#[cfg(test)]
mod failing_store;
mod local;
pub(crate) mod orphans;
mod probe;
mod remote;

use datafusion::arrow::datatypes::SchemaRef;
use throng_policy::{Commit, Mode, OutputFormat, Policy};
use throng_report::document::RunFacts;
use throng_report::{Sidecar, report};

use crate::error::{JobError, Kind, is_bucket_missing, storage_kind, store_reason};
use crate::manifest::{AppendedInputs, FileEntry, Manifest};
use crate::readback::ReadBack;
use crate::store_path::StorePath;

use delta::DeltaSite;
pub(crate) use existing::complete_existing;
use local::LocalSite;
use remote::RemoteSite;

/// Path of the sidecar below the output location.
pub(crate) const METRICS: &str = "_throng/metrics.json";
/// Path of the report below the output location.
pub(crate) const REPORT: &str = "_throng/report.html";
/// Parent of the staging prefixes of runs on an object store.
const STAGING: &str = "_throng/staging";
/// Empty marker, written last.
pub(crate) const SUCCESS: &str = "_SUCCESS";

/// Completes the sidecar just before it is written.
pub(crate) type Finish<'a> = &'a mut (dyn FnMut() -> Sidecar + Send);

/// Documents that are published with the data.
#[derive(Debug)]
struct Documents {
    metrics: Vec<u8>,
    /// The report as HTML, if the policy requests it.
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
    Delta(Box<DeltaSite>),
}

/// A release that is being written and is not visible.
///
/// Dropping it removes the staging on the local file system. On an object store [`abandon`](Self::abandon) must be
/// awaited instead.
#[derive(Debug)]
pub(crate) struct Staged {
    site: Site,
    /// Folder of the release for its data files, if they do not lie next to its documents.
    data_folder: Option<String>,
}

/// The release that precedes a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExistingRelease {
    /// There is no release.
    Nothing,
    /// The release of this run.
    OfRun(String),
    /// Files that another program has written.
    OfOthers,
}

/// A release that was read back and satisfies its promise, and is not visible yet.
#[derive(Debug)]
pub(crate) struct Verified {
    site: Site,
    files: Vec<FileEntry>,
    schema: SchemaRef,
    onto: Option<AppendTarget>,
}

/// The identity of the input, as recorded in the manifest.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputIdentity {
    /// Keyed digest of the input and its version.
    pub(crate) digest: Option<String>,
    /// Version of a versioned table.
    pub(crate) version: Option<u64>,
}

/// The release that verified files are added to.
#[derive(Debug)]
pub(crate) struct AppendTarget {
    /// Files of the current release, which must be the same as when the staging began; none for the first append.
    pub(crate) kept: Vec<FileEntry>,
    /// The inputs that the release is appended from, with the files that are added.
    pub(crate) inputs: AppendedInputs,
}

/// A visible release. Files that it replaced may still exist.
#[derive(Debug)]
pub(crate) struct Committed {
    site: Site,
    manifest: Manifest,
    /// Documents to write after the commit; `None` where they are part of the commit.
    documents: Option<Documents>,
}

impl Staged {
    /// Creates the staging for the output of a policy, after checking that it may be written.
    pub(crate) async fn begin_for(place: &StorePath, policy: &Policy, run_id: &str) -> Result<Self, JobError> {
        let output = &policy.output;
        let tables = policy.linked_tables().into_iter().filter_map(|(name, _)| name);
        let folders = tables.chain(output.data_folder.clone()).collect();
        let staged = match output.format {
            OutputFormat::Parquet => Self::begin_at(place, output.mode, output.commit, folders, run_id).await?,
            OutputFormat::Delta => Self::begin_table(place, output.mode, run_id).await?,
        };
        Ok(Self { data_folder: output.data_folder.clone(), ..staged })
    }

    /// Creates the staging for a version of a Delta table.
    async fn begin_table(output: &StorePath, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        check_not_web(output)?;
        let site = DeltaSite::begin(output, mode, run_id).await?;
        Ok(Self { site: Site::Delta(Box::new(site)), data_folder: None })
    }

    /// Returns the version of the table that a commit makes, and the number of earlier ones that stay readable.
    pub(crate) fn table_version(&self) -> Option<(u64, u64)> {
        match &self.site {
            Site::Delta(site) => Some(site.version()),
            Site::Local(_) | Site::Remote(_) => None,
        }
    }

    /// Returns the release that a version of a table replaces, and the number of earlier ones that stay readable; `None` where the
    /// release is no table.
    pub(crate) fn table_before(&self) -> Option<(ExistingRelease, u64)> {
        match &self.site {
            Site::Delta(site) => Some(site.before()),
            Site::Local(_) | Site::Remote(_) => None,
        }
    }

    /// Creates the staging for a release of one table, after checking that the output may be written.
    #[cfg(test)]
    async fn begin(output: &StorePath, mode: Mode, commit: Commit, run_id: &str) -> Result<Self, JobError> {
        Self::begin_at(output, mode, commit, Vec::new(), run_id).await
    }

    async fn begin_at(
        output: &StorePath,
        mode: Mode,
        commit: Commit,
        folders: Vec<String>,
        run_id: &str,
    ) -> Result<Self, JobError> {
        check_not_web(output)?;
        let site = match output.local_path() {
            Some(path) => Site::Local(LocalSite::begin(path, mode, run_id)?),
            None => Site::Remote(Box::new(RemoteSite::begin(output, mode, commit, folders, run_id).await?)),
        };
        Ok(Self { site, data_folder: None })
    }

    /// Returns where data files are staged.
    pub(crate) fn place(&self) -> Result<StorePath, JobError> {
        let place = match &self.site {
            Site::Local(site) => site.place()?,
            Site::Remote(site) => site.place(),
            Site::Delta(site) => site.place()?,
        };
        Ok(match &self.data_folder {
            Some(folder) => place.child(folder),
            None => place,
        })
    }

    /// Returns where executors stage files, each under the name of its attempt.
    ///
    /// On a local file system the published folder must hold verified files only, and an abandoned attempt may still
    /// write. So attempts have their own folder.
    pub(crate) fn attempts(&self) -> Result<StorePath, JobError> {
        match &self.site {
            Site::Local(site) => site.attempts(),
            Site::Remote(_) => self.place(),
            Site::Delta(site) => site.attempts(),
        }
    }

    /// Converts files of successful attempts to staged files.
    pub(crate) async fn take(&self, attempts: Vec<FileEntry>) -> Result<Vec<FileEntry>, JobError> {
        match &self.site {
            Site::Local(site) => site.take(attempts, self.data_folder.as_deref()),
            // The commit copies them to other names in any case.
            Site::Remote(_) => Ok(attempts),
            Site::Delta(site) => site.take(attempts),
        }
    }

    /// Converts to a verified release; `read_back` must be of the staged files.
    pub(crate) fn verified(self, read_back: ReadBack) -> Verified {
        let (files, schema) = read_back.into_parts();
        let in_folder = |file: FileEntry| match &self.data_folder {
            Some(folder) => FileEntry { path: format!("{folder}/{}", file.path), ..file },
            None => file,
        };
        let files = files.into_iter().map(in_folder).collect();
        Verified { site: self.site, files, schema, onto: None }
    }

    /// Returns the staging with what was made in it. Removes the staging if there is an error instead.
    pub(crate) async fn or_abandon<T>(self, made: Result<T, JobError>) -> Result<(Self, T), JobError> {
        match made {
            Ok(made) => Ok((self, made)),
            Err(error) => {
                self.abandon().await;
                Err(error)
            }
        }
    }

    /// Removes the staging.
    pub(crate) async fn abandon(self) {
        match self.site {
            Site::Local(site) => drop(site),
            Site::Remote(site) => site.abandon_writing().await,
            Site::Delta(site) => site.abandon_writing().await,
        }
    }
}

impl Verified {
    /// Adds the files to a release instead of replacing it. The commit is the same: readers see the release without them, or
    /// with all of them.
    pub(crate) fn appending(self, onto: AppendTarget) -> Self {
        Self { onto: Some(onto), ..self }
    }

    /// Makes the release visible. On an error it is not visible and the staging has been removed, unless the message
    /// states that the outcome is unknown.
    pub(crate) async fn commit(
        self,
        run: &RunFacts,
        input: InputIdentity,
        sidecar: Finish<'_>,
    ) -> Result<Committed, JobError> {
        let (kept, appended) = self.onto.map(|onto| (onto.kept, onto.inputs)).unzip();
        let manifest = Manifest {
            input_digest: input.digest,
            input_version: input.version,
            appended,
            ..Manifest::new(&run.run_id, &run.policy_digest, self.files)
        };
        match self.site {
            Site::Local(site) => {
                let manifest = match kept {
                    Some(kept) => site.add_to(manifest, kept)?,
                    None => manifest,
                };
                site.commit(&manifest, sidecar)?;
                Ok(Committed { site: Site::Local(site), manifest, documents: None })
            }
            Site::Remote(site) => {
                let (manifest, documents) = site.commit(manifest, kept.unwrap_or_default(), sidecar).await?;
                Ok(Committed { site: Site::Remote(site), manifest, documents: Some(documents) })
            }
            Site::Delta(site) => {
                let (manifest, documents) = site.commit(manifest, &self.schema, sidecar).await?;
                Ok(Committed { site: Site::Delta(site), manifest, documents: Some(documents) })
            }
        }
    }
}

impl Committed {
    /// Completes the release, and removes the files that it replaced and its staging. Never fails the job.
    pub(crate) async fn clean(self) -> Vec<FileEntry> {
        match (self.site, self.documents) {
            (Site::Local(site), _) => site.clean(),
            (Site::Remote(site), Some(documents)) => site.clean(documents, &self.manifest).await,
            (Site::Delta(site), Some(documents)) => site.clean(&self.manifest, documents).await,
            (Site::Remote(_) | Site::Delta(_), None) => {}
        }
        self.manifest.files
    }
}

fn check_not_web(output: &StorePath) -> Result<(), JobError> {
    if output.is_web() {
        let advice = "choose a folder, or a location that begins with s3://, gs:// or az://";
        return Err(JobError::new(Kind::BadPolicy, format!("{output} can only be read; {advice}")));
    }
    Ok(())
}

/// Returns the name of a data file without the id of its attempt.
fn without_attempt(path: &str) -> String {
    let number = path.trim_start_matches("part-").split(['-', '.']).next().unwrap_or_default();
    format!("part-{number}.parquet")
}

/// Renames a data file uniquely for its run, in the folder of its table.
fn named_after_run(file: FileEntry, run_id: &str) -> FileEntry {
    let (table, name) = file.path.rsplit_once('/').map_or(("", file.path.as_str()), |(table, name)| (table, name));
    let name = without_attempt(name).replace("part-", &format!("part-{run_id}-"));
    let path = if table.is_empty() { name } else { format!("{table}/{name}") };
    FileEntry { path, ..file }
}

fn json<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, JobError> {
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|_| JobError::internal("a document could not be written"))?;
    text.push(b'\n');
    Ok(text)
}

/// Classifies a store error while the output was written or inspected. `NotFound` then does not refer to the input.
pub(crate) fn writing(doing: impl std::fmt::Display, error: &object_store::Error) -> JobError {
    let (kind, advice) = match (error, storage_kind(error)) {
        (object_store::Error::Precondition { .. }, _) => (Kind::TemporaryIo, "try again"),
        (_, (Kind::NoInput, _)) if is_bucket_missing(error) => {
            (Kind::BadPolicy, "there is no such bucket or container; create it, or check the location")
        }
        (_, (Kind::NoInput, _)) => (Kind::TemporaryIo, "check that the output location exists, then run again"),
        (_, known) => known,
    };
    JobError::new(kind, format!("{doing}: {}; {advice}", store_reason(error)))
}

fn already_there(output: &impl std::fmt::Display) -> JobError {
    let advice = "set `mode = \"overwrite\"` under [output], pass --overwrite, or choose another location";
    JobError::new(Kind::BadPolicy, format!("{output} already holds files; {advice}"))
}

fn not_ours(output: &impl std::fmt::Display) -> JobError {
    let text = format!("{output} holds files that are not a release of Throng, and they are not overwritten");
    JobError::new(Kind::BadPolicy, format!("{text}; choose another location, or remove them"))
}

/// Error of a run that lost the race against a concurrent one.
fn lost(output: &impl std::fmt::Display) -> JobError {
    JobError::new(Kind::TemporaryIo, format!("another run published to {output} first; its release stands"))
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
