//! Reads a release back from storage and recomputes its promises.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStoreExt};
use throng_core::dictionary_encode::is_text;
use throng_core::row_hash::{Checksum, RowHasher};
use throng_core::verify::{Findings, Promise, Verifier};
use throng_datafusion::{catch_decode_panic, catch_decode_panics, to_canonical_array, to_canonical_field};
use throng_policy::Store;
use tokio::task::JoinSet;

use crate::error::{JobError, Kind};
use crate::input::{FileInput, InputFile, JobInput, format_of, open_locations};
use crate::job::JobOptions;
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::progress::{Progress, Stage};
use crate::session::session;
use crate::store_path::{Location, StorePath};
use crate::write::digest;

/// Verifies a promise on any table: a file, a folder or a glob. Returns an error for a table with a column outside of
/// `columns`, if they are given.
///
/// A folder with a manifest is a release: the listed files are read, and must have the listed sizes and digests. Other
/// data files in the folder are an error, because readers of the folder would read them too.
pub async fn verify_release(
    locations: &[String],
    promise: Promise,
    columns: Option<&[String]>,
    options: &JobOptions,
) -> Result<Findings, JobError> {
    verify_release_with(locations, promise, columns, &Store::default(), options).await
}

/// Same as [`verify_release`], with the store settings of a policy.
pub async fn verify_release_with(
    locations: &[String],
    promise: Promise,
    columns: Option<&[String]>,
    settings: &Store,
    options: &JobOptions,
) -> Result<Findings, JobError> {
    let session = session(options)?;
    let input: Arc<dyn JobInput> = match release_at(locations, settings).await? {
        Some((place, manifest)) => {
            let files = listed_files(&place, &manifest).await?;
            Arc::new(FileInput::of_release(&session, files).await?)
        }
        None => open_locations(&session, locations, settings).await?,
    };
    if let Some(columns) = columns {
        let unknown = input.schema().fields().iter().map(|field| field.name()).filter(|name| !columns.contains(name));
        let unknown: Vec<String> = unknown.map(|name| format!("`{name}`")).collect();
        if !unknown.is_empty() {
            let text = format!("the release has columns that the policy does not release: {}", unknown.join(", "));
            return Err(JobError::new(Kind::Verification, text));
        }
    }
    options.observer.begin(Stage::Verify, None);
    match examine(&session, input.as_ref(), promise, None, false, Arc::clone(&options.observer)).await? {
        ScanResult::Complete(findings, _) => Ok(findings),
        ScanResult::ClassesNotContiguous => Err(JobError::internal("a table was not looked at as a whole")),
    }
}

