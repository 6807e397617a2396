//! Finds the files of an input: a file, all files of a folder, or those that match a glob.

use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStoreExt};
use throng_policy::{Format, Store};

use super::InputFile;
use super::partitions::{FolderValues, PartitionColumns, folder_values, without_folder_values};
use crate::delta::LOG;
use crate::error::{JobError, Kind};
use crate::store_path::{Location, StorePath};

/// The files of an input.
#[derive(Debug)]
pub(super) struct FoundFiles {
    /// Files in a deterministic order, without duplicates.
    pub(super) files: Vec<InputFile>,
    pub(super) format: Format,
    /// Columns in the names of their folders.
    pub(super) partitions: Option<PartitionColumns>,
}

/// Returns the files of all locations.
pub(super) async fn find(
    locations: &[String],
    format: Option<Format>,
    settings: &Store,
) -> Result<FoundFiles, JobError> {
    let mut files: Vec<(InputFile, FolderValues)> = Vec::new();
    for text in locations {
        if throng_policy::delta_table(text).is_some() {
            let text = "a Delta table is read alone; name no other location beside it";
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        let location = Location::parse_with(text, settings)?;
        let found = find_one(&location, format).await?;
        if found.is_empty() {
            return Err(JobError::new(
                Kind::NoInput,
                format!(
                    "no input files at {text}; expected Parquet, CSV or Arrow files (names that begin with `_` or `.` are passed over)"
                ),
            ));
        }
        let with_values = |file: InputFile| (folder_values(&location.place.path, &file.place.path), file);
        files.extend(found.into_iter().map(with_values).map(|(values, file)| (file, values)));
    }
    files.sort_by(|(a, _), (b, _)| (a.place.root.as_str(), &a.place.path).cmp(&(b.place.root.as_str(), &b.place.path)));
    // A file that two locations contain gets the partition columns of the longer path.
    files.dedup_by(|(a, of_a), (b, of_b)| {
        let is_same = a.place.root == b.place.root && a.place.path == b.place.path;
        if is_same && of_a.len() > of_b.len() {
            *of_b = std::mem::take(of_a);
        }
        is_same
    });
    let partitions = PartitionColumns::of_folders(&files).map_err(|error| {
        without_folder_values(error, &files.iter().map(|(file, _)| file.clone()).collect::<Vec<_>>())
    })?;
    let files: Vec<InputFile> = files.into_iter().map(|(file, _)| file).collect();
    let format = match format {
        Some(format) => format,
        None => common_format(&files)?,
    };
    Ok(FoundFiles { files, format, partitions })
}

async fn find_one(location: &Location, format: Option<Format>) -> Result<Vec<InputFile>, JobError> {
    let place = &location.place;
    let file = |meta: ObjectMeta| InputFile { place: place.at(meta.location.clone()), meta };
    // A web server answers a request for a folder with an HTML page.
    check_regular(place)?;
    let is_page = place.is_web() && (location.is_folder || place.path.as_ref().is_empty());
    if location.pattern.is_none() && !place.path.as_ref().is_empty() && !is_page {
        match place.store.head(&place.path).await {
            Ok(meta) => return Ok(vec![file(meta)]),
            Err(object_store::Error::NotFound { .. }) if place.is_web() => return Ok(Vec::new()),
            Err(object_store::Error::NotFound { .. }) => {}
            // A folder of the local file system is not an object, and has its own error.
            Err(_) if place.local_path().is_some_and(|path| path.is_dir()) => {}
            Err(error) => return Err(JobError::storage(format!("looking for {place}"), &error)),
        }
    }
    let listed: Vec<ObjectMeta> =
        place.store.list(Some(&place.path)).try_collect().await.map_err(|error| match is_page {
            true => unlisted(place),
            false => JobError::storage(format!("listing {place}"), &error),
        })?;
    check_no_table(place, &listed)?;
    let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
    let matches = |meta: &ObjectMeta| match &location.pattern {
        Some(pattern) => pattern.matches_with(meta.location.as_ref(), options),
        None => true,
    };
    let has_format = |meta: &ObjectMeta| {
        let of_name = format_of(&meta.location);
        of_name.is_some_and(|of_name| format.is_none_or(|format| format == of_name))
            || (location.pattern.is_some() && format.is_some())
    };
    let visible = |meta: &ObjectMeta| {
        let below = meta.location.prefix_match(&place.path);
        below.is_some_and(|mut parts| parts.all(|part| !part.as_ref().starts_with(['_', '.'])))
    };
    let listed = listed.into_iter().filter(|meta| visible(meta) && matches(meta));
    let (found, others): (Vec<ObjectMeta>, Vec<ObjectMeta>) = listed.partition(has_format);
    if let Some(packed) = others.iter().find(|meta| compression_of(&meta.location).is_some()) {
        return Err(compressed(&place.at(packed.location.clone())));
    }
    Ok(found.into_iter().map(file).collect())
}

/// Rejects a pipe, a socket or a device, which can't be read twice, or might block forever.
fn check_regular(place: &StorePath) -> Result<(), JobError> {
    match place.local_path().map(std::fs::metadata) {
        Some(Ok(meta)) if !meta.is_file() && !meta.is_dir() => {
            let text = format!("{place} is neither a file nor a folder (a pipe, perhaps), and is not read");
            Err(JobError::new(Kind::BadPolicy, format!("{text}; write its content to a file")))
        }
        _ => Ok(()),
    }
}

/// Rejects the folder of a Delta table, in which files of other versions lie next to those of the latest.
fn check_no_table(place: &StorePath, listed: &[ObjectMeta]) -> Result<(), JobError> {
    let is_log = |meta: &ObjectMeta| {
        let mut below = meta.location.prefix_match(&place.path).into_iter().flatten();
        below.next().is_some_and(|folder| folder.as_ref() == LOG)
    };
    if !listed.iter().any(is_log) {
        return Ok(());
    }
    let text = format!("{place} is a Delta table, whose folder also holds files of other versions");
    let advice = "write `delta+` before the location to read one version of it";
    Err(JobError::new(Kind::BadPolicy, format!("{text}; {advice}")))
}

fn compressed(place: &StorePath) -> JobError {
    JobError::new(Kind::BadPolicy, format!("{place} is compressed as a whole, and is not read; decompress it first"))
}

/// Returns the extension of a data file that is compressed as a whole, such as `gz` of `people.csv.gz`.
pub(crate) fn compression_of(path: &object_store::path::Path) -> Option<&'static str> {
    const COMPRESSIONS: [&str; 8] = ["gz", "zst", "bz2", "xz", "lz4", "sz", "br", "zip"];
    let (stem, extension) = path.filename()?.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let known = COMPRESSIONS.into_iter().find(|known| *known == extension)?;
    format_of(&object_store::path::Path::from(stem)).map(|_| known)
}

