//! Results on stdout, as `throng sql` writes them.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::csv::WriterBuilder as CsvBuilder;
use arrow::error::ArrowError;
use arrow::json::WriterBuilder as JsonBuilder;
use arrow::json::writer::{JsonArray, Writer as JsonWriter};
use arrow::util::display::FormatOptions;
use arrow::util::pretty::pretty_format_batches_with_options;
use throng_pipeline::{JobError, Kind, Rows};

use super::args::SqlFormat;

/// Prints rows as they come, and a table when all of them are there. A statement without columns prints nothing.
pub(super) async fn print(mut rows: Rows, format: SqlFormat) -> Result<(), JobError> {
    let schema = Arc::clone(rows.schema());
    if schema.fields().is_empty() {
        while rows.next().await?.is_some() {}
        return Ok(());
    }
    let none = RecordBatch::new_empty(schema);
    match format {
        SqlFormat::Table => {
            // A result without rows has a header all the same.
            let mut batches = vec![none];
            while let Some(batch) = rows.next().await? {
                batches.push(batch);
            }
            let options = FormatOptions::default().with_null("NULL").with_display_error(true);
            let table = pretty_format_batches_with_options(&batches, &options).map_err(unwritable)?;
            write(format!("{table}\n").as_bytes())
        }
        SqlFormat::Csv => {
            write(&lines(&none, true)?)?;
            while let Some(batch) = rows.next().await? {
                write(&lines(&batch, false)?)?;
            }
            Ok(())
        }
        SqlFormat::Json => {
            let mut writer: JsonWriter<_, JsonArray> = JsonBuilder::new().with_explicit_nulls(true).build(Vec::new());
            while let Some(batch) = rows.next().await? {
                writer.write(&batch).map_err(unwritable)?;
                write(&std::mem::take(writer.get_mut()))?;
            }
            writer.finish().map_err(unwritable)?;
            write(&[&writer.into_inner()[..], b"\n"].concat())
        }
    }
}

fn lines(batch: &RecordBatch, header: bool) -> Result<Vec<u8>, JobError> {
    let mut text = Vec::new();
    let mut writer = CsvBuilder::new().with_header(header).build(&mut text);
    writer.write(batch).map_err(unwritable)?;
    drop(writer);
    Ok(text)
}

/// The error may quote a value.
fn unwritable(_: ArrowError) -> JobError {
    JobError::new(Kind::BadData, "a value of the result can't be written in this format; cast it to text")
}

fn write(bytes: &[u8]) -> Result<(), JobError> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| JobError::new(Kind::TemporaryIo, format!("writing results: {error}")))
}
