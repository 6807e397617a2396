//! The common schema of all files of an input, or an error that names the file and column where they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::FileFormat;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use throng_datafusion::catch_decode_panic;
use throng_policy::{CsvOptions, Format, describe_type};

use super::footer::check_footer;
use super::read_demand::ReadDemand;
use super::wider_type::wider_type;
use super::{InputFile, names};
use crate::error::{JobError, Kind};

/// Number of footers that are read concurrently.
const CONCURRENT_FOOTERS: usize = 16;

/// The schemas of files, and what their footers declare.
pub(super) struct FileSchemas {
    pub(super) schemas: Vec<(InputFile, SchemaRef)>,
    /// Number of rows, if their format declares it.
    pub(super) rows: Option<u64>,
    /// The demand of reading them.
    pub(super) demand: ReadDemand,
}

/// Reads and checks the schema of each file.
pub(super) async fn read_schemas(
    session: &SessionContext,
    files: &[InputFile],
    format: &Arc<dyn FileFormat>,
    kind: Format,
    csv: CsvOptions,
) -> Result<FileSchemas, JobError> {
    let state = session.state();
    let read = |file: &InputFile| {
        let (file, format, state) = (file.clone(), Arc::clone(format), state.clone());
        async move {
            if file.meta.size == 0 {
                return Err(JobError::new(
                    Kind::BadData,
                    format!("{} is empty (0 bytes); remove it or write it again", file.place),
                ));
            }
            let (rows, demand) = match kind {
                Format::Parquet => check_footer(session, &file).await.map(|(rows, demand)| (Some(rows), demand))?,
                Format::Csv => (None, ReadDemand::of_rows(names::check_csv(&file, csv).await?)),
                // The engine rereads a damaged file as a stream, and interprets its magic bytes as a length.
                Format::Arrow => {
                    let (schema, batch_bytes) = names::check_arrow(&file).await?;
                    return Ok(((file, Arc::new(schema)), (None, ReadDemand::of_batches(batch_bytes))));
                }
            };
            let schema = format.infer_schema(&state, &file.place.store, std::slice::from_ref(&file.meta));
            let schema =
                catch_decode_panic(schema).await.map_err(|error| JobError::reading(&file.place.to_string(), &error))?;
            Ok(((file, schema), (rows, demand)))
        }
    };
    type ReadFile = ((InputFile, SchemaRef), (Option<u64>, ReadDemand));
    let read: Vec<ReadFile> = futures::stream::iter(files.iter().map(read).collect::<Vec<_>>())
        .buffered(CONCURRENT_FOOTERS)
        .try_collect()
        .await?;
    let (schemas, declared): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let (rows, demands): (Vec<_>, Vec<_>) = declared.into_iter().unzip();
    let demand = demands.into_iter().reduce(ReadDemand::merge).unwrap_or_default();
    let rows = rows.into_iter().try_fold(0_u64, |sum, rows| Some(sum.saturating_add(rows?)));
    Ok(FileSchemas { schemas, rows, demand })
}

/// Returns the schema of all files, the number of rows that they declare, if their format does, and the demand of reading
/// them.
pub(super) async fn common_schema(
    session: &SessionContext,
    files: &[InputFile],
    format: &Arc<dyn FileFormat>,
    kind: Format,
    csv: CsvOptions,
) -> Result<(SchemaRef, Option<u64>, ReadDemand), JobError> {
    let FileSchemas { schemas, rows, demand } = read_schemas(session, files, format, kind, csv).await?;
    let Some((first, rest)) = schemas.split_first() else { return Err(JobError::internal("an input without files")) };
    for other in rest {
        compare_columns(first, other, kind)?;
    }
    if kind == Format::Csv {
        return Ok((merged_types(&schemas), rows, demand));
    }
    let nullable =
        |name: &str| schemas.iter().any(|(_, schema)| schema.field_with_name(name).is_ok_and(Field::is_nullable));
    let fields = first.1.fields().iter().map(|field| {
        let data_type = common_type(field.name(), &schemas, kind)?;
        Ok(Field::new(field.name(), data_type, nullable(field.name())).with_metadata(field.metadata().clone()))
    });
    Ok((Arc::new(Schema::new(fields.collect::<Result<Vec<_>, JobError>>()?)), rows, demand))
}

