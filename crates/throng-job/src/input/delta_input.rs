//! A version of a Delta table as an input.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use percent_encoding::percent_decode_str;
use throng_policy::{Policy, Store, TablePin};

use super::partitions::{PartitionColumns, without_folder_values};
use super::{FileInput, InputDescription, InputFile, JobInput, ReadPlan, pinned};
use crate::delta::{AddFile, DeltaField, DeltaLog, DeltaSnapshot, parse_schema, partition_value};
use crate::error::{JobError, Kind};
use crate::job::JobOptions;
use crate::session;
use crate::store_path::StorePath;
use crate::write::digest;

/// Number of files that are looked up concurrently.
const CONCURRENT_LOOKS: usize = 16;

/// A version of a Delta table. Its files are read like those of any input: footers are checked, and versions of files are
/// pinned.
#[derive(Debug)]
pub(crate) struct DeltaInput {
    files: FileInput,
    /// Columns in the order of the table.
    schema: SchemaRef,
    version: u64,
    fingerprint: String,
}

/// Returns the location of the table, if the locations name a single Delta table.
pub(super) fn table_of(locations: &[String]) -> Option<&str> {
    match locations {
        [location] => throng_policy::delta_table(location),
        _ => None,
    }
}

/// Returns the fingerprint of the version of a table that a policy reads. It depends on the table and the version alone.
pub(super) async fn current_fingerprint(table: &str, policy: &Policy) -> Result<String, JobError> {
    let session = session::session(&JobOptions::default())?;
    let snapshot = open_snapshot(&session, table, policy.input.pin, &policy.store).await?.1;
    Ok(fingerprint(&snapshot))
}

fn fingerprint(snapshot: &DeltaSnapshot) -> String {
    digest(format!("delta/{}/{}", snapshot.metadata.id, snapshot.version).as_bytes())
}

async fn open_snapshot(
    session: &SessionContext,
    table: &str,
    pin: TablePin,
    settings: &Store,
) -> Result<(StorePath, DeltaSnapshot), JobError> {
    throng_policy::check_location(table)
        .map_err(|error| JobError::new(Kind::BadPolicy, format!("a location {error}")))?;
    let place = StorePath::parse_with(table, settings)?;
    if place.is_web() {
        let text = "the log of a Delta table must be listed, which web servers do not do";
        return Err(JobError::new(Kind::BadPolicy, format!("{text}; copy the table to a folder or a store")));
    }
    let log = DeltaLog::list(&place).await?.ok_or_else(|| {
        let text = format!("no Delta table at {place}: it has no log (`_delta_log/`)");
        JobError::new(Kind::NoInput, format!("{text}; name the folder of a table, or leave out `delta+`"))
    })?;
    let version = log.select(pin).await?;
    let snapshot = DeltaSnapshot::read(session, &log, version).await?;
    Ok((place, snapshot))
}

impl DeltaInput {
    /// Opens a version of a table.
    pub(super) async fn open(
        session: &SessionContext,
        table: &str,
        pin: TablePin,
        settings: &Store,
    ) -> Result<Self, JobError> {
        let (table, snapshot) = open_snapshot(session, table, pin, settings).await?;
        let declared = parse_schema(&table, &snapshot.metadata.schema_string)?;
        let names = &snapshot.metadata.partition_columns;
        let is_partition = |field: &DeltaField| names.contains(&field.name);
        let partition_fields: Vec<&DeltaField> = declared.iter().filter(|field| is_partition(field)).collect();
        if partition_fields.len() != names.iter().collect::<HashSet<_>>().len() {
            return Err(damaged(&table, "a partition column is not in its schema"));
        }
        let files = pinned::pin(find(&table, &snapshot.files).await?);
        let partitions = partitions(&table, &partition_fields, &files, &snapshot.files)?;
        let of_files: Vec<&DeltaField> = declared.iter().filter(|field| !is_partition(field)).collect();
        let opened = match FileInput::read_schemas(session, &files).await {
            Ok(opened) => opened,
            // A file that is being replaced may look damaged.
            Err(error) => return Err(pinned::check_unchanged(&files).await.err().unwrap_or(error)),
        };
        let of_files = file_schema(&table, &of_files, &opened.schemas);
        let of_files = of_files.map_err(|error| without_folder_values(error, &files))?;
        let files = FileInput::of_table(opened, of_files, partitions)?;
        let field = |field: &DeltaField| files.schema().field_with_name(&field.name).cloned();
        let fields = declared.iter().map(field).collect::<Result<Vec<_>, _>>();
        let schema = fields.map_err(|_| JobError::internal("a table without one of its columns"))?;
        let fingerprint = fingerprint(&snapshot);
        Ok(Self { files, schema: Arc::new(Schema::new(schema)), version: snapshot.version, fingerprint })
    }
}

/// Returns the files of a version. Their paths are below the table, and their sizes those of the log.
async fn find(table: &StorePath, added: &[AddFile]) -> Result<Vec<InputFile>, JobError> {
    let places = added.iter().map(|file| Ok((place_of(table, &file.path)?, file.size)));
    let places = places.collect::<Result<Vec<_>, JobError>>()?;
    let looks = places.into_iter().map(|(place, size)| async move {
        match place.store.head(&place.path).await {
            Ok(meta) if i64::try_from(meta.size) == Ok(size) => Ok(InputFile { place, meta }),
            Ok(_) => Err(damaged(table, "a file has another size than the log says")),
            Err(object_store::Error::NotFound { .. }) => {
                let text = format!("a file of the Delta table {table} is missing: it was removed as no longer needed");
                Err(JobError::new(Kind::NoInput, format!("{text}; choose a later version")))
            }
            Err(error) => Err(JobError::storage(format!("looking for a file of {table}"), &error)),
        }
    });
    futures::stream::iter(looks.collect::<Vec<_>>()).buffered(CONCURRENT_LOOKS).try_collect().await
}

