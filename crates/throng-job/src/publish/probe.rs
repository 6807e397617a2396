//! Probes whether a store honours conditional puts.
//!
//! Some stores accept the conditions of a put, ignore them, and report success. A commit would not be atomic there: two
//! concurrent runs would both succeed, and each would remove the other's files. So before anything else is written, a
//! run puts an object with a unique name twice, with conditions that must fail.

use object_store::{Error, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};

use super::writing;
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// An entity tag and a version that no object has.
const NOT_A_TAG: &str = "\"00000000000000000000000000000000\"";
const NOT_A_VERSION: &str = "1";

/// Returns an error if the store of an output ignores the conditions of puts.
pub(super) async fn check_conditional_puts(output: &StorePath, run_id: &str) -> Result<(), JobError> {
    let probe = output.child(&format!("_throng/probe/{run_id}"));
    let outcome = try_puts(&probe).await;
    if let Err(error) = probe.store.delete(&probe.path).await
        && !matches!(error, Error::NotFound { .. })
    {
        tracing::warn!(%probe, error = crate::error::store_reason(&error), "could not remove a probe");
    }
    match outcome.map_err(|error| writing(format!("trying a conditional put at {output}"), &error))? {
        true => Ok(()),
        false => Err(JobError::new(
            Kind::BadPolicy,
            format!(
                "the store of {output} ignores the conditions of a put, so overlapping runs could damage each \
                 other's release; use a store that supports conditional puts (If-Match and If-None-Match), or set `commit = \
                 \"last-writer-wins\"` under [output] and make sure that one job at a time writes there"
            ),
        )),
    }
}

/// Whether both kinds of conditions are honoured.
async fn try_puts(probe: &StorePath) -> Result<bool, Error> {
    match put(probe, PutMode::Create).await {
        // The name is unique to this run: if the object exists, the first response was lost.
        Ok(()) | Err(Error::AlreadyExists { .. }) => {}
        Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    match put(probe, PutMode::Create).await {
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
        Ok(()) => return Ok(false),
        Err(error) => return Err(error),
    }
    let version = UpdateVersion { e_tag: Some(NOT_A_TAG.to_owned()), version: Some(NOT_A_VERSION.to_owned()) };
    match put(probe, PutMode::Update(version)).await {
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(true),
        Ok(()) | Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn put(probe: &StorePath, mode: PutMode) -> Result<(), Error> {
    let options = PutOptions { mode, ..PutOptions::default() };
    probe.store.put_opts(&probe.path, "probe\n".into(), options).await.map(|_| ())
}
