//! Checks the column names of a file.
//!
//! An engine that infers a schema merges two columns of the same name, and reads either. So names are checked before
//! that.

use std::collections::HashSet;
use std::io::Cursor;

use arrow::csv::reader::Format as CsvReader;
use arrow::datatypes::Schema;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::root_as_footer;
use bytes::Bytes;
use object_store::ObjectStoreExt;
use throng_datafusion::catch_decode_panic;
use throng_policy::CsvOptions;

use super::InputFile;
use crate::error::{JobError, Kind};

/// Size of the first read of a file: enough for the header of any table.
const BEGINNING: u64 = 4 << 20;
/// Size of the end of an Arrow file: the length of its footer, and the magic bytes.
const ARROW_TAIL: u64 = 10;

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

/// Checks the header of a CSV file.
pub(super) async fn check_csv(file: &InputFile, options: CsvOptions) -> Result<(), JobError> {
    if !options.header {
        return Ok(());
    }
    let beginning = read(file, 0, file.meta.size.min(BEGINNING)).await?;
    let format = CsvReader::default().with_header(true).with_delimiter(options.delimiter);
    match format.infer_schema(Cursor::new(beginning), Some(0)) {
        Ok((schema, _)) => check_schema(file, &schema),
        // The reader of the file reports the fault in more detail.
        Err(_) => Ok(()),
    }
}

/// Checks the schema of an Arrow file or stream.
pub(super) async fn check_arrow(file: &InputFile) -> Result<(), JobError> {
    let size = file.meta.size;
    let tail = read(file, size.saturating_sub(ARROW_TAIL), size).await?;
    let footer = match tail.as_ref() {
        [l0, l1, l2, l3, magic @ ..] if magic == b"ARROW1" => {
            let length = u64::from(u32::from_le_bytes([*l0, *l1, *l2, *l3]));
            let start = (size - ARROW_TAIL).checked_sub(length);
            let start = start.ok_or_else(|| {
                let text = format!("{} is damaged: its footer claims to be longer than the file", file.place);
                JobError::new(Kind::BadData, format!("{text}; write the file again"))
            })?;
            Some(read(file, start, size - ARROW_TAIL).await?)
        }
        _ => None,
    };
    let beginning = if footer.is_none() { read(file, 0, size.min(BEGINNING)).await? } else { Bytes::new() };
    let schema = catch_decode_panic(async {
        Ok(match &footer {
            Some(footer) => root_as_footer(footer).ok().and_then(|footer| footer.schema()).map(fb_to_schema),
            None => StreamReader::try_new(Cursor::new(beginning), None).ok().map(|rows| rows.schema().as_ref().clone()),
        })
    });
    match schema.await.map_err(|error| JobError::reading(&file.place.to_string(), &error))? {
        Some(schema) => check_schema(file, &schema),
        None => Ok(()),
    }
}

fn check_schema(file: &InputFile, schema: &Schema) -> Result<(), JobError> {
    check(file, schema.fields().iter().map(|field| field.name().as_str()))
}

async fn read(file: &InputFile, start: u64, end: u64) -> Result<Bytes, JobError> {
    let failed = |error| JobError::storage(format!("reading {}", file.place), &error);
    file.place.store.get_range(&file.place.path, start..end).await.map_err(failed)
}