/// Returns the release with its manifest, if the locations are one folder that has a manifest.
async fn release_at(locations: &[String], settings: &Store) -> Result<Option<(StorePath, Manifest)>, JobError> {
    let [location] = locations else { return Ok(None) };
    let Location { place, pattern: None, .. } = Location::parse_with(location, settings)? else { return Ok(None) };
    let is_file = match place.local_path() {
        Some(path) => !path.is_dir(),
        None => !place.path.as_ref().is_empty() && place.store.head(&place.path).await.is_ok(),
    };
    if is_file {
        return Ok(None);
    }
    let manifest = place.child(MANIFEST);
    let failed = |error| JobError::storage(format!("reading {manifest}"), &error);
    let bytes = match manifest.store.get(&manifest.path).await {
        Ok(found) => found.bytes().await.map_err(failed)?,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match Manifest::parse(&bytes) {
        Some(known) if !known.files.is_empty() => Ok(Some((place, known))),
        Some(_) => Err(refused(&manifest, "lists no files")),
        None => Err(refused(&manifest, "is damaged, or was written by another version of Throng")),
    }
}

/// Returns the files of a release, after checking that they match the manifest and that there are no others.
async fn listed_files(place: &StorePath, manifest: &Manifest) -> Result<Vec<InputFile>, JobError> {
    let failed = |error| JobError::storage(format!("listing {place}"), &error);
    let mut listed = place.store.list(Some(&place.path));
    while let Some(object) = listed.try_next().await.map_err(failed)? {
        let below = object.location.prefix_match(&place.path).into_iter().flatten();
        let parts: Vec<String> = below.map(|part| part.as_ref().to_owned()).collect();
        let is_visible = parts.iter().all(|part| !part.starts_with(['_', '.']));
        let is_data = format_of(&object.location).is_some();
        if is_visible && is_data && !manifest.lists(&parts.join("/")) {
            return Err(refused(&place.at(object.location), "is not listed in the manifest; remove the file"));
        }
    }
    let mut files = Vec::new();
    for entry in &manifest.files {
        let place = place.child(&entry.path);
        let meta = check_file(&place, entry).await?;
        files.push(InputFile { place, meta });
    }
    Ok(files)
}

/// Compares a file with its entry in the manifest.
async fn check_file(place: &StorePath, entry: &FileEntry) -> Result<ObjectMeta, JobError> {
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    let found = match place.store.get(&place.path).await {
        Ok(found) => found,
        Err(object_store::Error::NotFound { .. }) => {
            return Err(refused(place, "is missing, though the manifest lists it"));
        }
        Err(error) => return Err(failed(error)),
    };
    let meta = found.meta.clone();
    if meta.size != entry.bytes {
        return Err(refused(place, "has another size than the manifest says"));
    }
    if digest(&found.bytes().await.map_err(failed)?) != entry.sha256 {
        return Err(refused(place, "has another content than the manifest says"));
    }
    Ok(meta)
}

fn refused(place: &StorePath, why: &str) -> JobError {
    JobError::new(Kind::Verification, format!("the release is refused: {place} {why}"))
}

/// Columns whose values must be unchanged, and the key of their row hash.
#[derive(Clone, Debug)]
pub(crate) struct PassthroughCheck {
    pub(crate) columns: Vec<String>,
    pub(crate) seed: u64,
}

/// Result of scanning a table.
#[derive(Debug)]
pub(crate) enum ScanResult {
    /// The whole table was scanned.
    Complete(Findings, Checksum),
    /// Classes are not contiguous, although they were expected to be.
    ClassesNotContiguous,
}

/// The reason for which a stream was not examined to its end.
pub(crate) enum ExamineFailure {
    /// The engine failed. Its message may quote values.
    Engine(DataFusionError),
    /// Anything else.
    Job(JobError),
}

impl From<JobError> for ExamineFailure {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

impl From<ExamineFailure> for JobError {
    fn from(failure: ExamineFailure) -> Self {
        match failure {
            ExamineFailure::Engine(error) => Self::reading("the release", &error),
            ExamineFailure::Job(error) => error,
        }
    }
}

/// Counts the classes of a table, and sums the content of the columns that must be unchanged.
pub(crate) async fn examine(
    session: &SessionContext,
    input: &dyn JobInput,
    promise: Promise,
    unchanged: Option<PassthroughCheck>,
    is_together: bool,
    observer: Arc<dyn Progress>,
) -> Result<ScanResult, JobError> {
    let mut names: Vec<&str> = promise.columns();
    names.extend(unchanged.iter().flat_map(|unchanged| unchanged.columns.iter().map(String::as_str)));
    // Reports missing and repeated columns before the engine does.
    let empty = Verifier::new(promise.clone(), input.schema())?;
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let failed = |error| JobError::reading("the release", &error);
    let frame = input.rows(session)?.select_columns(&names).map_err(failed)?;
    let streams = catch_decode_panic(frame.execute_stream_partitioned()).await.map_err(failed)?;
    let mut tasks = JoinSet::new();
    for stream in streams {
        let (promise, unchanged, observer) = (promise.clone(), unchanged.clone(), Arc::clone(&observer));
        let verifier = Verifier::new(promise, &stream.schema())?;
        let verifier = if is_together { verifier.expecting_classes_together() } else { verifier };
        tasks.spawn(examine_stream(catch_decode_panics(stream), verifier, unchanged, observer));
    }
    let mut whole: Option<(Verifier, Checksum)> = None;
    while let Some(done) = tasks.join_next().await {
        let (verifier, checksum) = match done.map_err(|_| JobError::internal("verification stopped"))? {
            Ok(examined) => examined,
            Err(ExamineFailure::Job(error)) => return Err(error),
            Err(ExamineFailure::Engine(error)) => return Err(input.locate(session, &names, &error).await),
        };
        whole = Some(match whole {
            None => (verifier, checksum),
            Some((mut known, mut sum)) => {
                known.merge(verifier);
                sum.merge(checksum);
                (known, sum)
            }
        });
    }
    let (verifier, checksum) = whole.unwrap_or((empty, Checksum::default()));
    match verifier.is_scattered() {
        true => Ok(ScanResult::ClassesNotContiguous),
        false => Ok(ScanResult::Complete(verifier.finish(), checksum)),
    }
}

pub(crate) async fn examine_stream(
    mut stream: SendableRecordBatchStream,
    mut verifier: Verifier,
    unchanged: Option<PassthroughCheck>,
    observer: Arc<dyn Progress>,
) -> Result<(Verifier, Checksum), ExamineFailure> {
    let schema = stream.schema();
    let mut checksum = Checksum::default();
    let mut hasher = match &unchanged {
        Some(unchanged) => {
            let hasher = RowHasher::new(&plain_types(&schema, &unchanged.columns), unchanged.seed);
            Some(hasher.map_err(JobError::from)?)
        }
        None => None,
    };
    while let Some(batch) = stream.try_next().await.map_err(ExamineFailure::Engine)? {
        verifier.push(&batch).map_err(JobError::from)?;
        if let (Some(hasher), Some(unchanged)) = (&mut hasher, &unchanged) {
            let hashes = hasher.hash(&plain_columns(&batch, &unchanged.columns)?, batch.num_rows());
            checksum.add(hashes.map_err(JobError::from)?);
        }
        observer.advance(batch.num_rows() as u64);
    }
    Ok((verifier, checksum))
}

fn plain_types(schema: &Schema, names: &[String]) -> Vec<DataType> {
    let fields = names.iter().filter_map(|name| schema.field_with_name(name).ok());
    fields.map(|field| to_canonical_field(field).data_type().clone()).collect()
}

fn plain_columns(batch: &RecordBatch, names: &[String]) -> Result<Vec<ArrayRef>, JobError> {
    let columns = names.iter().filter_map(|name| batch.column_by_name(name));
    // The row hash accepts strings in any encoding.
    let to_canonical_array = |column: &ArrayRef| {
        if is_text(column.data_type()) { Ok(Arc::clone(column)) } else { to_canonical_array(column) }
    };
    columns.map(|column| Ok(to_canonical_array(column)?)).collect()
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
