//! Reads a release back from storage and recomputes its promises.

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStoreExt};
use throng_core::verify::{AllowedValues, Findings, Promise};
use throng_datafusion::{AnonymizeError, Verification, VerifiedTable, catch_decode_panic, catch_decode_panics};
use throng_policy::{Store, delta_table};

use crate::delta::DeltaLog;
use crate::error::{JobError, Kind};
use crate::input::{FileInput, InputFile, JobInput, format_of, open_locations, open_table};
use crate::job::JobOptions;
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::progress::Stage;
use crate::session::session;
use crate::store_path::{Location, StorePath};
use crate::verify_documents::check_documents;
use crate::write::digest_of;

/// Verifies a promise on any table: a file, a folder or a glob. Returns an error for a table with a column outside
/// `columns`, if they are given.
///
/// A folder with a manifest is a release: the listed files are read, and must have the listed sizes and digests. Other data
/// files in the folder are an error, because readers of the folder would read them too. Of a release that was appended to, each
/// append must keep the promise on its own; the findings are those of the first append that does not, or else of all files. The
/// manifest and the sidecar must match the rows.
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
    let input = match options.table {
        Some(_) => open_table(&session, locations, settings, options).await?,
        None => open_release(&session, locations, settings).await?,
    };
    if let Some(columns) = columns {
        let unknown = input.schema().fields().iter().map(|field| field.name()).filter(|name| !columns.contains(name));
        let unknown: Vec<String> = unknown.map(|name| format!("`{name}`")).collect();
        if !unknown.is_empty() {
            let text = format!("the release has columns that the policy does not release: {}", unknown.join(", "));
            return Err(JobError::new(Kind::Verification, text));
        }
    }
    if let Some((file, entries)) = input.unknown_metadata().await? {
        let text = format!(
            "the release is refused: {file} has {} of key-value metadata that no known writer makes, and that may hold anything; \
             write the file again without",
            if entries == 1 { "an entry".to_owned() } else { format!("{entries} entries") }
        );
        return Err(JobError::new(Kind::Verification, text));
    }
    let input = input.with_text(&text_columns(&promise)).unwrap_or(input);
    options.observer.begin(Stage::Verify, None);
    let verification = Verification::new(promise.clone()).with_progress(Arc::clone(&options.observer));
    if options.table.is_none() {
        for files in appends_of(locations, settings).await? {
            let append = FileInput::of_release(&session, files).await?;
            let findings = findings_of(&session, &append, &verification).await?;
            if !findings.holds() {
                return Ok(findings);
            }
        }
    }
    let findings = findings_of(&session, input.as_ref(), &verification).await?;
    if options.table.is_none()
        && findings.holds()
        && let Some((place, manifest)) = release_at(locations, settings).await?
    {
        check_documents(&place, &manifest, &promise, &findings).await?;
    }
    Ok(findings)
}

async fn findings_of(
    session: &SessionContext,
    input: &dyn JobInput,
    verification: &Verification,
) -> Result<Findings, JobError> {
    let verified = examine(session, input, verification).await?;
    verified.map(|verified| verified.findings).ok_or_else(|| JobError::internal("a table was not read as a whole"))
}

/// Returns the columns whose cells are compared as text where a format has no types: readers see `25.0` and `25` as two values.
/// Bounds with a limit are compared with numbers, and stay numbers.
fn text_columns(promise: &Promise) -> Vec<String> {
    let is_bound = |name: &String| {
        promise.limits.iter().any(|limit| match &limit.allowed {
            AllowedValues::Bands { columns, .. } => columns.len() > 1 && columns.contains(name),
            AllowedValues::Labels(_) => false,
        })
    };
    promise.quasi.iter().filter(|name| !is_bound(name)).cloned().collect()
}

/// Returns the files of each append of a release that was appended to, each of which keeps the promise on its own. A release
/// that was not appended to has none.
async fn appends_of(locations: &[String], settings: &Store) -> Result<Vec<Vec<InputFile>>, JobError> {
    let Some((place, manifest)) = release_at(locations, settings).await? else { return Ok(Vec::new()) };
    if manifest.appended.is_none() {
        return Ok(Vec::new());
    }
    // Files of one run differ in the number after the last dash.
    let run = |file: &InputFile| {
        let name = file.place.path.filename().unwrap_or_default();
        name.rsplit_once('-').map_or("", |(run, _)| run).to_owned()
    };
    let files = listed_files(&place, &manifest).await?;
    Ok(files.chunk_by(|a, b| run(a) == run(b)).map(<[InputFile]>::to_vec).collect())
}

/// Opens a table to be verified: the files that a manifest lists, or all files of the locations if there is none.
pub(crate) async fn open_release(
    session: &SessionContext,
    locations: &[String],
    settings: &Store,
) -> Result<Arc<dyn JobInput>, JobError> {
    Ok(match release_at(locations, settings).await? {
        Some((place, manifest)) => {
            let files = listed_files(&place, &manifest).await?;
            Arc::new(FileInput::of_release(session, files).await?)
        }
        None => open_locations(session, locations, settings).await?,
    })
}

/// Returns the release with its manifest, if the locations are one folder that has a manifest.
pub(crate) async fn release_at(
    locations: &[String],
    settings: &Store,
) -> Result<Option<(StorePath, Manifest)>, JobError> {
    let [location] = locations else { return Ok(None) };
    if delta_table(location).is_some() {
        return Ok(None);
    }
    let Location { place, pattern: None, .. } = Location::parse_with(location, settings)? else { return Ok(None) };
    let is_file = match place.local_path() {
        Some(path) => !path.is_dir(),
        None => !place.path.as_ref().is_empty() && place.store.head(&place.path).await.is_ok(),
    };
    if is_file {
        return Ok(None);
    }
    // The folder of a Delta table also holds files of other versions, and is refused when its files are looked up.
    if DeltaLog::list(&place).await?.is_some() {
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
pub(crate) async fn listed_files(place: &StorePath, manifest: &Manifest) -> Result<Vec<InputFile>, JobError> {
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
    if digest_of(found.into_stream()).await.map_err(failed)? != entry.sha256 {
        return Err(refused(place, "has another content than the manifest says"));
    }
    Ok(meta)
}

fn refused(place: &StorePath, why: &str) -> JobError {
    JobError::new(Kind::Verification, format!("the release is refused: {place} {why}"))
}

/// Verifies a table in this process. Returns `None` if contiguous classes were expected and not found.
pub(crate) async fn examine(
    session: &SessionContext,
    input: &dyn JobInput,
    verification: &Verification,
) -> Result<Option<VerifiedTable>, JobError> {
    // Reports missing and repeated columns before the engine does.
    verification.check_schema(input.schema())?;
    let names = verification.columns();
    let failed = |error| JobError::reading("the release", &error);
    input.read_plan(Some(&names)).apply(session)?;
    let frame = input.rows(session)?.select_columns(&names).map_err(failed)?;
    let streams = catch_decode_panic(frame.execute_stream_partitioned()).await.map_err(failed)?;
    let streams = streams.into_iter().map(catch_decode_panics).collect();
    let verification = verification.clone().within(Arc::clone(&session.runtime_env().memory_pool));
    match verification.run(input.schema(), streams).await {
        Err(AnonymizeError::Read(error)) => Err(input.locate(session, &names, &error).await),
        verified => Ok(verified?),
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
