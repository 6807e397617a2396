//! Reads a staged release back, which is required for publishing it.

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use throng_core::row_hash::Checksum;
use throng_core::verify::{Findings, Promise};
use throng_datafusion::{Anonymizer, Facts, passthrough_names};
use throng_policy::Policy;

use crate::distributed::{Cluster, examine_on};
use crate::error::{JobError, Kind};
use crate::input::{FileInput, InputFile, JobInput};
use crate::job::JobOptions;
use crate::manifest::FileEntry;
use crate::session::session_in_order;
use crate::store_path::StorePath;
use crate::verify::{PassthroughCheck, ScanResult, examine};

/// Streams are split between row groups and take different times; with several per thread, threads are evenly busy.
const STREAMS_PER_THREAD: usize = 4;

/// Staged files and the facts about their release.
pub(crate) struct StagedFiles<'a> {
    pub(crate) files: Vec<FileEntry>,
    pub(crate) place: &'a StorePath,
    pub(crate) facts: &'a Facts,
}

/// Files that were read back from staging and satisfy their promise. Only [`read_back`] creates one, and publishing
/// requires one.
#[derive(Debug)]
pub(crate) struct ReadBack {
    files: Vec<FileEntry>,
}

impl ReadBack {
    /// Returns the files by their names in the staging.
    pub(crate) fn into_files(self) -> Vec<FileEntry> {
        self.files
    }

    #[cfg(test)]
    pub(crate) fn of_test(files: Vec<FileEntry>) -> Self {
        Self { files }
    }
}

/// Reads the staged files back. Returns an error unless they satisfy the promise, no row is missing, and their classes
/// are those of the metrics.
pub(crate) async fn read_back(
    written: StagedFiles<'_>,
    policy: &Policy,
    anonymizer: &Anonymizer,
    options: &JobOptions,
    cluster: Option<&Cluster>,
) -> Result<(Findings, ReadBack), JobError> {
    let refused = |what: &str| {
        JobError::new(
            Kind::Verification,
            format!("the staged release was read back and refused: {what}; nothing is published"),
        )
    };
    let session = session_in_order(options, STREAMS_PER_THREAD * options.threads.max(1))?;
    let mut files = Vec::new();
    for file in &written.files {
        let place = written.place.child(&file.path);
        let meta = object_store::ObjectStoreExt::head(&place.store, &place.path).await;
        let meta = meta.map_err(|error| JobError::storage(format!("reading {place} back"), &error))?;
        if meta.size != file.bytes {
            return Err(refused("a file has another size than was written"));
        }
        files.push(InputFile { place, meta });
    }
    let input = FileInput::of_release(&session, files).await?;
    let names = |schema: &datafusion::arrow::datatypes::Schema| -> Vec<String> {
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    if names(input.schema()) != names(anonymizer.schema()) {
        return Err(refused("its columns are not those of the policy"));
    }
    let (promise, _) = policy.promise();
    let unchanged =
        PassthroughCheck { columns: passthrough_names(anonymizer.binding()), seed: anonymizer.content_seed() };
    let (findings, checksum) = match cluster {
        Some(cluster) => examine_on(cluster, &input, policy, unchanged).await?,
        None => examine_here(&session, &input, &promise, &unchanged, options).await?,
    };
    if !findings.holds() {
        return Err(refused("a class does not satisfy the privacy model"));
    }
    if checksum != written.facts.checksum || checksum.rows() + written.facts.suppressed != written.facts.rows_read {
        return Err(refused("rows were lost, changed or doubled"));
    }
    if findings.classes != written.facts.utility.classes || findings.sum_of_squares != written.facts.utility.dm {
        return Err(refused("its classes are not those that the metrics speak of"));
    }
    tracing::info!(classes = findings.classes, rows = findings.rows, "release verified");
    Ok((findings, ReadBack { files: written.files }))
}

/// Counts classes in this process. Fast path: classes are contiguous, so finished classes can be dropped. Falls back to
/// a hash table if they are not.
async fn examine_here(
    session: &SessionContext,
    input: &dyn JobInput,
    promise: &Promise,
    unchanged: &PassthroughCheck,
    options: &JobOptions,
) -> Result<(Findings, Checksum), JobError> {
    let observer = Arc::clone(&options.observer);
    let seen = |is_together| {
        examine(session, input, promise.clone(), Some(unchanged.clone()), is_together, Arc::clone(&observer))
    };
    for is_together in [true, false] {
        if let ScanResult::Complete(findings, checksum) = seen(is_together).await? {
            return Ok((findings, checksum));
        }
    }
    Err(JobError::internal("a release was not looked at as a whole"))
}
