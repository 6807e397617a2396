//! Writes a release to its staging place as Parquet: row groups are recoded and encoded in parallel, files one by one.
//!
//! Which row is in which file and row group follows from row counts alone, so the bytes are the same with any number of
//! threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::{WriterProperties, WriterVersion};
use datafusion::parquet::file::writer::SerializedFileWriter;
use object_store::{ObjectStoreExt, WriteMultipart};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use throng_datafusion::Release;

use crate::error::{JobError, Kind};
use crate::manifest::FileEntry;
use crate::place::Place;
use crate::progress::Observer;
use crate::publish::writing;

/// Rows of a row group: enough for good encodings, few enough to be read and skipped one by one.
const ROW_GROUP_ROWS: usize = 128 * 1024;

/// Row groups of a file.
const FILE_ROW_GROUPS: usize = 16;

/// The level of zstd: most of the gain for little of the time.
const ZSTD_LEVEL: i32 = 1;

/// Uploads are cut into parts of this size.
const UPLOAD_PART_BYTES: usize = 16 * 1024 * 1024;

/// Refuses columns whose type Parquet can't hold, before any work is done.
pub(crate) fn check_writable(released: &Schema) -> Result<(), JobError> {
    match released.fields().iter().find(|field| !is_writable(field.data_type())) {
        None => Ok(()),
        Some(field) => {
            let (name, data_type) = (field.name(), field.data_type());
            let text =
                format!("column `{name}` is {data_type}, which Parquet can't hold; make it an `identifier` to drop it");
            Err(JobError::new(Kind::BadPolicy, text))
        }
    }
}

fn is_writable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(_, _) | DataType::Interval(_) => false,
        DataType::Struct(fields) => fields.iter().all(|field| is_writable(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_writable(item.data_type()),
        _ => true,
    }
}

/// What was written, and how much of the time went into recoding.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) files: Vec<FileEntry>,
    pub(crate) recoding: Duration,
}

/// Writes all rows of a release to `part-*.parquet` below a place.
pub(crate) async fn write(
    release: Arc<Release>,
    staging: &Place,
    observer: Arc<dyn Observer>,
) -> Result<Written, JobError> {
    let mut written = Written { files: Vec::new(), recoding: Duration::ZERO };
    let file_rows = ROW_GROUP_ROWS * FILE_ROW_GROUPS;
    for (number, first) in (0..release.rows()).step_by(file_rows).enumerate() {
        let rows = first..release.rows().min(first + file_rows);
        let count = rows.len() as u64;
        let (source, heard) = (Arc::clone(&release), Arc::clone(&observer));
        let encode = move || encode_file(&source, rows, heard.as_ref());
        let file = tokio::task::spawn_blocking(encode).await.map_err(|_| JobError::internal("encoding stopped"))??;
        let path = format!("part-{number:05}.parquet");
        let entry =
            FileEntry { sha256: digest(&file.bytes), bytes: file.bytes.len() as u64, rows: count, path: path.clone() };
        put(&staging.child(&path), file.bytes).await?;
        written.files.push(entry);
        written.recoding += file.recoding;
    }
    tracing::info!(files = written.files.len(), rows = release.rows(), "release staged");
    Ok(written)
}

/// Uploads bytes, large ones in parts.
async fn put(place: &Place, bytes: Bytes) -> Result<(), JobError> {
    let failed = |error| writing(format!("writing {place}"), &error);
    if bytes.len() <= UPLOAD_PART_BYTES {
        return place.store.put(&place.path, bytes.into()).await.map(|_| ()).map_err(failed);
    }
    let upload = place.store.put_multipart(&place.path).await.map_err(failed)?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, UPLOAD_PART_BYTES);
    upload.put(bytes);
    upload.finish().await.map(|_| ()).map_err(failed)
}

/// The digest of a file in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Encoded {
    bytes: Bytes,
    recoding: Duration,
}

fn encode_file(release: &Release, rows: std::ops::Range<usize>, observer: &dyn Observer) -> Result<Encoded, JobError> {
    let (mut writer, factory) = ArrowWriter::try_new(Vec::new(), release.schema(), Some(properties()))
        .and_then(ArrowWriter::into_serialized_writer)
        .map_err(|error| unwritable(&error))?;
    let groups: Vec<_> = rows
        .clone()
        .step_by(ROW_GROUP_ROWS)
        .map(|first| first..rows.end.min(first + ROW_GROUP_ROWS))
        .enumerate()
        .collect();
    let mut recoding = Duration::ZERO;
    // A few row groups at a time are in memory, as many as there are threads.
    for some in groups.chunks(rayon::current_num_threads()) {
        let recoded = Instant::now();
        let batches = some.par_iter().map(|(_, rows)| release.batch(rows.clone())).collect::<Result<Vec<_>, _>>()?;
        recoding += recoded.elapsed();
        let encoded = some
            .par_iter()
            .zip(&batches)
            .map(|((number, _), batch)| encode_group(batch, *number, &release.schema(), &factory))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unwritable(&error))?;
        for (chunks, batch) in encoded.into_iter().zip(&batches) {
            append(&mut writer, chunks).map_err(|error| unwritable(&error))?;
            observer.advance(batch.num_rows() as u64);
        }
    }
    let bytes = writer.into_inner().map_err(|error| unwritable(&error))?;
    Ok(Encoded { bytes: bytes.into(), recoding })
}

/// The columns of a row group, encoded in parallel.
fn encode_group(
    batch: &RecordBatch,
    number: usize,
    schema: &SchemaRef,
    factory: &ArrowRowGroupWriterFactory,
) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
    let leaves = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| compute_leaves(field, column))
        .collect::<Result<Vec<_>, _>>()?;
    let writers = factory.create_column_writers(number)?;
    let pairs: Vec<_> = writers.into_iter().zip(leaves.into_iter().flatten()).collect();
    pairs
        .into_par_iter()
        .map(|(mut writer, leaf)| {
            writer.write(&leaf)?;
            writer.close()
        })
        .collect()
}

fn append(writer: &mut SerializedFileWriter<Vec<u8>>, chunks: Vec<ArrowColumnChunk>) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for chunk in chunks {
        chunk.append_to_row_group(&mut group)?;
    }
    group.close().map(|_| ())
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("throng {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build()
}

/// The types of the input may go beyond what Parquet can hold.
fn unwritable(error: &ParquetError) -> JobError {
    let reason = match error {
        ParquetError::NYI(_) | ParquetError::ArrowError(_) => "a column has a type that Parquet can't hold",
        _ => "the writer failed",
    };
    JobError::new(Kind::BadData, format!("the release can't be written as Parquet: {reason}; drop or cast that column"))
}
