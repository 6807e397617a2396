//! Files on object stores as an input: found at the locations of a policy, with one schema.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, PartitionedFile};
use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::limit::LimitStore;
use throng_datafusion::{catch_decode_panic, catch_decode_panics};
use throng_policy::{CsvOptions, Format, Store};

use super::find::FoundFiles;
use super::partitioned_table::PartitionedTable;
use super::partitions::{PartitionColumns, shown, without_folder_values};
use super::read_demand::{ReadDemand, ReadPlan};
use super::schema::FileSchemas;
use super::{InputDescription, JobInput, find, fingerprint, foreign_text, leading_zeros, pinned, schema};
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// Number of records of a CSV file that determine the types of its columns.
const CSV_INFERENCE_RECORDS: usize = 100_000;

/// Number of local files that are opened at a time.
const CONCURRENT_FILES: usize = 32;

/// Files that form one table.
#[derive(Clone, Debug)]
pub(crate) struct FileInput {
    files: Vec<InputFile>,
    /// Columns of the table: those of the files, and partition columns.
    schema: SchemaRef,
    /// Columns of the files that are read.
    file_schema: SchemaRef,
    partitions: Option<PartitionColumns>,
    /// Number of rows that the files declare, if their format does.
    expected_rows: Option<u64>,
    demand: ReadDemand,
    fingerprint: Option<String>,
    format: Format,
    csv: CsvOptions,
}

/// One file of a table.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    pub(crate) place: StorePath,
    pub(crate) meta: object_store::ObjectMeta,
}

impl FileInput {
    /// Finds the files of these locations and checks that their schemas agree.
    pub(super) async fn open(
        session: &SessionContext,
        locations: &[String],
        settings: &Store,
    ) -> Result<Self, JobError> {
        let FoundFiles { files, format, partitions } = find::find(locations, None, settings).await?;
        Self::of_files(session, files, format, CsvOptions::default()).await?.with_partitions(partitions)
    }

    /// Opens the input of a policy, whose files must not change: stores refuse reads of a file that has changed since
    /// it was found. [`JobInput::check_unchanged`] detects changes of the others.
    pub(super) async fn pinned(
        session: &SessionContext,
        input: &throng_policy::Input,
        settings: &Store,
    ) -> Result<Self, JobError> {
        let FoundFiles { files, format, partitions } = find::find(&input.locations, input.format, settings).await?;
        Self::pinned_files(session, files, format, input.csv).await?.with_partitions(partitions)
    }

    /// Opens files, which must not change, in the version in which they were found.
    pub(super) async fn pinned_files(
        session: &SessionContext,
        files: Vec<InputFile>,
        format: Format,
        csv: CsvOptions,
    ) -> Result<Self, JobError> {
        let fingerprint = fingerprint::fingerprint(&files, format, csv, SystemTime::now());
        let files = pinned::pin(files);
        match Self::of_files(session, files.clone(), format, csv).await {
            Ok(input) => Ok(Self { fingerprint, ..input }),
            // A file that is being replaced may look damaged.
            Err(error) => Err(pinned::check_unchanged(&files).await.err().unwrap_or(error)),
        }
    }

    /// Opens the Parquet files of a release.
    pub(crate) async fn of_release(session: &SessionContext, files: Vec<InputFile>) -> Result<Self, JobError> {
        Self::of_files(session, files, Format::Parquet, CsvOptions::default()).await
    }

    /// Reads and checks the schemas of Parquet files, for a table whose schema is declared elsewhere.
    pub(super) async fn read_schemas(session: &SessionContext, files: &[InputFile]) -> Result<FileSchemas, JobError> {
        register_stores(session, files)?;
        let (format, csv) = (Format::Parquet, CsvOptions::default());
        let read = schema::read_schemas(session, files, &file_format(format, csv), format, csv).await;
        read.map_err(|error| without_folder_values(error, files))
    }

