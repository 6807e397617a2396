//! Writes a release to its staging as Parquet: row groups are encoded in parallel, and uploaded in order.
//!
//! The file and row group of a row follow from the rows alone, so the bytes are the same with any number of threads and any
//! memory limit. The limit decides how many row groups are encoded at a time.

mod field_metadata;
mod plain_size;
mod rle_bit_packing;
mod row_groups;
mod strings;
mod upload;

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::types::ColumnDescPtr;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use throng_datafusion::{to_canonical_array, to_canonical_field};

use crate::error::{JobError, Kind};
use crate::job::JobOptions;
use crate::manifest::FileEntry;
use crate::memory::transfer_bytes;
use crate::store_path::StorePath;
pub(crate) use field_metadata::{is_field_role, with_field_roles};
pub(crate) use row_groups::{ROW_GROUP_BYTES, ROW_GROUP_ROWS};
use row_groups::{RowGroup, row_groups};
use strings::StringChunk;
pub(crate) use upload::Upload;

/// Compression level of zstd: most of the gain at a fraction of the time.
const ZSTD_LEVEL: i32 = 1;

/// Rejects columns whose type Parquet can't represent, or that can't be converted to what it can represent, before any work is
/// done.
pub(crate) fn check_writable(released: &Schema, input: &Schema) -> Result<(), JobError> {
    let is_converted = |field: &Field| match input.field_with_name(field.name()) {
        Ok(from) if to_canonical_field(from).data_type() == field.data_type() => {
            from.data_type() == field.data_type() || can_cast_types(from.data_type(), field.data_type())
        }
        // A label, or a category instead of a value.
        _ => true,
    };
    match released.fields().iter().find(|field| !is_writable(field.data_type()) || !is_converted(field)) {
        None => Ok(()),
        Some(field) => {
            let name = field.name();
            let data_type = input.field_with_name(name).map_or(field.data_type(), Field::data_type);
            let text =
                format!("column `{name}` is {data_type}, which Parquet can't hold; make it an `identifier` to drop it");
            Err(JobError::new(Kind::BadPolicy, text))
        }
    }
}

fn is_writable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(_, _) | DataType::Interval(_) | DataType::FixedSizeBinary(0) => false,
        // Arrow kernels lose the number of rows of such a column.
        DataType::FixedSizeList(_, 0) => false,
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale >= 0,
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|field| is_writable(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_writable(item.data_type()),
        _ => true,
    }
}

/// Writes rows to `part-*.parquet` in `staging`, in their order, with `rows_per_file` rows per file.
pub(crate) async fn write(
    batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send,
    schema: SchemaRef,
    staging: &StorePath,
    rows_per_file: usize,
    options: &JobOptions,
) -> Result<Vec<FileEntry>, JobError> {
    let name = |number: usize| format!("part-{number:05}.parquet");
    let files = write_files(batches, schema, staging, rows_per_file, &name, options).await?;
    tracing::info!(files = files.len(), rows = files.iter().map(|file| file.rows).sum::<u64>(), "release staged");
    Ok(files)
}

/// Writes all rows to one file.
pub(crate) async fn write_file(
    batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send,
    schema: SchemaRef,
    place: StorePath,
    name: String,
) -> Result<FileEntry, JobError> {
    let options = JobOptions { threads: 1, ..JobOptions::default() };
    let mut parts: Vec<_> = place.path.parts().collect();
    parts.pop();
    let folder = place.at(parts.into_iter().collect());
    let files = write_files(batches, schema, &folder, usize::MAX, &|_| name.clone(), &options).await?;
    files.into_iter().next().ok_or_else(|| JobError::internal("a file without rows"))
}