/// Returns the error for a folder of a web server that does not list its files.
fn unlisted(place: &StorePath) -> JobError {
    let text = format!("{place} is a folder of a web server that does not list its files (WebDAV); name each file");
    JobError::new(Kind::BadPolicy, text)
}

fn common_format(files: &[InputFile]) -> Result<Format, JobError> {
    let mut formats = files.iter().map(|file| (format_of(&file.place.path), &file.place));
    let unknown = |place: &StorePath| {
        if compression_of(&place.path).is_some() {
            return compressed(place);
        }
        let text = format!(
            "{place} has no known extension (.parquet, .csv, .arrow); set `format` under [input], or STORED AS in SQL"
        );
        JobError::new(Kind::BadPolicy, text)
    };
    let (first, place) = formats.next().ok_or_else(|| JobError::new(Kind::NoInput, "no input files"))?;
    let first = first.ok_or_else(|| unknown(place))?;
    for (format, place) in formats {
        let format = format.ok_or_else(|| unknown(place))?;
        if format != first {
            let text = format!(
                "the input mixes {} and {} files; set `format` under [input], STORED AS in SQL, or name the files",
                first.as_str(),
                format.as_str()
            );
            return Err(JobError::new(Kind::BadPolicy, text));
        }
    }
    Ok(first)
}

/// Returns the format by the extension of a file name.
pub(crate) fn format_of(path: &object_store::path::Path) -> Option<Format> {
    match path.extension()?.to_ascii_lowercase().as_str() {
        "parquet" | "parq" | "pq" => Some(Format::Parquet),
        "csv" => Some(Format::Csv),
        "arrow" | "ipc" | "feather" => Some(Format::Arrow),
        _ => None,
    }
}