    /// Creates a table with a declared schema from files whose schemas were read.
    pub(super) fn of_table(
        opened: FileSchemas,
        schema: SchemaRef,
        partitions: Option<PartitionColumns>,
    ) -> Result<Self, JobError> {
        let FileSchemas { schemas, rows, demand } = opened;
        let files = schemas.into_iter().map(|(file, _)| file).collect();
        Self::new(files, schema, rows, demand, Format::Parquet, CsvOptions::default()).with_partitions(partitions)
    }

    async fn of_files(
        session: &SessionContext,
        files: Vec<InputFile>,
        format: Format,
        csv: CsvOptions,
    ) -> Result<Self, JobError> {
        register_stores(session, &files)?;
        let read = schema::common_schema(session, &files, &file_format(format, csv), format, csv).await;
        let (schema, rows, demand) = read.map_err(|error| without_folder_values(error, &files))?;
        let input = Self::new(files, schema, rows, demand, format, csv);
        match format {
            Format::Csv => Ok(input.with_schema(leading_zeros::keep_codes(session, &input).await?)),
            Format::Parquet | Format::Arrow => Ok(input),
        }
    }

    fn new(
        files: Vec<InputFile>,
        schema: SchemaRef,
        expected_rows: Option<u64>,
        demand: ReadDemand,
        format: Format,
        csv: CsvOptions,
    ) -> Self {
        let (file_schema, partitions) = (Arc::clone(&schema), None);
        Self { files, schema, file_schema, partitions, expected_rows, demand, fingerprint: None, format, csv }
    }

    /// Returns the same files with other column types.
    pub(super) fn with_schema(&self, schema: SchemaRef) -> Self {
        Self { schema: Arc::clone(&schema), file_schema: schema, ..self.clone() }
    }

    /// Returns the same files with partition columns.
    fn with_partitions(self, partitions: Option<PartitionColumns>) -> Result<Self, JobError> {
        let schema = match &partitions {
            Some(partitions) => partitions.table_schema(&self.file_schema)?,
            None => Arc::clone(&self.schema),
        };
        Ok(Self { schema, partitions, ..self })
    }

    /// Returns the rows of files on one store.
    fn rows_of(&self, session: &SessionContext, files: &[InputFile]) -> Result<DataFrame, JobError> {
        let failed = |error| JobError::reading("the input", &error);
        let urls = files.iter().map(|file| file.place.table_url()).collect::<Result<Vec<_>, _>>()?;
        let format = file_format(self.format, self.csv);
        let Some(partitions) = &self.partitions else {
            let options = ListingOptions::new(format).with_file_extension("");
            let config = ListingTableConfig::new_with_multi_paths(urls)
                .with_listing_options(options)
                .with_schema(Arc::clone(&self.file_schema));
            let table = ListingTable::try_new(config).map_err(failed)?;
            return session.read_table(Arc::new(table)).map_err(failed);
        };
        let store = urls.first().ok_or_else(|| JobError::internal("a table without files"))?.object_store();
        let file = |file: &InputFile| {
            let values = partitions.values_of(file)?;
            Ok(PartitionedFile::new_from_meta(file.meta.clone()).with_partition_values(values))
        };
        let files = files.iter().map(file).collect::<Result<Vec<_>, JobError>>()?;
        let table = PartitionedTable::new(format, store, files, Arc::clone(&self.file_schema), partitions.fields());
        session.read_table(Arc::new(table)).map_err(failed)
    }
}

/// Registers the stores of files with a session.
fn register_stores(session: &SessionContext, files: &[InputFile]) -> Result<(), JobError> {
    check_stores(files)?;
    for files in files.chunk_by(|a, b| a.place.root == b.place.root) {
        let Some(StorePath { root, store, .. }) = files.first().map(|file| &file.place) else { continue };
        let store: Arc<dyn ObjectStore> = match root.scheme() {
            // The engine opens all files at once, and the number of open files per process is limited.
            "file" => Arc::new(LimitStore::new(Arc::clone(store), CONCURRENT_FILES)),
            _ => Arc::clone(store),
        };
        session.register_object_store(root, store);
    }
    Ok(())
}