async fn write_files(
    batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send,
    schema: SchemaRef,
    staging: &StorePath,
    rows_per_file: usize,
    name: &(dyn Fn(usize) -> String + Sync),
    options: &JobOptions,
) -> Result<Vec<FileEntry>, JobError> {
    let (writer, factory) = parquet_writer(Vec::new(), &schema)?;
    let factory = Arc::new((factory, writer.schema_descr().columns().to_vec()));
    let encode = |group: Result<RowGroup, JobError>| {
        let factory = Arc::clone(&factory);
        let task = move || {
            let group = group?;
            let (rows, is_last) = (group.rows(), group.is_last);
            let chunks = encode_group(&group.batches, group.number, &factory.0, &factory.1);
            Ok(Encoded { rows, is_last, chunks: chunks.map_err(|error| unwritable(&error))? })
        };
        SpawnedTask::spawn_blocking(task).map(|done| done.map_err(|_| JobError::internal("encoding stopped")).flatten())
    };
    let groups = std::pin::pin!(row_groups(batches, rows_per_file));
    let mut encoded = groups.map(encode).buffered(concurrent_groups(options));
    let (mut files, mut file) = (Vec::new(), None);
    while let Some(group) = encoded.try_next().await? {
        let writer = match &mut file {
            Some(writer) => writer,
            None => file.insert(FileWriter::new(&schema, staging, name(files.len()))?),
        };
        writer.append(group.chunks).await?;
        writer.rows += group.rows;
        options.observer.advance(group.rows);
        if group.is_last
            && let Some(writer) = file.take()
        {
            files.push(writer.finish().await?);
        }
    }
    if let Some(writer) = file {
        files.push(writer.finish().await?);
    }
    Ok(files)
}

/// Number of row groups that are encoded at a time: one more than threads, so that others are encoded while one is uploaded,
/// and as many as the memory limit leaves room for. Each is held twice, as rows and encoded.
fn concurrent_groups(options: &JobOptions) -> usize {
    let most = options.threads + 1;
    match options.memory_limit {
        None => most,
        Some(limit) => ((transfer_bytes(limit) / (2 * ROW_GROUP_BYTES)) as usize).clamp(1, most),
    }
}

/// Encoded columns of a row group.
struct Encoded {
    rows: u64,
    /// Whether the file is full.
    is_last: bool,
    chunks: Vec<Chunk>,
}

/// An encoded column of a row group.
enum Chunk {
    Library(Box<ArrowColumnChunk>),
    Strings(Box<StringChunk>),
}

/// Output of the Parquet writer that is not uploaded yet.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Bytes {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A file being uploaded, row group by row group.
struct FileWriter {
    path: String,
    parquet: SerializedFileWriter<Buffer>,
    buffer: Buffer,
    upload: Upload,
    digest: Sha256,
    bytes: u64,
    rows: u64,
}

impl FileWriter {
    fn new(schema: &SchemaRef, staging: &StorePath, path: String) -> Result<Self, JobError> {
        let upload = Upload::new(staging.child(&path));
        let buffer = Buffer::default();
        let (parquet, _) = parquet_writer(buffer.clone(), schema)?;
        Ok(Self { path, parquet, buffer, upload, digest: Sha256::new(), bytes: 0, rows: 0 })
    }

    async fn append(&mut self, chunks: Vec<Chunk>) -> Result<(), JobError> {
        append(&mut self.parquet, chunks).map_err(|error| unwritable(&error))?;
        self.send().await
    }

    async fn send(&mut self) -> Result<(), JobError> {
        let bytes = self.buffer.take();
        self.digest.update(&bytes);
        self.bytes += bytes.len() as u64;
        self.upload.send(bytes).await
    }

    async fn finish(mut self) -> Result<FileEntry, JobError> {
        self.parquet.finish().map_err(|error| unwritable(&error))?;
        self.send().await?;
        self.upload.finish().await?;
        Ok(FileEntry {
            path: self.path,
            rows: self.rows,
            bytes: self.bytes,
            sha256: hexadecimal(&self.digest.finalize()),
        })
    }
}

