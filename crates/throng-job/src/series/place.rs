//! Where ledgers are kept, and which one belongs to the release that stands.
//!
//! ```text
//!  write ledger-<run> ─► commit of the release, whose manifest names the run ─► write `current` ─► remove older ledgers
//! ```
//!
//! The manifest of the release is the commit of both: the ledger in effect is the one of the run that the manifest names.
//! A run that is killed before the commit leaves a ledger that no manifest names, and the old release with its old ledger;
//! killed after it, the new release with its new ledger, and older ones that the next run removes. Where the release is a Delta
//! table, its log entry takes the place of the manifest.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use object_store::{ObjectStoreExt, PutPayload};
use throng_core::key::ReleaseKey;
use throng_policy::{LEDGER_KEY_VARIABLE, MIN_SECRET_BYTES, SeriesSettings, Store};

use crate::error::{JobError, Kind};
use crate::publish::writing;
use crate::store_path::StorePath;

use super::ledger::Ledger;

/// Names the run of the last release, so that a series whose release was removed is not begun again unnoticed.
const CURRENT: &str = "current";
const PREFIX: &str = "ledger-";
const SUFFIX: &str = ".throng";

/// A ledger that no manifest names is removed at this age; a younger one may belong to a run that is under way.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How to begin again.
const BEGIN_AGAIN: &str = "restore it from a backup, or begin a new series with `throng run --rebase`, whose releases are \
                           not checked against the earlier ones";

/// The place of the ledgers of one series.
#[derive(Debug)]
pub(super) struct LedgerPlace {
    place: StorePath,
    pub(super) key: ReleaseKey,
}

impl LedgerPlace {
    /// Opens the place that a policy names.
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
        let bytes = match place.store.get(&place.path).await {
            Ok(found) => found.bytes().await.map_err(failed)?,
            Err(object_store::Error::NotFound { .. }) => {
                return Err(refused(format!(
                    "{} has no ledger of the release that stands: it was lost, is older, or belongs to another series; {BEGIN_AGAIN}",
                    self.place
                )));
            }
            Err(error) => return Err(failed(error)),
        };
        let Some(ledger) = Ledger::open(self.key, &bytes) else {
            return Err(refused(format!(
                "the ledger {place} is damaged, or {LEDGER_KEY_VARIABLE} is not the key that it was written with; {BEGIN_AGAIN}"
            )));
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

    /// Writes a ledger, before its release is committed. Returns its size.
    pub(super) async fn write(&self, ledger: &Ledger) -> Result<u64, JobError> {
        let bytes = ledger.seal(self.key).ok_or_else(|| JobError::internal("the ledger could not be encrypted"))?;
        let (size, place) = (bytes.len() as u64, self.place.child(&Self::name(&ledger.header.run_id)));
        let put = place.store.put(&place.path, PutPayload::from(bytes)).await;
        put.map_err(|error| writing(format!("writing the ledger {place}"), &error))?;
        Ok(size)
    }

    /// Completes a release that is committed: names it, and removes older ledgers. Never fails the job.
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

/// Returns the key of the environment.
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

fn refused(message: String) -> JobError {
    JobError::new(Kind::BadPolicy, message)
}
