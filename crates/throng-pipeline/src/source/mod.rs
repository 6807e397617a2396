//! The input: files found at the locations of a policy, with one schema, as a DataFrame.

mod codes;
mod find;
mod footer;
mod identity;
mod names;
mod pinned;
mod schema;
mod thrift;

pub(crate) use find::format_of;
pub(crate) use identity::identity_of_input;

use std::sync::Arc;
use std::time::SystemTime;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig};
use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::TryStreamExt;
use throng_datafusion::{guarded, guarded_stream};
use throng_policy::{CsvOptions, Format, Input, Store};

use crate::error::{JobError, Kind};
use crate::place::Place;

/// How many records of CSV decide the types of its columns.
const CSV_INFERENCE_RECORDS: usize = 100_000;

/// Files that together are one table.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) schema: SchemaRef,
    /// How many rows the files promise, where files do.
    rows: Option<u64>,
    /// What tells this input from another, where a job reads it and it can be told.
    pub(crate) identity: Option<String>,
    format: Format,
    csv: CsvOptions,
}

/// One file of a table.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    pub(crate) place: Place,
    pub(crate) meta: object_store::ObjectMeta,
}

impl Source {
    /// Finds the files of these locations and checks that their schemas agree.
    pub(crate) async fn open(
        session: &SessionContext,
        locations: &[String],
        format: Option<Format>,
        csv: CsvOptions,
    ) -> Result<Self, JobError> {
        Self::open_with(session, locations, format, csv, &Store::default()).await
    }

    /// The same, on stores as a policy has them.
    pub(crate) async fn open_with(
        session: &SessionContext,
        locations: &[String],
        format: Option<Format>,
        csv: CsvOptions,
        settings: &Store,
    ) -> Result<Self, JobError> {
        let (files, format) = find::find(locations, format, settings).await?;
        Self::of_files(session, files, format, csv).await
    }

    /// The input of a policy, whose files must stay as they are: stores refuse to send anything of a file that has
    /// changed since it was found. See [`Source::check_unchanged`] for the others.
    pub(crate) async fn of_job(session: &SessionContext, input: &Input, settings: &Store) -> Result<Self, JobError> {
        let (files, format) = find::find(&input.locations, input.format, settings).await?;
        let identity = identity::identity(&files, format, input.csv, SystemTime::now());
        let files = pinned::pin(files);
        match Self::of_files(session, files.clone(), format, input.csv).await {
            Ok(source) => Ok(Self { identity, ..source }),
            // A file that is being replaced may look damaged.
            Err(error) => Err(pinned::check_unchanged(&files).await.err().unwrap_or(error)),
        }
    }

    /// A table of these files.
    pub(crate) async fn of_files(
        session: &SessionContext,
        files: Vec<SourceFile>,
        format: Format,
        csv: CsvOptions,
    ) -> Result<Self, JobError> {
        check_stores(&files)?;
        for file in &files {
            session.register_object_store(&file.place.root, Arc::clone(&file.place.store));
        }
        let (schema, rows) = schema::common_schema(session, &files, &file_format(format, csv), format, csv).await?;
        let source = Self { files, schema, rows, identity: None, format, csv };
        match format {
            Format::Csv => Ok(Self { schema: codes::keep_codes(session, &source).await?, ..source }),
            Format::Parquet | Format::Arrow => Ok(source),
        }
    }

    /// Makes sure, after reading, that all files are still those that were found.
    pub(crate) async fn check_unchanged(&self) -> Result<(), JobError> {
        pinned::check_unchanged(&self.files).await
    }

    /// The size of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.meta.size).sum()
    }

    /// Refuses an input of which other rows were read than its files promise: pages are missing, or were left out.
    pub(crate) fn check_rows(&self, read: u64) -> Result<(), JobError> {
        let Some(told) = self.rows.filter(|told| *told != read) else { return Ok(()) };
        let what = match self.files.as_slice() {
            [file] => file.place.to_string(),
            files => format!("the {} files of the input", files.len()),
        };
        let text = format!("{what} should have {told} rows, and {read} were read: pages are damaged or missing");
        Err(JobError::new(Kind::BadData, format!("{text}; write the files again")))
    }

    /// All rows of the table.
    pub(crate) fn frame(&self, session: &SessionContext) -> Result<DataFrame, JobError> {
        let failed = |error| JobError::reading("the input", &error);
        let options = ListingOptions::new(file_format(self.format, self.csv)).with_file_extension("");
        // A listing reads from one store only.
        let mut frame: Option<DataFrame> = None;
        for files in self.files.chunk_by(|a, b| a.place.root == b.place.root) {
            let urls = files.iter().map(|file| file.place.table_url()).collect::<Result<Vec<_>, _>>()?;
            let config = ListingTableConfig::new_with_multi_paths(urls)
                .with_listing_options(options.clone())
                .with_schema(Arc::clone(&self.schema));
            let table = ListingTable::try_new(config).map_err(failed)?;
            let part = session.read_table(Arc::new(table)).map_err(failed)?;
            frame = Some(match frame {
                Some(frame) => frame.union(part).map_err(failed)?,
                None => part,
            });
        }
        frame.ok_or_else(|| JobError::internal("a source without files"))
    }

    /// An error of the engine while it read these columns, with the file in which it fails. The engine does not tell
    /// which one that is, so that they are read again one by one.
    pub(crate) async fn failure(
        &self,
        session: &SessionContext,
        columns: &[&str],
        error: &DataFusionError,
    ) -> JobError {
        if let Err(changed) = self.check_unchanged().await {
            return changed;
        }
        if let [file] = self.files.as_slice() {
            return JobError::reading(&file.place.to_string(), error);
        }
        for file in &self.files {
            let alone = Self { files: vec![file.clone()], ..self.clone() };
            let Ok(frame) = alone.frame(session) else { continue };
            if let Err(error) = read_through(frame, columns).await {
                return JobError::reading(&file.place.to_string(), &error);
            }
        }
        JobError::reading("the input", error)
    }
}

/// The engine knows a store by its scheme and host, so that two containers of one account would be taken for one.
fn check_stores(files: &[SourceFile]) -> Result<(), JobError> {
    let host = |file: &SourceFile| {
        let root = &file.place.root;
        (root.scheme().to_owned(), root.host_str().map(str::to_owned), root.port())
    };
    let clash =
        files.windows(2).any(|pair| pair[0].place.root != pair[1].place.root && host(&pair[0]) == host(&pair[1]));
    if clash {
        let text =
            "the input names two containers of one account, which can't be read together; release them one by one";
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    Ok(())
}

async fn read_through(frame: DataFrame, columns: &[&str]) -> Result<(), DataFusionError> {
    let mut rows = guarded_stream(guarded(frame.select_columns(columns)?.execute_stream()).await?);
    while rows.try_next().await?.is_some() {}
    Ok(())
}

fn file_format(format: Format, csv: CsvOptions) -> Arc<dyn FileFormat> {
    match format {
        Format::Parquet => Arc::new(ParquetFormat::default()),
        Format::Arrow => Arc::new(ArrowFormat),
        Format::Csv => Arc::new(
            CsvFormat::default()
                .with_has_header(csv.header)
                .with_delimiter(csv.delimiter)
                .with_newlines_in_values(true)
                .with_schema_infer_max_rec(CSV_INFERENCE_RECORDS),
        ),
    }
}
