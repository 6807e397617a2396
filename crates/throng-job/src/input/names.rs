//! Checks the column names of a file.
//!
//! An engine that infers a schema merges two columns of the same name, and reads one of them. So names are checked
//! first.

use std::collections::HashSet;
use std::io::Cursor;

use arrow::csv::reader::Format as CsvReader;
use arrow::datatypes::Schema;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::{Endianness, Schema as ArrowSchema, root_as_footer, root_as_message};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use throng_datafusion::catch_decode_panic;
use throng_policy::CsvOptions;

use super::{InputFile, arrow_lengths};
use crate::error::{JobError, Kind};

/// Size of the first read of a file: enough for the header of any table.
const BEGINNING: u64 = 4 << 20;
/// Size of the end of an Arrow file: the length of its footer, and the magic bytes.
const ARROW_TAIL: u64 = 10;
/// Magic bytes at both ends of an Arrow file. A stream has none.
const ARROW_MAGIC: &[u8] = b"ARROW1";

/// Rejects repeated column names, because a policy identifies columns by name.
pub(crate) fn check_names(schema: &Schema) -> Result<(), JobError> {
    let mut seen = HashSet::new();
    match schema.fields().iter().find(|field| !seen.insert(field.name())) {
        Some(field) => {
            let text = format!("the table has more than one column `{}`; rename all but one", field.name());
            Err(JobError::new(Kind::BadData, text))
        }
        None => Ok(()),
    }
}

/// Rejects repeated names, and a table without columns.
pub(super) fn check<'a>(file: &InputFile, names: impl IntoIterator<Item = &'a str>) -> Result<(), JobError> {
    let mut seen = HashSet::new();
    let repeated = names.into_iter().find(|name| !seen.insert(*name));
    let wrong = match repeated {
        Some(name) => format!("has more than one column `{name}`; give each column a name of its own"),
        None if seen.is_empty() => "has no columns; write it again, or remove it".to_owned(),
        None => return Ok(()),
    };
    Err(JobError::new(Kind::BadData, format!("{} {wrong}", file.place)))
}

/// Checks the header of a CSV file. Returns the mean length of its first lines.
pub(super) async fn check_csv(file: &InputFile, options: CsvOptions) -> Result<u64, JobError> {
    let beginning = read(file, 0, file.meta.size.min(BEGINNING)).await?;
    let lines = beginning.iter().filter(|byte| **byte == b'\n').count() as u64;
    let line_bytes = beginning.len() as u64 / lines.max(1);
    if !options.header {
        return Ok(line_bytes);
    }
    let format = CsvReader::default().with_header(true).with_delimiter(options.delimiter);
    match format.infer_schema(Cursor::new(beginning), Some(0)) {
        Ok((schema, _)) => check_schema(file, &schema).map(|()| line_bytes),
        // The file reader reports the error in more detail.
        Err(_) => Ok(line_bytes),
    }
}

/// Checks the schema of an Arrow file or stream, and the lengths that it declares. Returns the schema, and the size of the largest
/// batch. The engine treats anything that begins like a file as one, so this check does the same.
pub(super) async fn check_arrow(file: &InputFile) -> Result<(Schema, u64), JobError> {
    let beginning = read(file, 0, file.meta.size.min(BEGINNING)).await?;
    let is_file = beginning.starts_with(ARROW_MAGIC);
    let bytes = if is_file { read_arrow_footer(file).await? } else { beginning };
    let decoded = catch_decode_panic(async {
        Ok(match is_file {
            true => root_as_footer(&bytes).ok().and_then(|footer| footer.schema()).map(declared),
            false => first_message(&bytes)
                .and_then(|message| root_as_message(message).ok()?.header_as_schema().map(declared)),
        })
    });
    let decoded = decoded.await.map_err(|error| JobError::reading(&file.place.to_string(), &error))?;
    let (endianness, schema) = decoded.ok_or_else(|| damaged(file, "its schema is not readable"))?;
    if endianness != Endianness::Little {
        let text = format!("{} is not readable: its numbers are big-endian, which is not supported", file.place);
        let text = format!("{text}; write it on a little-endian machine, or as Parquet");
        return Err(JobError::new(Kind::BadData, text));
    }
    check_schema(file, &schema)?;
    let largest_batch = match (is_file, root_as_footer(&bytes)) {
        (true, Ok(footer)) => arrow_lengths::check_blocks(file, footer).await?,
        _ => arrow_lengths::check_messages(file).await?,
    };
    Ok((schema, largest_batch))
}

/// Returns the byte order and the columns that an Arrow file or stream declares.
fn declared(schema: ArrowSchema<'_>) -> (Endianness, Schema) {
    (schema.endianness(), fb_to_schema(schema))
}

async fn read_arrow_footer(file: &InputFile) -> Result<Bytes, JobError> {
    let size = file.meta.size;
    let tail = read(file, size.saturating_sub(ARROW_TAIL), size).await?;
    let cut_off = || damaged(file, "its end is missing");
    let (length, magic) = tail.split_first_chunk().ok_or_else(cut_off)?;
    if magic != ARROW_MAGIC {
        return Err(cut_off());
    }
    let start = (size - ARROW_TAIL).checked_sub(u64::from(u32::from_le_bytes(*length)));
    let start = start.ok_or_else(|| damaged(file, "its footer claims to be longer than the file"))?;
    read(file, start, size - ARROW_TAIL).await
}

/// Returns the error for a file that can't be read.
pub(super) fn damaged(file: &InputFile, why: &str) -> JobError {
    JobError::new(Kind::BadData, format!("{} is damaged: {why}; write the file again", file.place))
}

/// Returns the metadata of the first message of a stream.
fn first_message(stream: &[u8]) -> Option<&[u8]> {
    let (prefix, length) = arrow_lengths::metadata_length(stream)?;
    stream.get(prefix as usize..)?.get(..length as usize)
}

fn check_schema(file: &InputFile, schema: &Schema) -> Result<(), JobError> {
    check(file, schema.fields().iter().map(|field| field.name().as_str()))
}

pub(super) async fn read(file: &InputFile, start: u64, end: u64) -> Result<Bytes, JobError> {
    // Stores reject an empty range.
    if start >= end {
        return Ok(Bytes::new());
    }
    let failed = |error| JobError::storage(format!("reading {}", file.place), &error);
    file.place.store.get_range(&file.place.path, start..end).await.map_err(failed)
}
