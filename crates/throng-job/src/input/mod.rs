//! Inputs of a job: tables that are opened in one version and can be read more than once.
//!
//! The stages access an input only through [`JobInput`]. [`FileInput`] implements it for files on object stores; another
//! kind of table implements the trait and is opened in [`open`]. A host may pass in its own table.
//!
//! | file | content |
//! |---|---|
//! | `file_input` | files with one schema as a table |
//! | `delta_input` | a version of a Delta table |
//! | `table_input` | a table of the host |
//! | `find` | the files of a location: one, those of a folder, or those that match a glob |
//! | `partitions`, `partitioned_table` | columns that are constant in each file |
//! | `schema`, `names`, `footer`, `thrift`, `leading_zeros` | the common schema, and checks of what files declare |
//! | `foreign_text` | text that Parquet files hold besides their values |
//! | `read_demand` | memory needed to read them |
//! | `new_files` | the files that an appended release does not have yet |
//! | `pinned`, `fingerprint` | one version of each file, and the digest of all versions |

mod arrow_lengths;
mod delta_input;
mod file_input;
mod find;
mod fingerprint;
mod footer;
mod foreign_text;
mod leading_zeros;
mod names;
mod new_files;
mod partitioned_table;
mod partitions;
mod pinned;
mod read_demand;
mod schema;
mod table_input;
mod thrift;
mod wider_type;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionContext};
use throng_policy::{CsvOptions, Format, Policy, Store, TablePin};

use delta_input::DeltaInput;
pub(crate) use file_input::{FileInput, InputFile};
pub(crate) use find::{compression_of, format_of};
pub(crate) use fingerprint::current_fingerprint;
pub(crate) use names::check_names;
pub(crate) use new_files::{AppendCandidates, NewFiles, find_new};
pub(crate) use read_demand::ReadPlan;
use table_input::TableInput;

use crate::error::{JobError, Kind};
use crate::job::JobOptions;

/// A table that a job reads, in the version that was found when it was opened.
#[async_trait]
pub(crate) trait JobInput: fmt::Debug + Send + Sync {
    /// Returns the schema of the table.
    fn schema(&self) -> &SchemaRef;

    /// Returns all rows, to be read by `session`, which may differ from the session that opened the input.
    fn rows(&self, session: &SessionContext) -> Result<DataFrame, JobError>;

    /// Returns how to read these columns, or all, within the memory of a session. Must be applied to a session before its
    /// queries are planned.
    fn read_plan(&self, columns: Option<&[&str]>) -> ReadPlan;

    /// Returns the number of rows that the table declares, if its format does.
    fn expected_rows(&self) -> Option<u64>;

    /// Returns a digest of the version that is read; `None` if a later version could not be distinguished from it.
    fn fingerprint(&self) -> Option<&str>;

    /// Returns an error if the table is no longer in the version that was opened. Must be called after reading and before
    /// anything that was read is published.
    async fn check_unchanged(&self) -> Result<(), JobError>;

    /// Converts an error of the engine while it read `columns` into one that names the part of the input at fault.
    async fn locate(&self, session: &SessionContext, columns: &[&str], error: &DataFusionError) -> JobError;

    /// Returns the text that the files hold besides their values, if their format can hold any.
    async fn file_texts(&self) -> Result<Vec<String>, JobError> {
        Ok(Vec::new())
    }

    /// Returns the same table with some columns as text, if its format is untyped.
    fn with_text(&self, _columns: &[String]) -> Option<Arc<dyn JobInput>> {
        None
    }

    /// Returns the first file with metadata that no known writer makes, and the number of such entries in it.
    async fn unknown_metadata(&self) -> Result<Option<(String, usize)>, JobError> {
        Ok(None)
    }

    /// Whether the rows can be read by other machines.
    fn is_distributable(&self) -> bool {
        true
    }

    /// Returns location and size, for messages and documents.
    fn describe(&self) -> InputDescription;

