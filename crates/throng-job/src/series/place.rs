//! Where ledgers are stored, and which one belongs to the current release.
//!
//! ```text
//!  write ledger-<run> ─► commit of the release, whose manifest names the run ─► write `current` ─► remove older ledgers
//! ```
//!
//! The manifest of the release is the commit of both: the ledger in effect is the one of the run that the manifest names. A run
//! that is killed before the commit leaves a ledger that no manifest names, and the old release with its old ledger; killed
//! after it, the new release with its new ledger, and older ones that the next run removes. If the release is a Delta table,
//! its log entry takes the place of the manifest.

use std::io::{Read, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStoreExt, PutPayload};
use throng_core::key::ReleaseKey;
use throng_policy::{LEDGER_KEY_VARIABLE, MIN_SECRET_BYTES, SeriesSettings, Store};

use crate::error::{JobError, Kind};
use crate::store_path::StorePath;
use crate::write::Upload;

use super::ledger::{Ledger, WrittenLedger};
use super::sealed::NotOpened;

/// Names the run of the last release and, in the second line, its location: so that a series whose release was removed is not
/// silently started again, nor another series in the same folder.
const CURRENT: &str = "current";
const PREFIX: &str = "ledger-";
const SUFFIX: &str = ".throng";

/// A ledger that no manifest names is removed at this age; a younger one may belong to a run in progress.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Size of the pieces in which a ledger is uploaded.
const PIECE_BYTES: usize = 4 << 20;

/// Advice on how to start again.
const BEGIN_AGAIN: &str = "restore it from a backup, or begin a new series with `throng run --rebase`, whose releases are \
                           not checked against the earlier ones";

/// The location of the ledgers of one series.
#[derive(Debug)]
pub(super) struct LedgerPlace {
    place: StorePath,
    pub(super) key: ReleaseKey,
}

