//! Validates the footer of a Parquet file against the file before it is used.
//!
//! A decoder trusts the lengths, offsets and counts of a footer, and fails in various ways if they are wrong: it
//! panics, requests bytes beyond the end of the file, or returns fewer rows. So a footer is read and checked once,
//! here. A valid footer is put into the cache of the session, and is not read again.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::physical_plan::parquet::metadata::CachedParquetMetaData;
use datafusion::error::DataFusionError;
use datafusion::execution::cache::cache_manager::CachedFileMetadataEntry;
use datafusion::parquet::DecodeResult;
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder,
    ParquetMetaDataReader, RowGroupMetaData,
};
use datafusion::parquet::schema::types::Type;
use datafusion::prelude::SessionContext;
use object_store::ObjectStoreExt;
use throng_datafusion::catch_decode_panic;

use super::read_demand::ReadDemand;
use super::{InputFile, names, thrift};
use crate::error::{JobError, Kind};

/// Size of the footer length and the magic bytes.
const TAIL: u64 = 8;
/// Field of a footer that describes the encryption of columns.
const ENCRYPTION: i16 = 8;
/// Default size of the first read from the end of a file. Most footers fit.
const FIRST_READ: usize = 512 << 10;

/// Reads the footer of a file, and rejects one that does not match the file. Returns the declared number of rows, and the demand of
/// reading the file.
pub(super) async fn check_footer(session: &SessionContext, file: &InputFile) -> Result<(u64, ReadDemand), JobError> {
    let hint = session.copied_config().options().execution.parquet.metadata_size_hint.unwrap_or(FIRST_READ);
    let size = file.meta.size;
    let start = size.saturating_sub((hint as u64).max(TAIL));
    let mut end = read(file, start..size).await?;
    let length = footer_length(&end, size).map_err(|reason| unreadable(file, reason))?;
    let footer_start = size - TAIL - length;
    if footer_start < start {
        end = read(file, footer_start..size).await?;
    }
    let start = start.min(footer_start);
    let footer = end.slice((footer_start - start) as usize..(size - TAIL - start) as usize);
    let fields = thrift::fields(&footer).ok_or_else(|| unreadable(file, "its footer is damaged"))?;
    if fields.contains(&ENCRYPTION) {
        return Err(unreadable(file, "some of its columns are encrypted, which is not supported"));
    }
    let decoded = catch_decode_panic(async { Ok(ParquetMetaDataReader::decode_metadata(&footer)?) }).await;
    let metadata = decoded.map_err(|_| {
        unreadable(file, "its footer can't be decoded; it is damaged, or uses an unsupported extension of the format")
    })?;
    let rows = check(&metadata, size).map_err(|reason| unreadable(file, reason))?;
    let metadata = corrected(metadata, rows).map_err(|_| unreadable(file, "its footer is damaged"))?;
    let columns = metadata.file_metadata().schema().get_fields();
    if let Some(column) = columns.iter().find(|column| has_empty_group(column)) {
        let text = format!("{} has a column `{}` with a group without fields", file.place, column.name());
        return Err(JobError::new(
            Kind::BadData,
            format!("{text}, which is not supported; write it without that column"),
        ));
    }
    names::check(file, columns.iter().map(|field| field.name()))?;
    let demand = ReadDemand::of_parquet(&metadata);
    let metadata = with_page_index(file, metadata, (start, end)).await?;
    let entry = CachedFileMetadataEntry::new(file.meta.clone(), Arc::new(CachedParquetMetaData::new(metadata)));
    session.runtime_env().cache_manager.get_file_metadata_cache().put(&file.meta.location, entry);
    Ok((rows, demand))
}

/// Whether a column is a group without fields, or contains one. The engine treats it as a column, and its reader does not.
fn has_empty_group(column: &Type) -> bool {
    column.is_group()
        && (column.get_fields().is_empty() || column.get_fields().iter().any(|field| has_empty_group(field)))
}

pub(super) async fn read(file: &InputFile, range: std::ops::Range<u64>) -> Result<Bytes, JobError> {
    let failed = |error| JobError::storage(format!("reading {}", file.place), &error);
    let length = range.end - range.start;
    let bytes = file.place.store.get_range(&file.place.path, range).await.map_err(failed)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(JobError::new(
            Kind::TemporaryIo,
            format!("reading {}: fewer bytes came than were asked for; try again", file.place),
        )),
    }
}

pub(super) fn unreadable(file: &InputFile, reason: &str) -> JobError {
    JobError::new(Kind::BadData, format!("{} is not readable as Parquet: {reason}; write the file again", file.place))
}

/// Returns the length of the footer, as declared at the end of a file.
fn footer_length(end: &[u8], size: u64) -> Result<u64, &'static str> {
    let tail = end.last_chunk::<{ TAIL as usize }>().ok_or("it ends too early (truncated)")?;
    let [l0, l1, l2, l3, magic @ ..] = *tail;
    match &magic {
        b"PAR1" => {}
        b"PARE" => return Err("its footer is encrypted, which is not supported"),
        _ => return Err("its footer is damaged or missing"),
    }
    let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    match length + TAIL <= size {
        true => Ok(length),
        false => Err("its footer claims to be longer than the file"),
    }
}

