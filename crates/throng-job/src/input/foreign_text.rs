//! Text that a Parquet file holds besides its values: key-value metadata, and the minimum and maximum values of its statistics.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::parquet::DecodeResult;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataPushDecoder};
use throng_datafusion::catch_decode_panic;

use super::InputFile;
use super::footer::{read, unreadable};
use crate::error::JobError;
use crate::write::is_field_role;

/// Returns the texts of one file.
pub(super) async fn of_parquet(file: &InputFile) -> Result<Vec<String>, JobError> {
    let metadata = metadata(file).await?;
    let mut texts = Vec::new();
    for pair in metadata.file_metadata().key_value_metadata().into_iter().flatten() {
        texts.push(pair.key.clone());
        texts.extend(pair.value.clone());
    }
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        if let Some(statistics) = column.statistics() {
            let ends = [statistics.min_bytes_opt(), statistics.max_bytes_opt()];
            texts.extend(ends.into_iter().flatten().filter_map(|end| String::from_utf8(end.to_vec()).ok()));
        }
    }
    Ok(texts)
}

/// Metadata keys that writers derive from the schema, or that name the writer.
const KNOWN_KEYS: [&str; 7] =
    ["ARROW:schema", "pandas", "avro.schema", "parquet.avro.schema", "writer.model.name", "writer.time.zone", "geo"];

/// Prefixes of such keys.
const KNOWN_PREFIXES: [&str; 4] = ["org.apache.spark.", "org.apache.parquet.", "iceberg.", "delta."];

/// Beginning of the keys by which polars recognizes its categoricals. Those of its enums list all categories, also unused ones.
const POLARS_CATEGORICALS: &str = "_PL_CATEGORICAL";

/// Beginnings of the names of extension types whose parameters describe the type alone.
const EXTENSION_TYPES: [&str; 2] = ["arrow.", "geoarrow."];

const EXTENSION_NAME: &str = "ARROW:extension:name";

/// Returns the number of entries of the key-value metadata of a file, and of the Arrow schema in it, under keys that no known
/// writer uses. They may hold anything.
pub(super) async fn unknown_entries(file: &InputFile) -> Result<usize, JobError> {
    let metadata = metadata(file).await?;
    let is_known = |key: &str| KNOWN_KEYS.contains(&key) || KNOWN_PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    let file = metadata.file_metadata();
    let entries = || file.key_value_metadata().into_iter().flatten();
    let unknown = entries().filter(|entry| !is_known(&entry.key)).count();
    let schema = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata());
    // A schema that can't be read may hold anything, too.
    let Ok(schema) = schema else { return Ok(unknown + 1) };
    // The entries of the file are among those of the schema.
    let is_counted = |key: &str| is_known(key) || entries().any(|entry| entry.key == *key);
    let of_schema = schema.metadata().keys().filter(|key| !is_counted(key)).count();
    Ok(unknown + of_schema + schema.fields().iter().map(|field| unknown_in(field)).sum::<usize>())
}

/// Returns the number of entries of the metadata of a field, and of those inside, that no known writer makes.
fn unknown_in(field: &Field) -> usize {
    // Writers make these from the type of the field: a number, the name of a type, and its parameters.
    let extension = field.metadata().get(EXTENSION_NAME).map_or("", String::as_str);
    let is_described = EXTENSION_TYPES.iter().any(|prefix| extension.starts_with(prefix));
    let is_known = |(key, value): &(&String, &String)| match key.as_str() {
        "PARQUET:field_id" => value.parse::<i32>().is_ok(),
        EXTENSION_NAME => value.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter)),
        "ARROW:extension:metadata" => {
            value.is_empty() || is_described && serde_json::from_str::<serde_json::Value>(value).is_ok()
        }
        _ => key.starts_with(POLARS_CATEGORICALS) || is_field_role(field.name(), key, value),
    };
    let inside: usize = match field.data_type() {
        DataType::Struct(fields) => fields.iter().map(|field| unknown_in(field)).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => unknown_in(item),
        _ => 0,
    };
    inside + field.metadata().iter().filter(|entry| !is_known(entry)).count()
}

/// Reads the footer of a file that was checked when it was opened.
async fn metadata(file: &InputFile) -> Result<ParquetMetaData, JobError> {
    let damaged = || unreadable(file, "its footer is damaged");
    let mut decoder = ParquetMetaDataPushDecoder::try_new(file.meta.size).map_err(|_| damaged())?;
    loop {
        match catch_decode_panic(async { Ok(decoder.try_decode()?) }).await.map_err(|_| damaged())? {
            DecodeResult::Data(metadata) => return Ok(metadata),
            DecodeResult::NeedsData(ranges) => {
                for range in ranges {
                    let bytes = read(file, range.clone()).await?;
                    decoder.push_range(range, bytes).map_err(|_| damaged())?;
                }
            }
            DecodeResult::Finished => return Err(JobError::internal("a footer was read twice")),
        }
    }
}
