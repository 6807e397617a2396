//! Encodes and decodes surveyed values.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use throng_core::survey::SurveyedColumn;

use super::message::ValuesMessage;
use crate::AnonymizeError;

/// Encodes an array as an Arrow IPC stream.
pub(super) fn array_bytes(array: &ArrayRef) -> Result<Vec<u8>, AnonymizeError> {
    let failed = |source| AnonymizeError::Kernel("ipc", source);
    let schema = Arc::new(Schema::new(vec![Field::new("values", array.data_type().clone(), true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(array)]).map_err(failed)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.into_inner().map_err(failed)
}

pub(super) fn array(bytes: &[u8]) -> Result<ArrayRef, AnonymizeError> {
    let failed = |source| AnonymizeError::Kernel("ipc", source);
    let mut reader = StreamReader::try_new(bytes, None).map_err(failed)?;
    let batch = reader.next().ok_or(AnonymizeError::Task)?.map_err(failed)?;
    batch.columns().first().cloned().ok_or(AnonymizeError::Task)
}

/// Encodes `length` values of a column, beginning at `from`.
pub(super) fn values_message(
    seen: &SurveyedColumn,
    from: usize,
    length: usize,
) -> Result<ValuesMessage, AnonymizeError> {
    let rows = seen.rows.as_ref().map(|rows| rows[from..from + length].to_vec());
    Ok(ValuesMessage {
        values: array_bytes(&seen.values.slice(from, length))?,
        has_null: seen.has_null,
        are_counted: rows.is_some(),
        rows: rows.unwrap_or_default(),
    })
}

/// Decodes the values of a column from one or more messages.
pub(super) fn seen_values(messages: &[ValuesMessage]) -> Result<SurveyedColumn, AnonymizeError> {
    let pieces = messages.iter().map(|message| array(&message.values)).collect::<Result<Vec<_>, _>>()?;
    let pieces: Vec<&dyn datafusion::arrow::array::Array> = pieces.iter().map(AsRef::as_ref).collect();
    Ok(SurveyedColumn {
        values: concat(&pieces).map_err(|source| AnonymizeError::Kernel("concat", source))?,
        has_null: messages.iter().any(|message| message.has_null),
        rows: messages
            .iter()
            .any(|message| message.are_counted)
            .then(|| messages.iter().flat_map(|message| message.rows.iter().copied()).collect()),
    })
}