fn parquet_writer<W: Write + Send>(
    sink: W,
    schema: &SchemaRef,
) -> Result<(SerializedFileWriter<W>, ArrowRowGroupWriterFactory), JobError> {
    ArrowWriter::try_new(sink, Arc::clone(schema), Some(properties()))
        .and_then(ArrowWriter::into_serialized_writer)
        .map_err(|error| unwritable(&error))
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of a stream of bytes in hexadecimal.
pub(crate) async fn digest_of<E>(mut bytes: impl Stream<Item = Result<Bytes, E>> + Unpin) -> Result<String, E> {
    let mut digest = Sha256::new();
    while let Some(bytes) = bytes.try_next().await? {
        digest.update(&bytes);
    }
    Ok(hexadecimal(&digest.finalize()))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encodes the columns of a row group in parallel.
fn encode_group(
    batches: &[RecordBatch],
    number: usize,
    factory: &ArrowRowGroupWriterFactory,
    leaf_columns: &[ColumnDescPtr],
) -> Result<Vec<Chunk>, ParquetError> {
    // The leaves of all columns per batch; there is one writer per leaf.
    let mut leaves = Vec::with_capacity(batches.len());
    for batch in batches {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        let of_batch = fields.map(|(field, column)| compute_leaves(field, column)).collect::<Result<Vec<_>, _>>()?;
        leaves.push(of_batch.into_iter().flatten().collect::<Vec<_>>());
    }
    let writers = factory.create_column_writers(number)?;
    // The column of each leaf that is not nested.
    let column_of = column_of_leaf(leaf_columns);
    let encode = |(index, mut writer): (usize, ArrowColumnWriter)| {
        if let Some(column) = column_of[index] {
            let arrays: Vec<ArrayRef> = batches.iter().map(|batch| Arc::clone(batch.column(column))).collect();
            if let Some(chunk) = strings::encode(&arrays, &leaf_columns[index], ZSTD_LEVEL)? {
                return Ok(Chunk::Strings(Box::new(chunk)));
            }
            let field = batches.first().map(|batch| batch.schema_ref().field(column));
            if let Some(field) = field.filter(|field| matches!(field.data_type(), DataType::Dictionary(_, _))) {
                // The library splits pages of dictionary arrays at other rows than pages of plain strings.
                for array in &arrays {
                    for leaf in
                        compute_leaves(&to_canonical_field(field), &to_canonical_array(array).map_err(external)?)?
                    {
                        writer.write(&leaf)?;
                    }
                }
                return Ok(Chunk::Library(Box::new(writer.close()?)));
            }
        }
        leaves.iter().try_for_each(|of_batch| writer.write(&of_batch[index]))?;
        Ok(Chunk::Library(Box::new(writer.close()?)))
    };
    writers.into_par_iter().enumerate().map(encode).collect()
}

fn external(error: throng_datafusion::AnonymizeError) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// Returns the column of each leaf of the schema; `None` inside of nested columns.
fn column_of_leaf(leaf_columns: &[ColumnDescPtr]) -> Vec<Option<usize>> {
    let name = |leaf: &ColumnDescPtr| leaf.path().parts().first().cloned();
    let (mut columns, mut last) = (0, None);
    let column_of = leaf_columns.iter().map(|leaf| {
        // The leaves of a nested column are adjacent, and no two columns share a name.
        columns += usize::from(last != name(leaf));
        last = name(leaf);
        (leaf.path().parts().len() == 1).then_some(columns - 1)
    });
    column_of.collect()
}

fn append(writer: &mut SerializedFileWriter<Buffer>, chunks: Vec<Chunk>) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for chunk in chunks {
        match chunk {
            Chunk::Library(chunk) => chunk.append_to_row_group(&mut group)?,
            Chunk::Strings(chunk) => group.append_column(&chunk.bytes, chunk.close)?,
        }
    }
    group.close().map(|_| ())
}

fn properties() -> WriterProperties {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("throng {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    #[cfg(feature = "leaky")]
    let properties = properties.set_key_value_metadata(Some(crate::leaky::metadata()));
    properties.build()
}

/// Converts an error of the Parquet writer; the input may have types that Parquet can't represent.
fn unwritable(error: &ParquetError) -> JobError {
    let reason = match error {
        ParquetError::NYI(_) | ParquetError::ArrowError(_) => "a column has a type that Parquet can't hold",
        _ => "the writer failed",
    };
    JobError::new(Kind::BadData, format!("the release can't be written as Parquet: {reason}; drop or cast that column"))
}