/// Checks a footer for consistency with itself and with the size of its file. Returns the number of rows.
fn check(metadata: &ParquetMetaData, size: u64) -> Result<u64, &'static str> {
    let mut rows = 0_i64;
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err("its footer declares a negative number of rows");
        }
        rows = rows.checked_add(group.num_rows()).ok_or("its footer declares more rows than can be counted")?;
        for chunk in group.columns() {
            check_chunk(chunk, group.num_rows(), size)?;
        }
    }
    match metadata.file_metadata().num_rows() {
        declared if declared == rows => Ok(rows.unsigned_abs()),
        // Early versions of the Rust library did not write the sum.
        0 => Ok(rows.unsigned_abs()),
        _ => Err("its footer declares another number of rows than its row groups have"),
    }
}

/// Corrects declarations of some writers that the engine would take literally: zero rows instead of the sum of rows, and a
/// dictionary at offset 0 instead of none.
fn corrected(metadata: ParquetMetaData, rows: u64) -> Result<ParquetMetaData, ParquetError> {
    let has_false_place = |chunk: &ColumnChunkMetaData| chunk.dictionary_page_offset() == Some(0);
    let mut chunks = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let declared = metadata.file_metadata();
    if declared.num_rows().unsigned_abs() == rows && !chunks.any(has_false_place) {
        return Ok(metadata);
    }
    let chunk = |chunk: &ColumnChunkMetaData| match has_false_place(chunk) {
        true => chunk.clone().into_builder().set_dictionary_page_offset(None).build(),
        false => Ok(chunk.clone()),
    };
    let group = |group: &RowGroupMetaData| {
        let chunks = group.columns().iter().map(chunk).collect::<Result<_, _>>()?;
        group.clone().into_builder().set_column_metadata(chunks).build()
    };
    let groups = metadata.row_groups().iter().map(group).collect::<Result<_, _>>()?;
    let file = FileMetaData::new(
        declared.version(),
        i64::try_from(rows)?,
        declared.created_by().map(str::to_owned),
        declared.key_value_metadata().cloned(),
        declared.schema_descr_ptr(),
        declared.column_orders().cloned(),
    );
    Ok(ParquetMetaData::new(file, groups))
}

fn check_chunk(chunk: &ColumnChunkMetaData, rows: i64, size: u64) -> Result<(), &'static str> {
    const BEYOND: &str = "its footer points beyond the end of the file";
    let within = |start: Option<i64>, length: i64| {
        let end = start.and_then(|start| u64::try_from(start).ok()?.checked_add(u64::try_from(length).ok()?));
        end.is_some_and(|end| end <= size)
    };
    // Some writers declare a dictionary at the start of the file, where the magic bytes are, instead of none.
    let dictionary = chunk.dictionary_page_offset().filter(|offset| *offset != 0);
    let first = dictionary.unwrap_or(chunk.data_page_offset());
    if !within(Some(first), chunk.compressed_size()) || !within(Some(chunk.data_page_offset()), 0) {
        return Err(BEYOND);
    }
    for (start, length) in [
        (chunk.column_index_offset(), chunk.column_index_length()),
        (chunk.offset_index_offset(), chunk.offset_index_length()),
    ] {
        if (start.is_some() || length.is_some()) && !within(start, i64::from(length.unwrap_or(-1))) {
            return Err(BEYOND);
        }
    }
    // Only in lists may a row have more than one value.
    match chunk.column_descr().max_rep_level() == 0 && chunk.num_values() != rows || chunk.num_values() < 0 {
        true => Err("its footer declares another number of rows than its columns have"),
        false => Ok(()),
    }
}

/// Returns the footer with its page index, if it has one.
async fn with_page_index(
    file: &InputFile,
    metadata: ParquetMetaData,
    (start, end): (u64, Bytes),
) -> Result<Arc<ParquetMetaData>, JobError> {
    let failed = |error: DataFusionError| JobError::reading(&file.place.to_string(), &error);
    let parquet = |error: ParquetError| failed(error.into());
    let size = file.meta.size;
    let decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(size, metadata).map_err(parquet)?;
    let mut decoder = decoder.with_page_index_policy(PageIndexPolicy::Optional);
    decoder.push_range(start..size, end).map_err(parquet)?;
    loop {
        match catch_decode_panic(async { Ok(decoder.try_decode()?) }).await.map_err(failed)? {
            DecodeResult::Data(metadata) => return Ok(Arc::new(metadata)),
            DecodeResult::NeedsData(ranges) => {
                for range in ranges {
                    let bytes = read(file, range.clone()).await?;
                    decoder.push_range(range, bytes).map_err(parquet)?;
                }
            }
            DecodeResult::Finished => return Err(JobError::internal("a footer was read twice")),
        }
    }
}
