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
use object_store::{ObjectStoreExt, PutPayload};
use throng_core::key::ReleaseKey;
use throng_policy::{LEDGER_KEY_VARIABLE, MIN_SECRET_BYTES, SeriesSettings, Store};

use crate::error::{JobError, Kind};
use crate::store_path::StorePath;
use crate::write::Upload;

use super::ledger::{Ledger, WrittenLedger};
use super::sealed::NotOpened;

/// Names the run of the last release, so that a series whose release was removed is not silently started again.
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

    /// Returns an error if there is a series whose release is no longer there.
    pub(super) async fn check_unused(&self, output: &StorePath) -> Result<(), JobError> {
        let current = self.place.child(CURRENT);
        match current.store.head(&current.path).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(JobError::storage(format!("looking at the ledger {}", self.place), &error)),
            Ok(_) => Err(refused(format!(
                "{} has the ledger of a series, and {output} has no release; restore the release, or begin a new series with \
                 `throng run --rebase`, whose releases are not checked against the earlier ones",
                self.place
            ))),
        }
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

    /// Completes a committed release: records its run, and removes older ledgers. Never fails the job.
    pub(super) async fn committed(&self, run_id: &str, replaced: Option<&str>) {
        let current = self.place.child(CURRENT);
        let named = current.store.put(&current.path, PutPayload::from(run_id.to_owned().into_bytes())).await;
        if named.is_err() {
            tracing::warn!("the ledger could not be marked as current");
        }
        let (own, replaced) = (Self::name(run_id), replaced.map(Self::name));
        let listed: Vec<_> = match self.place.store.list(Some(&self.place.path)).try_collect().await {
            Ok(listed) => listed,
            Err(_) => return,
        };
        for object in listed {
            let name = object.location.filename().unwrap_or_default();
            let is_ledger = name.starts_with(PREFIX) && name.ends_with(SUFFIX) && name != own;
            let age = SystemTime::now().duration_since(object.last_modified.into()).unwrap_or_default();
            if is_ledger && (replaced.as_deref() == Some(name) || age > LIFETIME) {
                let _ = self.place.store.delete(&object.location).await;
            }
        }
    }
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
