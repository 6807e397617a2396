//! CSV columns that look like numbers but are codes: as a number, the ZIP code 03501 would be released as 3501.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_datafusion::{catch_decode_panic, catch_decode_panics};

use super::{FileInput, JobInput};
use crate::error::JobError;

/// Returns the schema of a CSV input in which a column is text if parsing a value as a number would change it. Reads
/// all rows, so that the result does not depend on their order.
pub(super) async fn keep_codes(session: &SessionContext, input: &FileInput) -> Result<SchemaRef, JobError> {
    let is_number = |field: &Field| matches!(field.data_type(), DataType::Int64 | DataType::Float64);
    let fields = input.schema().fields();
    let mut numbers: Vec<String> =
        fields.iter().filter(|field| is_number(field)).map(|field| field.name().clone()).collect();
    if numbers.is_empty() {
        return Ok(Arc::clone(input.schema()));
    }
    let texts = input.with_schema(as_text(input.schema(), &numbers));
    let codes = find_codes(session, &texts, &numbers).await.map_err(|error| match error {
        ScanFailure::Job(error) => error,
        ScanFailure::Engine(error) => JobError::reading("the input", &error),
    })?;
    numbers.retain(|name| codes.contains(name));
    Ok(as_text(input.schema(), &numbers))
}

enum ScanFailure {
    Job(JobError),
    Engine(DataFusionError),
}

async fn find_codes(
    session: &SessionContext,
    texts: &FileInput,
    columns: &[String],
) -> Result<Vec<String>, ScanFailure> {
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let frame = texts.rows(session).map_err(ScanFailure::Job)?.select_columns(&names).map_err(ScanFailure::Engine)?;
    let mut rows = catch_decode_panics(catch_decode_panic(frame.execute_stream()).await.map_err(ScanFailure::Engine)?);
    let mut codes: Vec<String> = Vec::new();
    while let Some(batch) = rows.try_next().await.map_err(ScanFailure::Engine)? {
        for name in columns {
            let Some(column) = batch.column_by_name(name) else { continue };
            let Some(column) = column.as_string_opt::<i32>() else { continue };
            if !codes.contains(name) && column.iter().flatten().any(is_code) {
                codes.push(name.clone());
            }
        }
    }
    Ok(codes)
}

/// Whether a text would lose something as a number: a leading zero, or a plus.
fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    text.starts_with('+') || matches!(digits, [b'0', next, ..] if next.is_ascii_digit())
}

/// Returns the schema with some columns as text.
pub(super) fn as_text(schema: &Schema, columns: &[String]) -> SchemaRef {
    let field = |field: &Arc<Field>| match columns.contains(field.name()) {
        true => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
        false => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::is_code;

    #[test]
    fn a_code_is_what_a_number_would_change() {
        assert!(["03501", "007", "+49", "-01", "00", "01.5"].into_iter().all(is_code));
        assert!(!["0", "-0", "0.5", "10", "-7", "", "1e5"].into_iter().any(is_code));
    }
}