/// Returns the common type of a column. Numbers of several widths are read as the widest from Parquet, whose reader casts them;
/// the Arrow reader does not.
fn common_type(name: &str, schemas: &[(InputFile, SchemaRef)], kind: Format) -> Result<DataType, JobError> {
    let types =
        || schemas.iter().filter_map(|(file, schema)| Some((file, schema.field_with_name(name).ok()?.data_type())));
    let both = |a: &DataType, b: &DataType| match kind {
        Format::Parquet => wider_type(a, b),
        Format::Arrow | Format::Csv => (a == b).then(|| a.clone()),
    };
    let mut common: Option<DataType> = None;
    for (file, found) in types() {
        common = match common {
            None => Some(found.clone()),
            Some(common) => match both(&common, found) {
                Some(wider) => Some(wider),
                None => {
                    // If no type holds all values, report the types of two files that conflict.
                    let mut earlier = types().filter(|(_, earlier)| both(earlier, found).is_none());
                    let (first, other) =
                        earlier.next().ok_or_else(|| JobError::internal("types that fit do not fit"))?;
                    let (other, found) = (type_name(other, found), type_name(found, other));
                    let what = format!("column `{name}` is {other} in the first and {found} in the second");
                    return Err(drift(first, file, what));
                }
            },
        };
    }
    common.ok_or_else(|| JobError::internal("a column of no file"))
}

/// Rejects numbers of several widths in one column, which the engine can't read by itself.
pub(super) fn check_widths(schemas: &[(InputFile, SchemaRef)]) -> Result<(), JobError> {
    let mut known: BTreeMap<&str, (&InputFile, &DataType)> = BTreeMap::new();
    for (file, schema) in schemas {
        for field in schema.fields() {
            let (first, data_type) = *known.entry(field.name()).or_insert((file, field.data_type()));
            if data_type != field.data_type() && data_type.is_numeric() && field.data_type().is_numeric() {
                let text = format!(
                    "{} and {} do not have the same schema: column `{}` is {data_type} in the first and {} in the second",
                    first.place,
                    file.place,
                    field.name(),
                    field.data_type()
                );
                let advice = "list the columns with their types after the name of the table, or name the location in the query in \
                              place of a table";
                return Err(JobError::new(Kind::BadData, format!("{text}; {advice}")));
            }
        }
    }
    Ok(())
}

/// Returns the name of a type in contrast to another one: that of the policy file if it distinguishes them, except for numbers,
/// whose width matters.
fn type_name(data_type: &DataType, other: &DataType) -> String {
    let words = describe_type(data_type);
    if data_type.is_numeric() || words == describe_type(other) { data_type.to_string() } else { words.to_owned() }
}

/// Merges the types of CSV files: each column gets one that fits all types inferred from its files.
fn merged_types(schemas: &[(InputFile, SchemaRef)]) -> SchemaRef {
    use datafusion::arrow::datatypes::DataType::{Float64, Int64, Null, Timestamp, Utf8};
    let (_, first) = &schemas[0];
    let fields = first.fields().iter().map(|field| {
        let types = schemas.iter().filter_map(|(_, schema)| schema.field_with_name(field.name()).ok());
        let common = types.map(|field| field.data_type().clone()).reduce(|a, b| match (a, b) {
            (a, b) if a == b => a,
            (Null, other) | (other, Null) => other,
            (Int64, Float64) | (Float64, Int64) => Float64,
            (Timestamp(a, None), Timestamp(b, None)) => Timestamp(a.max(b), None),
            _ => Utf8,
        });
        Field::new(field.name(), common.filter(|common| common != &Null).unwrap_or(Utf8), true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Checks that two files have the same columns.
fn compare_columns(
    first: &(InputFile, SchemaRef),
    other: &(InputFile, SchemaRef),
    kind: Format,
) -> Result<(), JobError> {
    let columns =
        |schema: &SchemaRef| -> BTreeSet<String> { schema.fields().iter().map(|field| field.name().clone()).collect() };
    let (expected, found) = (columns(&first.1), columns(&other.1));
    let drift = |what: String| Err(drift(&first.0, &other.0, what));
    if let Some(name) = expected.difference(&found).next() {
        return drift(format!("column `{name}` is only in the first"));
    }
    if let Some(name) = found.difference(&expected).next() {
        return drift(format!("column `{name}` is only in the second"));
    }
    // Only Parquet is read by name; in the other formats columns are matched by position.
    let moved = first.1.fields().iter().zip(other.1.fields()).find(|(a, b)| a.name() != b.name());
    match moved {
        Some((a, b)) if kind != Format::Parquet => drift(format!("column `{}` is where `{}` was", b.name(), a.name())),
        _ => Ok(()),
    }
}

fn drift(first: &InputFile, other: &InputFile, what: String) -> JobError {
    let text = format!("{} and {} do not have the same schema: {what}", first.place, other.place);
    let advice = "give all input files the same columns and types (in Parquet files, integers of several widths are read as the \
                  widest, and so are floating-point numbers)";
    JobError::new(Kind::BadData, format!("{text}; {advice}"))
}