    /// Returns an error if the number of rows read differs from the declared one: pages are missing, or were skipped.
    fn check_rows(&self, read: u64) -> Result<(), JobError> {
        let Some(expected) = self.expected_rows().filter(|expected| *expected != read) else { return Ok(()) };
        let what = match self.describe().locations.as_slice() {
            [location] => location.clone(),
            locations => format!("the {} files of the input", locations.len()),
        };
        let text = format!("{what} should have {expected} rows, and {read} were read: pages are damaged or missing");
        Err(JobError::new(Kind::BadData, format!("{text}; write the files again")))
    }
}

/// Location and size of an input.
#[derive(Clone, Debug)]
pub(crate) struct InputDescription {
    /// Location of each file.
    pub(crate) locations: Vec<String>,
    /// Number of data files of the input.
    pub(crate) files: u64,
    /// Total size of the files.
    pub(crate) bytes: u64,
    /// Version of a versioned table.
    pub(crate) version: Option<u64>,
}

/// Opens the table of the options, or else the input of a policy.
pub(crate) async fn open(
    policy: &Policy,
    session: &SessionContext,
    options: &JobOptions,
) -> Result<Arc<dyn JobInput>, JobError> {
    if let Some(table) = &options.table {
        return Ok(of_host(table));
    }
    if let Some(table) = delta_input::table_of(&policy.input.locations) {
        return Ok(Arc::new(DeltaInput::open(session, table, policy.input.pin, &policy.store).await?));
    }
    Ok(Arc::new(FileInput::pinned(session, &policy.input, &policy.store).await?))
}

/// Opens files of the input of a policy, in the version in which they were found.
pub(crate) async fn open_files(
    policy: &Policy,
    session: &SessionContext,
    files: NewFiles,
) -> Result<Arc<dyn JobInput>, JobError> {
    Ok(Arc::new(FileInput::pinned_files(session, files.files, files.format, policy.input.csv).await?))
}

/// Opens the table of the options, or else one outside a policy.
pub(crate) async fn open_table(
    session: &SessionContext,
    locations: &[String],
    settings: &Store,
    options: &JobOptions,
) -> Result<Arc<dyn JobInput>, JobError> {
    match &options.table {
        Some(table) => Ok(of_host(table)),
        None => open_locations(session, locations, settings).await,
    }
}

/// Takes a table that the host has opened.
pub(crate) fn of_host(table: &Arc<dyn TableProvider>) -> Arc<dyn JobInput> {
    Arc::new(TableInput::new(Arc::clone(table)))
}

/// Opens a table outside a policy: files, folders, globs or URLs, whose files may change while they are read; or the latest
/// version of a Delta table.
pub(crate) async fn open_locations(
    session: &SessionContext,
    locations: &[String],
    settings: &Store,
) -> Result<Arc<dyn JobInput>, JobError> {
    if let Some(table) = delta_input::table_of(locations) {
        return Ok(Arc::new(DeltaInput::open(session, table, TablePin::Latest, settings).await?));
    }
    Ok(Arc::new(FileInput::open(session, locations, settings).await?))
}

/// Checks the files at these locations, which the engine will open by itself: with the columns that a statement declares, if
/// `has_columns`, or with those of the files, in which a numeric column must then have one width. An empty list of files is
/// not an error.
pub(crate) async fn check_external_files(
    session: &SessionContext,
    locations: &[String],
    format: Format,
    has_columns: bool,
) -> Result<(), JobError> {
    let found = match find::find(locations, Some(format), &Store::default()).await {
        Err(error) if error.kind() == Kind::NoInput => return Ok(()),
        found => found?,
    };
    let options = CsvOptions::default();
    let file_format = file_input::file_format(format, options);
    let read = schema::read_schemas(session, &found.files, &file_format, format, options).await;
    let checked = read.and_then(|read| if has_columns { Ok(()) } else { schema::check_widths(&read.schemas) });
    checked.map_err(|error| partitions::without_folder_values(error, &found.files))
}
