//! Finds the input files whose rows an appended release does not have yet.
//!
//! A file is recognized by its version (location, size, time and tag), and otherwise by its content, which is then read.
//! So a file that is renamed, copied, touched or rewritten with the same bytes is not released twice.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use object_store::ObjectStoreExt;
use throng_core::key::ReleaseKey;
use throng_policy::{CsvOptions, Format, Policy};

use super::find::FoundFiles;
use super::{InputFile, find, fingerprint};
use crate::error::{JobError, Kind};
use crate::manifest::AppendedFile;
use crate::write::{digest_of, hexadecimal};

/// The files of an input, and those of them that may still be written.
pub(crate) struct AppendCandidates {
    files: Vec<InputFile>,
    format: Format,
    /// Number of files that are deferred, because they were written a moment ago.
    pub(crate) young: u64,
}

/// Files that an appended release does not have yet, with the digests by which they will be recognized.
pub(crate) struct NewFiles {
    pub(crate) files: Vec<InputFile>,
    pub(crate) format: Format,
    pub(crate) entries: Vec<AppendedFile>,
    /// Number of files that the release has.
    pub(crate) known: u64,
}

impl AppendCandidates {
    /// Finds the files of the input of a policy. Local files are deferred until nothing has been written to them for
    /// `settle`; objects of a store are complete when they appear.
    pub(crate) async fn of(policy: &Policy, settle: Duration) -> Result<Self, JobError> {
        let FoundFiles { files, format, partitions } =
            find::find(&policy.input.locations, policy.input.format, &policy.store).await?;
        if partitions.is_some() {
            let text = "folders of partitions (`year=2026/`) can't be appended from yet; name the files of one folder";
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        let now = SystemTime::now();
        let is_young = |file: &InputFile| {
            let age = now.duration_since(file.meta.last_modified.into()).unwrap_or_default();
            file.place.local_path().is_some() && age < settle
        };
        let (young, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_young);
        Ok(Self { files, format, young: young.len() as u64 })
    }

    /// Returns the number of files.
    pub(crate) fn len(&self) -> u64 {
        self.files.len() as u64
    }

    /// Whether the release certainly has every file, determined without reading any.
    pub(crate) fn are_known(&self, known: &[AppendedFile], csv: CsvOptions, key: ReleaseKey) -> bool {
        let versions: HashSet<&str> = known.iter().filter_map(|file| file.version.as_deref()).collect();
        let is_known = |file| version_of(file, self.format, csv, key).is_some_and(|it| versions.contains(it.as_str()));
        self.files.iter().all(is_known)
    }
}

/// Returns the files that are not `known`. A file that was changed after its rows were released is an error: which rows are
/// new is unknown.
pub(crate) async fn find_new(
    found: AppendCandidates,
    known: &[AppendedFile],
    csv: CsvOptions,
    key: ReleaseKey,
) -> Result<NewFiles, JobError> {
    let versions: HashSet<&str> = known.iter().filter_map(|file| file.version.as_deref()).collect();
    let places: HashSet<&str> = known.iter().map(|file| file.place.as_str()).collect();
    let mut contents: HashSet<String> = known.iter().map(|file| file.content.clone()).collect();
    let mut new = NewFiles { files: Vec::new(), format: found.format, entries: Vec::new(), known: 0 };
    for file in found.files {
        let version = version_of(&file, found.format, csv, key);
        if version.as_deref().is_some_and(|version| versions.contains(version)) {
            new.known += 1;
            continue;
        }
        let (place, content) = (keyed(key, "appended place", &file.place.to_string()), content_of(&file, key).await?);
        if !contents.insert(content.clone()) {
            tracing::warn!(file = %file.place, "skipped: a file with the same bytes is released already");
            new.known += 1;
        } else if places.contains(place.as_str()) {
            let text = format!(
                "{} has changed since its rows were released; an append takes new files only. Restore it, and put new rows into \
                 a file of their own",
                file.place
            );
            return Err(JobError::new(Kind::BadData, text));
        } else {
            new.entries.push(AppendedFile { place, version, content });
            new.files.push(file);
        }
    }
    Ok(new)
}

fn version_of(file: &InputFile, format: Format, csv: CsvOptions, key: ReleaseKey) -> Option<String> {
    let version = fingerprint::fingerprint(std::slice::from_ref(file), format, csv, SystemTime::now())?;
    Some(keyed(key, "appended version", &version))
}

async fn content_of(file: &InputFile, key: ReleaseKey) -> Result<String, JobError> {
    let failed = |error| JobError::storage(format!("reading {}", file.place), &error);
    let found = file.place.store.get(&file.place.path).await.map_err(failed)?;
    let digest = digest_of(found.into_stream()).await.map_err(failed)?;
    Ok(keyed(key, "appended content", &digest))
}

fn keyed(key: ReleaseKey, purpose: &'static str, text: &str) -> String {
    hexadecimal(&key.derive(purpose, text.as_bytes()).to_bytes())
}
