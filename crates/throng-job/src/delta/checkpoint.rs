//! Reads checkpoints: the state of a version as Parquet files.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{Field, Schema};
use arrow::json::LineDelimitedWriter;
use datafusion::prelude::SessionContext;
use object_store::ObjectMeta;
use throng_datafusion::{catch_decode_panic, catch_decode_panics};

use super::action::{LogAction, parse_lines};
use super::damaged;
use crate::error::JobError;
use crate::input::{FileInput, InputFile, JobInput};
use crate::store_path::StorePath;

/// The checkpoint actions that are read, with the fields needed; an action with an empty list is read whole. Statistics are as
/// large as everything else together, and not needed.
const READ: [(&str, &[&str]); 6] = [
    ("protocol", &[]),
    ("metaData", &["id", "format", "schemaString", "partitionColumns", "configuration", "createdTime"]),
    ("add", &["path", "partitionValues", "size", "deletionVector"]),
    ("remove", &["path", "deletionTimestamp", "deletionVector"]),
    ("sidecar", &["path"]),
    ("checkpointMetadata", &["version"]),
];

/// Returns the actions of the parts of a checkpoint. The files are validated like those of an input.
pub(super) async fn read_checkpoint(
    session: &SessionContext,
    table: &StorePath,
    parts: &[&ObjectMeta],
) -> Result<Vec<LogAction>, JobError> {
    let mut actions = Vec::new();
    for meta in parts {
        let file = InputFile { place: table.at(meta.location.clone()), meta: (*meta).clone() };
        let failed = |error| JobError::reading(&file.place.to_string(), &error);
        let input = FileInput::of_release(session, vec![file.clone()]).await?;
        let names: Vec<&str> = READ.iter().map(|(name, _)| *name).collect();
        let present: Vec<&str> =
            names.into_iter().filter(|name| input.schema().column_with_name(name).is_some()).collect();
        let rows = input.rows(session)?.select_columns(&present).map_err(failed)?;
        let stream = catch_decode_panics(catch_decode_panic(rows.execute_stream()).await.map_err(failed)?);
        let batches: Vec<RecordBatch> = futures::TryStreamExt::try_collect(stream).await.map_err(failed)?;
        for batch in &batches {
            let lines = lines(batch).and_then(|lines| parse_lines(&lines));
            let name = meta.location.filename().unwrap_or_default();
            actions.extend(lines.ok_or_else(|| damaged(table, &format!("{name} can't be read")))?);
        }
    }
    Ok(actions)
}

/// Converts rows of a checkpoint to the lines of an entry.
fn lines(batch: &RecordBatch) -> Option<Vec<u8>> {
    let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let (_, names) = READ.iter().find(|(name, _)| name == field.name())?;
        let column = fields_of(column.as_struct_opt()?, names);
        columns.push((Field::new(field.name(), column.data_type().clone(), true), column));
    }
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).ok()?;
    let mut writer = LineDelimitedWriter::new(Vec::new());
    writer.write(&batch).ok()?;
    writer.finish().ok()?;
    Some(writer.into_inner())
}

/// Returns an action with only these fields, where present.
fn fields_of(action: &StructArray, names: &[&str]) -> ArrayRef {
    if names.is_empty() {
        return Arc::new(action.clone());
    }
    let kept = action.fields().iter().zip(action.columns()).filter(|(field, _)| names.contains(&field.name().as_str()));
    let (fields, columns): (Vec<_>, Vec<_>) =
        kept.map(|(field, column)| (Arc::clone(field), Arc::clone(column))).unzip();
    match StructArray::try_new(fields.into(), columns, action.nulls().cloned()) {
        Ok(kept) => Arc::new(kept),
        Err(_) => Arc::new(action.clone()),
    }
}
