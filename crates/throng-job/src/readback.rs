//! Reads a staged release back, which is required for publishing it.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use throng_core::exposure::InsensitiveExposure;
use throng_core::verify::Findings;
use throng_datafusion::{Anonymizer, Facts, Verification, VerifiedTable, catch_decode_panic, catch_decode_panics};

use crate::distributed::{Cluster, verify_on};
use crate::error::{JobError, Kind};
use crate::input::{FileInput, InputFile, JobInput};
use crate::job::JobOptions;
use crate::linked::LinkedFindings;
use crate::manifest::FileEntry;
use crate::session::session_in_order;
use crate::staged_units::StagedUnits;
use crate::store_path::StorePath;
use crate::verify::examine;

/// Streams are split between row groups and take different times; several per thread keep all threads busy.
const STREAMS_PER_THREAD: usize = 4;

/// Staged files and the facts about their release.
pub(crate) struct StagedFiles<'a> {
    pub(crate) files: Vec<FileEntry>,
    pub(crate) place: &'a StorePath,
    pub(crate) facts: &'a Facts,
    /// Units of the rows, if the policy counts units.
    pub(crate) units: Option<StagedUnits>,
}

/// Files that were read back from staging and satisfy their promise. Only [`read_back`] creates one, and publishing
/// requires one.
#[derive(Debug)]
pub(crate) struct ReadBack {
    files: Vec<FileEntry>,
    exposure: Option<InsensitiveExposure>,
    schema: SchemaRef,
}

impl ReadBack {
    /// Joins the files of tables that are released together. Their linked rows have been checked too.
    pub(crate) fn of_tables(tables: Vec<(String, Self)>, _linked: &LinkedFindings) -> Self {
        let in_folder = |(name, table): (String, Self)| {
            table.files.into_iter().map(move |file| FileEntry { path: format!("{name}/{}", file.path), ..file })
        };
        let files = tables.into_iter().flat_map(in_folder).collect();
        Self { files, exposure: None, schema: Arc::new(Schema::empty()) }
    }

    /// Returns the files by their names in the staging, and their columns.
    pub(crate) fn into_parts(self) -> (Vec<FileEntry>, SchemaRef) {
        (self.files, self.schema)
    }

    /// Returns the names and types of the columns as text.
    pub(crate) fn columns(&self) -> String {
        self.schema.fields().iter().map(|field| format!("{:?} {}\n", field.name(), field.data_type())).collect()
    }

    /// Returns the exposure by insensitive columns, if there are some and it was measured.
    pub(crate) fn exposure(&self) -> Option<&InsensitiveExposure> {
        self.exposure.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn of_test(files: Vec<FileEntry>) -> Self {
        Self { files, exposure: None, schema: Arc::new(datafusion::arrow::datatypes::Schema::empty()) }
    }
}

/// Reads the staged files back. Returns an error unless they satisfy the promise, no row is missing, and their classes
/// are those of the metrics.
pub(crate) async fn read_back(
    written: StagedFiles<'_>,
    anonymizer: &Arc<Anonymizer>,
    options: &JobOptions,
    cluster: Option<&Cluster>,
) -> Result<(Findings, ReadBack), JobError> {
    let streams = if written.units.is_some() { 1 } else { STREAMS_PER_THREAD * options.threads.max(1) };
    let session = session_in_order(options, streams)?;
    let input = open_staged(&session, written.place, &written.files).await?;
    let names = |schema: &datafusion::arrow::datatypes::Schema| -> Vec<String> {
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    if names(input.schema()) != names(anonymizer.schema()) {
        return Err(refused("its columns are not those of the policy"));
    }
    let verification = Verification::of(anonymizer);
    let here = verification.clone().with_progress(Arc::clone(&options.observer));
    let verified = match (&written.units, cluster) {
        // Units are in a file of this process.
        (Some(units), _) => verify_with_units(&session, &input, here, units).await?,
        (None, Some(cluster)) => verify_on(cluster, &input, anonymizer, &verification).await?,
        (None, None) => verify_in_process(&session, &input, here).await?,
    };
    if let Some(refusal) = written.facts.refusal(&verified) {
        return Err(refused(refusal));
    }
    verified.check_exposure(anonymizer.policy().privacy.guards.insensitive_uniqueness)?;
    let VerifiedTable { findings, exposure, .. } = verified;
    tracing::info!(classes = findings.classes, rows = findings.rows, "release verified");
    Ok((findings, ReadBack { files: written.files, exposure, schema: Arc::clone(anonymizer.schema()) }))
}

/// Error of a staged release that must not be published.
pub(crate) fn refused(what: &str) -> JobError {
    let text = format!("the staged release was read back and refused: {what}; nothing is published");
    JobError::new(Kind::Verification, text)
}

/// Opens staged files, which must have the sizes that were written.
pub(crate) async fn open_staged(
    session: &SessionContext,
    place: &StorePath,
    files: &[FileEntry],
) -> Result<FileInput, JobError> {
    let mut found = Vec::new();
    for file in files {
        let place = place.child(&file.path);
        let meta = object_store::ObjectStoreExt::head(&place.store, &place.path).await;
        let meta = meta.map_err(|error| JobError::storage(format!("reading {place} back"), &error))?;
        if meta.size != file.bytes {
            return Err(refused("a file has another size than was written"));
        }
        found.push(InputFile { place, meta });
    }
    FileInput::of_release(session, found).await
}

/// Verifies in this process. Fast path: classes are contiguous, so finished classes can be dropped. Falls back to a hash
/// table if they are not.
async fn verify_in_process(
    session: &SessionContext,
    input: &dyn JobInput,
    verification: Verification,
) -> Result<VerifiedTable, JobError> {
    let contiguous = verification.clone().expecting_contiguous_classes();
    for verification in [contiguous, verification] {
        if let Some(verified) = examine(session, input, &verification).await? {
            return Ok(verified);
        }
    }
    Err(JobError::internal("a release was not read as a whole"))
}

/// Verifies in one stream, in the order in which rows were written, with the unit of each row.
async fn verify_with_units(
    session: &SessionContext,
    input: &dyn JobInput,
    verification: Verification,
    units: &StagedUnits,
) -> Result<VerifiedTable, JobError> {
    let failed = |error| JobError::reading("the release", &error);
    let contiguous = verification.clone().expecting_contiguous_classes();
    for verification in [contiguous, verification] {
        let stream = catch_decode_panic(input.rows(session)?.execute_stream()).await.map_err(failed)?;
        let stream = units.join(decode_ahead(catch_decode_panics(stream)))?;
        if let Some(verified) = verification.run(&stream.schema(), vec![stream]).await? {
            return Ok(verified);
        }
    }
    Err(JobError::internal("a release was not read as a whole"))
}

/// Reads a stream in a separate task, so that it is decoded while its rows are counted.
fn decode_ahead(mut stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStream::builder(stream.schema(), 2);
    let batches = builder.tx();
    builder.spawn(async move {
        while let Some(batch) = stream.next().await {
            // The receiver is gone if the verification has ended.
            if batches.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    });
    builder.build()
}