#[async_trait]
impl JobInput for FileInput {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self, session: &SessionContext) -> Result<DataFrame, JobError> {
        let failed = |error| JobError::reading("the input", &error);
        // A table reads from one store only.
        let mut frame: Option<DataFrame> = None;
        for files in self.files.chunk_by(|a, b| a.place.root == b.place.root) {
            let part = self.rows_of(session, files)?;
            frame = Some(match frame {
                Some(frame) => frame.union(part).map_err(failed)?,
                None => part,
            });
        }
        match frame {
            Some(frame) => Ok(frame),
            None => {
                let table = MemTable::try_new(Arc::clone(&self.schema), vec![Vec::new()]).map_err(failed)?;
                session.read_table(Arc::new(table)).map_err(failed)
            }
        }
    }

    fn read_plan(&self, columns: Option<&[&str]>) -> ReadPlan {
        self.demand.plan(columns)
    }

    fn expected_rows(&self) -> Option<u64> {
        self.expected_rows
    }

    fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    async fn check_unchanged(&self) -> Result<(), JobError> {
        let checked = pinned::check_unchanged(&self.files).await;
        checked.map_err(|error| without_folder_values(error, &self.files))
    }

    /// The engine does not report which file failed, so the files are read again one by one.
    async fn locate(&self, session: &SessionContext, columns: &[&str], error: &DataFusionError) -> JobError {
        if let Err(changed) = self.check_unchanged().await {
            return changed;
        }
        if let [file] = self.files.as_slice() {
            return without_folder_values(JobError::reading(&file.place.to_string(), error), &self.files);
        }
        for file in &self.files {
            let alone = Self { files: vec![file.clone()], ..self.clone() };
            let Ok(frame) = alone.rows(session) else { continue };
            if let Err(error) = read_through(frame, columns).await {
                return without_folder_values(JobError::reading(&file.place.to_string(), &error), &self.files);
            }
        }
        without_folder_values(JobError::reading("the input", error), &self.files)
    }

    async fn file_texts(&self) -> Result<Vec<String>, JobError> {
        let mut texts = Vec::new();
        if self.format == Format::Parquet {
            for file in &self.files {
                let found = foreign_text::of_parquet(file).await;
                texts.extend(found.map_err(|error| without_folder_values(error, &self.files))?);
            }
        }
        Ok(texts)
    }

    fn with_text(&self, columns: &[String]) -> Option<Arc<dyn JobInput>> {
        let is_csv = self.format == Format::Csv;
        is_csv.then(|| Arc::new(self.with_schema(leading_zeros::as_text(&self.schema, columns))) as Arc<dyn JobInput>)
    }

    async fn unknown_metadata(&self) -> Result<Option<(String, usize)>, JobError> {
        if self.format != Format::Parquet {
            return Ok(None);
        }
        for file in &self.files {
            let entries = foreign_text::unknown_entries(file).await?;
            if entries > 0 {
                return Ok(Some((file.place.to_string(), entries)));
            }
        }
        Ok(None)
    }

    /// The table of partition columns can't be sent to other machines.
    fn is_distributable(&self) -> bool {
        self.partitions.is_none()
    }

    fn describe(&self) -> InputDescription {
        InputDescription {
            locations: self.files.iter().map(|file| shown(&file.place)).collect(),
            files: self.files.len() as u64,
            bytes: self.files.iter().map(|file| file.meta.size).sum(),
            version: None,
        }
    }
}

/// The engine identifies a store by scheme and host, so it would confuse two containers of one account.
fn check_stores(files: &[InputFile]) -> Result<(), JobError> {
    let host = |file: &InputFile| {
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
    let mut rows = catch_decode_panics(catch_decode_panic(frame.select_columns(columns)?.execute_stream()).await?);
    while rows.try_next().await?.is_some() {}
    Ok(())
}

pub(super) fn file_format(format: Format, csv: CsvOptions) -> Arc<dyn FileFormat> {
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
