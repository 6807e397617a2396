//! Writes part files to a local folder.
//!
//! Parts are written under a hidden name and renamed only when all of them are complete, so a reader of the folder
//! never sees a partial file or extract. A part holds a contiguous range of rows; parts are generated in parallel on
//! the current rayon pool, with one buffered row group per thread.

use std::fs::{self, File};
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;
use thiserror::Error;

use crate::census::{CensusBatches, census_schema};

/// Default number of rows per part file.
pub const DEFAULT_FILE_ROWS: u64 = 1_000_000;

/// Seed of the rows if none is given.
pub const DEFAULT_SEED: u64 = 0;

/// Rows per row group: small enough to buffer one per thread, large enough for dictionaries to pay.
const ROW_GROUP_ROWS: usize = 262_144;

/// The extract to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CensusOptions {
    /// Number of rows over all files.
    pub rows: u64,
    /// The same seed gives the same rows.
    pub seed: u64,
    /// Number of part files; by default one for each [`DEFAULT_FILE_ROWS`] rows, and at least one.
    pub files: Option<usize>,
    /// Whether to replace existing part files; otherwise they are an error.
    pub overwrite: bool,
}

impl CensusOptions {
    /// Creates options for `rows` rows, with defaults for everything else.
    pub fn new(rows: u64) -> Self {
        Self { rows, seed: DEFAULT_SEED, files: None, overwrite: false }
    }

    /// Sets the seed.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the number of part files; zero counts as one.
    pub fn with_files(self, files: usize) -> Self {
        Self { files: Some(files), ..self }
    }

    /// Sets whether to replace part files of an earlier run.
    pub fn with_overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    fn file_count(&self) -> u64 {
        self.files.map_or(self.rows.div_ceil(DEFAULT_FILE_ROWS), |files| files as u64).max(1)
    }

    /// Returns the row range of part `index`; part sizes differ by at most one row.
    fn part(&self, index: u64) -> Range<u64> {
        let border = |i: u64| (u128::from(self.rows) * u128::from(i) / u128::from(self.file_count())) as u64;
        border(index)..border(index + 1)
    }
}

/// Size of a generated extract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerateSummary {
    /// Number of rows in all files.
    pub rows: u64,
    /// Number of part files.
    pub files: usize,
    /// Total bytes of all files.
    pub bytes: u64,
}

/// Reason why an extract can't be written.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// The folder already has part files, and readers would mix them with the new ones.
    #[error("{} already exists; choose another folder or allow overwriting", path.display())]
    Exists {
        /// The first part file found.
        path: PathBuf,
    },
    /// A file system operation failed.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// Encoding or writing a file failed.
    #[error("could not write {}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: ParquetError,
    },
    /// The caller has stopped it.
    #[error("stopped; nothing was written")]
    Stopped,
}

/// Writes a census extract as `part-00000.parquet` and so on into a folder, which is created if it is missing.
///
/// Equal rows, seed and number of files give equal bytes. `on_rows` is called with the number of rows just written,
/// possibly from several threads. On failure no part of the new extract stays in the folder, nor a folder that was created; old parts are
/// removed only after the new ones are complete.
pub fn write_census(
    folder: &Path,
    options: &CensusOptions,
    on_rows: &(dyn Fn(u64) + Sync),
) -> Result<GenerateSummary, GenerateError> {
    write_census_until(folder, options, &|rows| {
        on_rows(rows);
        ControlFlow::Continue(())
    })
}

/// Writes a census extract as [`write_census`] does, until `on_rows` breaks off.
pub fn write_census_until(
    folder: &Path,
    options: &CensusOptions,
    on_rows: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<GenerateSummary, GenerateError> {
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(refused("create", folder))?;
    let old = existing_parts(folder)?;
    if let (false, Some(path)) = (options.overwrite, old.first()) {
        return Err(GenerateError::Exists { path: path.clone() });
    }
    let parts: Vec<PartFile> = (0..options.file_count()).map(|index| PartFile::new(folder, index, options)).collect();
    let written: Result<u64, GenerateError> =
        parts.par_iter().map(|part| part.write(options.seed, on_rows)).try_reduce(|| 0, |a, b| Ok(a + b));
    let published = written.and_then(|bytes| {
        publish(&old, &parts)?;
        Ok(GenerateSummary { rows: options.rows, files: parts.len(), bytes })
    });
    if published.is_err() {
        parts.iter().for_each(|part| discard(&part.draft));
        if is_new {
            let _ = fs::remove_dir(folder);
        }
    }
    published
}

/// Removes the old parts and renames the new ones, all of them or none.
fn publish(old: &[PathBuf], parts: &[PartFile]) -> Result<(), GenerateError> {
    for path in old {
        fs::remove_file(path).map_err(refused("remove", path))?;
    }
    for (done, part) in parts.iter().enumerate() {
        if let Err(error) = fs::rename(&part.draft, &part.path) {
            parts[..done].iter().for_each(|part| discard(&part.path));
            return Err(refused("rename", &part.draft)(error));
        }
    }
    Ok(())
}

/// Removes a file during error handling. Errors are ignored: the original failure is reported, and the file may not
/// exist.
fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}

/// One part file.
struct PartFile {
    path: PathBuf,
    draft: PathBuf,
    rows: Range<u64>,
}

impl PartFile {
    fn new(folder: &Path, index: u64, options: &CensusOptions) -> Self {
        let name = format!("part-{index:05}.parquet");
        Self { draft: folder.join(format!(".{name}.draft")), path: folder.join(name), rows: options.part(index) }
    }

    /// Writes the draft and returns its size in bytes.
    fn write(&self, seed: u64, on_rows: &(dyn Fn(u64) -> ControlFlow<()> + Sync)) -> Result<u64, GenerateError> {
        let failed = |source| GenerateError::Parquet { path: self.path.clone(), source };
        let file = File::create(&self.draft).map_err(refused("create", &self.draft))?;
        let mut writer = ArrowWriter::try_new(file, census_schema(), Some(properties())).map_err(failed)?;
        for batch in CensusBatches::range(self.rows.clone(), seed) {
            writer.write(&batch).map_err(failed)?;
            if on_rows(batch.num_rows() as u64).is_break() {
                return Err(GenerateError::Stopped);
            }
        }
        writer.finish().map_err(failed)?;
        let file = writer.inner();
        file.sync_all().map_err(refused("sync", &self.draft))?;
        Ok(file.metadata().map_err(refused("measure", &self.draft))?.len())
    }
}

/// Parquet properties: Zstandard at its default level, a fifth smaller than Snappy for a twentieth more time. No
/// dictionary for identifiers, which never repeat.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_column_dictionary_enabled(ColumnPath::from("person_id"), false)
        .build()
}

/// Returns the part files of the folder, sorted.
fn existing_parts(folder: &Path) -> Result<Vec<PathBuf>, GenerateError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused("list", folder))? {
        let entry = entry.map_err(refused("list", folder))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("part-")?.strip_suffix(".parquet"));
        if number.is_some_and(|number| number.len() >= 5 && number.bytes().all(|b| b.is_ascii_digit())) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn refused<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> GenerateError + 'a {
    move |source| GenerateError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