impl LedgerPlace {
    /// Opens the location that a policy names.
    pub(super) fn open(
        settings: &SeriesSettings,
        store: &Store,
        output: &StorePath,
        key: ReleaseKey,
    ) -> Result<Self, JobError> {
        let place = StorePath::parse_with(&settings.ledger, store)?;
        if place.overlaps(output) {
            let text = format!(
                "the ledger {place} and the output {output} overlap; the ledger is private, choose another place"
            );
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        Ok(Self { place, key })
    }

    fn name(run_id: &str) -> String {
        format!("{PREFIX}{run_id}{SUFFIX}")
    }

    /// Returns the ledger of a release.
    pub(super) async fn read(&self, run_id: &str, policy_digest: &str) -> Result<Ledger, JobError> {
        let place = self.place.child(&Self::name(run_id));
        let failed = |error| JobError::storage(format!("reading the ledger {place}"), &error);
        let mut bytes = match place.store.get(&place.path).await {
            Ok(found) => found.into_stream(),
            Err(object_store::Error::NotFound { .. }) => {
                return Err(refused(format!(
                    "{} has no ledger of the current release: it is missing, outdated, or belongs to another series; {BEGIN_AGAIN}",
                    self.place
                )));
            }
            Err(error) => return Err(failed(error)),
        };
        // Its parts are read on demand, from a copy that is encrypted like the ledger.
        let mut file = tempfile::tempfile().map_err(|error| JobError::temporary_file(&error))?;
        while let Some(piece) = bytes.try_next().await.map_err(failed)? {
            file.write_all(&piece).map_err(|error| JobError::temporary_file(&error))?;
        }
        let ledger = match Ledger::open(self.key, file) {
            Ok(ledger) => ledger,
            Err(NotOpened::Damaged) => return Err(damaged(&place)),
            Err(NotOpened::OtherVersion) => {
                return Err(refused(format!(
                    "the ledger {place} was written by another version of Throng, which this one can't read; run that version, or \
                     begin a new series with `throng run --rebase`, whose releases are not checked against the earlier ones"
                )));
            }
        };
        if ledger.header.run_id != run_id {
            return Err(refused(format!("the ledger {place} belongs to another release; {BEGIN_AGAIN}")));
        }
        if ledger.header.policy_digest != policy_digest {
            return Err(refused(
                "the policy has changed since the last release of the series, and the releases of two policies are not safe \
                 together; take the change back, or begin a new series with `throng run --rebase`"
                    .to_owned(),
            ));
        }
        Ok(ledger)
    }

    /// Returns an error if the folder belongs to a series with another output. `run_id` is that of the release at the output, if
    /// there is one: a release that was moved together with its manifest continues its series.
    pub(super) async fn check_owner(
        &self,
        output: &StorePath,
        run_id: Option<&str>,
        store: &Store,
    ) -> Result<(), JobError> {
        let Some(LedgerOwner { run, output: Some(owner) }) = self.current().await? else { return Ok(()) };
        let is_own = run_id == Some(run.as_str())
            || StorePath::parse_with(&owner, store).is_ok_and(|owner| owner.is_same_place(output));
        match is_own {
            true => Ok(()),
            false => Err(refused(format!(
                "{} has the ledger of the series at {owner}, and a series needs a folder of its own; set another `ledger` under \
                 [series] (if that series has ended, or was moved to {output}, remove `{CURRENT}` in the folder)",
                self.place
            ))),
        }
    }

    /// Returns an error if there is a series whose release is no longer there.
    pub(super) async fn check_unused(&self, output: &StorePath) -> Result<(), JobError> {
        match self.current().await? {
            None => {
                // The run that wrote it may have been killed before or after its release was committed.
                if self.ledgers().await.is_ok_and(|ledgers| !ledgers.is_empty()) {
                    tracing::warn!(
                        "the folder of the ledger has one of a run that was interrupted, and {output} has no release; if there was one, \
                         the new series is not checked against it"
                    );
                }
                Ok(())
            }
            Some(_) => Err(refused(format!(
                "{} has the ledger of a series, and {output} has no release; restore the release, or begin a new series with \
                 `throng run --rebase`, whose releases are not checked against the earlier ones",
                self.place
            ))),
        }
    }

    /// Lists the ledgers.
    async fn ledgers(&self) -> Result<Vec<ObjectMeta>, object_store::Error> {
        let mut listed: Vec<ObjectMeta> = self.place.store.list(Some(&self.place.path)).try_collect().await?;
        listed.retain(|object| {
            object.location.filename().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
        });
        Ok(listed)
    }

    /// Returns the last release of the series, as far as the folder names it.
    async fn current(&self) -> Result<Option<LedgerOwner>, JobError> {
        let current = self.place.child(CURRENT);
        let failed = |error| JobError::storage(format!("looking at the ledger {}", self.place), &error);
        let bytes = match current.store.get(&current.path).await {
            Ok(found) => found.bytes().await.map_err(failed)?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().map(|line| line.trim().to_owned());
        let run = lines.next().unwrap_or_default();
        Ok(Some(LedgerOwner { run, output: lines.next().filter(|line| !line.is_empty()) }))
    }

    /// Stores a ledger, before its release is committed.
    pub(super) async fn write(&self, ledger: &WrittenLedger) -> Result<(), JobError> {
        let mut upload = Upload::new(self.place.child(&Self::name(&ledger.run_id)));
        let mut file = &ledger.file;
        file.seek(SeekFrom::Start(0)).map_err(|error| JobError::temporary_file(&error))?;
        loop {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            let read = file.take(PIECE_BYTES as u64).read_to_end(&mut piece);
            if read.map_err(|error| JobError::temporary_file(&error))? == 0 {
                return upload.finish().await;
            }
            upload.send(Bytes::from(piece)).await?;
        }
    }

    /// Returns the error for the ledger of a run, a part of which can't be read.
    pub(super) fn damaged(&self, run_id: &str) -> JobError {
        damaged(&self.place.child(&Self::name(run_id)))
    }

    /// Completes a committed release: records its run and its location, and removes older ledgers. Never fails the job.
    pub(super) async fn committed(&self, run_id: &str, output: &StorePath, replaced: Option<&str>) {
        let current = self.place.child(CURRENT);
        let text = format!("{run_id}\n{output}\n");
        let named = current.store.put(&current.path, PutPayload::from(text.into_bytes())).await;
        if named.is_err() {
            tracing::warn!("the ledger could not be marked as current");
        }
        let (own, replaced) = (Self::name(run_id), replaced.map(Self::name));
        for object in self.ledgers().await.unwrap_or_default() {
            let name = object.location.filename().unwrap_or_default();
            let age = SystemTime::now().duration_since(object.last_modified.into()).unwrap_or_default();
            if name != own && (replaced.as_deref() == Some(name) || age > LIFETIME) {
                let _ = self.place.store.delete(&object.location).await;
            }
        }
    }
}

/// A ledger that is committed with its release, both or neither.
pub(crate) struct StagedLedger<'a> {
    pub(super) place: &'a LedgerPlace,
    pub(super) ledger: WrittenLedger,
    /// Location of the release.
    pub(super) output: &'a StorePath,
    /// Run of the release that this one replaces.
    pub(super) replaced: Option<String>,
}

impl StagedLedger<'_> {
    /// Stores the ledger under the name of its run. It counts from the moment at which the release of that run is the current one.
    pub(crate) async fn write(&self) -> Result<(), JobError> {
        self.place.write(&self.ledger).await
    }

    /// Completes a committed release, and removes older ledgers. Never fails the job.
    pub(crate) async fn committed(&self, run_id: &str) {
        self.place.committed(run_id, self.output, self.replaced.as_deref()).await;
        tracing::info!(bytes = self.ledger.size, rows = self.ledger.rows, "ledger written");
    }
}

/// What a folder of ledgers says about the last release.
struct LedgerOwner {
    run: String,
    /// Its location; `None` if it is not recorded.
    output: Option<String>,
}

/// Returns the ledger key from the environment.
pub(super) fn ledger_key() -> Result<ReleaseKey, JobError> {
    let advice = "use 32 random bytes in hexadecimal, as `openssl rand -hex 32` prints them, and keep them as long as the series";
    let text = std::env::var(LEDGER_KEY_VARIABLE).unwrap_or_default();
    match text.trim() {
        "" => {
            Err(refused(format!("{LEDGER_KEY_VARIABLE} is not set, and the ledger of a series is encrypted; {advice}")))
        }
        text if text.len() < MIN_SECRET_BYTES => Err(refused(format!(
            "{LEDGER_KEY_VARIABLE} has {} bytes, and a key needs at least {MIN_SECRET_BYTES}; {advice}",
            text.len()
        ))),
        text => Ok(ReleaseKey::PUBLIC.derive("ledger key", text.as_bytes())),
    }
}

fn damaged(place: &StorePath) -> JobError {
    refused(format!(
        "the ledger {place} is damaged, or {LEDGER_KEY_VARIABLE} is not the key that it was written with; {BEGIN_AGAIN}"
    ))
}

fn refused(message: String) -> JobError {
    JobError::new(Kind::BadPolicy, message)
}