/// Returns the store path of a file of a table.
fn place_of(table: &StorePath, encoded: &str) -> Result<StorePath, JobError> {
    let is_absolute = encoded.starts_with('/') || encoded.contains("://") || encoded.starts_with("file:");
    if is_absolute {
        let text = format!("the Delta table {table} names files outside of its folder (a shallow clone)");
        return Err(JobError::new(Kind::BadData, format!("{text}, which is not supported; write a deep copy of it")));
    }
    let bad = || damaged(table, "a path is not one below its folder");
    let decoded = percent_decode_str(encoded).decode_utf8().map_err(|_| bad())?;
    let below = Path::parse(decoded.as_ref()).map_err(|_| bad())?;
    let parts: Vec<_> = table.path.parts().chain(below.parts()).collect();
    // Segments with escaped characters must be kept unchanged, so the path is not rebuilt from its segments.
    let text = parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>().join("/");
    Ok(table.at(Path::parse(text).map_err(|_| bad())?))
}

/// Returns the partition columns with their values in each file.
fn partitions(
    table: &StorePath,
    fields: &[&DeltaField],
    files: &[InputFile],
    added: &[AddFile],
) -> Result<Option<PartitionColumns>, JobError> {
    if fields.is_empty() {
        return Ok(None);
    }
    if let Some(field) =
        fields.iter().find(|field| matches!(field.data_type, DataType::BinaryView) || field.is_nested())
    {
        let text = format!("the Delta table {table} is partitioned by `{}`, whose type is not read", field.name);
        return Err(JobError::new(Kind::BadData, format!("{text}; write a copy with other partitions")));
    }
    let value = |field: &DeltaField, file: &AddFile| {
        let text = file.partition_values.get(&field.name).and_then(Option::as_deref);
        let value = partition_value(text, &field.partition_type());
        value.ok_or_else(|| {
            damaged(table, &format!("a value of its partition column `{}` is not of its type", field.name))
        })
    };
    let of_file = |(file, added): (&InputFile, &AddFile)| {
        let values = fields.iter().map(|field| value(field, added)).collect::<Result<Vec<_>, _>>()?;
        Ok((file.place.clone(), values))
    };
    let values = files.iter().zip(added).map(of_file).collect::<Result<Vec<_>, JobError>>()?;
    let field = |field: &&DeltaField| Arc::new(Field::new(&field.name, field.partition_type(), true)) as FieldRef;
    Ok(Some(PartitionColumns::new(fields.iter().map(field).collect(), values)))
}

/// Returns the columns that are read from the files. A file may lack a column that was added to the table later, and may have
/// columns that the table no longer has.
fn file_schema(
    table: &StorePath,
    declared: &[&DeltaField],
    schemas: &[(InputFile, SchemaRef)],
) -> Result<SchemaRef, JobError> {
    let column = |field: &&DeltaField| {
        let mut nested: Option<DataType> = None;
        let mut is_nullable = field.is_nullable;
        for (file, schema) in schemas {
            let Ok(found) = schema.field_with_name(&field.name) else {
                is_nullable = true;
                continue;
            };
            let is_same = nested.as_ref().is_none_or(|known| known == found.data_type());
            if !field.fits(found.data_type()) || (field.is_nested() && !is_same) {
                let (name, expected) = (&field.name, &field.data_type);
                let text = format!("{} does not fit the Delta table {table}", file.place);
                let found = format!("column `{name}` is {}, and {expected} in the table", found.data_type());
                return Err(JobError::new(Kind::BadData, format!("{text}: {found}; write the file again")));
            }
            is_nullable |= found.is_nullable();
            if field.is_nested() {
                nested = Some(found.data_type().clone());
            }
        }
        Ok(Field::new(&field.name, nested.unwrap_or_else(|| field.data_type.clone()), is_nullable))
    };
    Ok(Arc::new(Schema::new(declared.iter().map(column).collect::<Result<Vec<_>, _>>()?)))
}

fn damaged(table: &StorePath, what: &str) -> JobError {
    JobError::new(Kind::BadData, format!("the Delta table {table} is damaged: {what}; restore it, or write it again"))
}

#[async_trait]
impl JobInput for DeltaInput {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self, session: &SessionContext) -> Result<DataFrame, JobError> {
        let rows = self.files.rows(session)?;
        if self.files.schema().fields() == self.schema.fields() {
            return Ok(rows);
        }
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        rows.select_columns(&names).map_err(|error| JobError::reading("the input", &error))
    }

    fn read_plan(&self, columns: Option<&[&str]>) -> ReadPlan {
        self.files.read_plan(columns)
    }

    fn expected_rows(&self) -> Option<u64> {
        self.files.expected_rows()
    }

    fn fingerprint(&self) -> Option<&str> {
        Some(&self.fingerprint)
    }

    async fn check_unchanged(&self) -> Result<(), JobError> {
        self.files.check_unchanged().await
    }

    async fn locate(&self, session: &SessionContext, columns: &[&str], error: &DataFusionError) -> JobError {
        self.files.locate(session, columns, error).await
    }

    async fn file_texts(&self) -> Result<Vec<String>, JobError> {
        self.files.file_texts().await
    }

    fn is_distributable(&self) -> bool {
        self.files.is_distributable()
    }

    fn describe(&self) -> InputDescription {
        InputDescription { version: Some(self.version), ..self.files.describe() }
    }
}
