//! Prints results to stdout in the selected format.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::csv::WriterBuilder as CsvBuilder;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::WriterBuilder as JsonBuilder;
use arrow::json::writer::{JsonArray, JsonFormat, LineDelimited, Writer as JsonWriter};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use throng_job::{JobError, Kind, StatementResult};

use super::table::format_table;
use crate::args::{SqlArgs, SqlFormat};
use crate::outcome::eprint_line;

/// Default number of rows that a table shows on a terminal.
const TERMINAL_ROWS: usize = 100;

/// The reason why a result was not printed completely.
#[derive(Debug)]
pub(super) enum PrintError {
    Job(JobError),
    /// The reader has closed the pipe.
    Closed,
}

impl From<JobError> for PrintError {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

impl From<ArrowError> for PrintError {
    /// Drops the text of the error, which may quote a value.
    fn from(_: ArrowError) -> Self {
        JobError::new(Kind::BadData, "a value of the result can't be written in this format; cast it to text").into()
    }
}

/// Prints results in one format.
#[derive(Debug)]
pub(super) struct Printer {
    format: SqlFormat,
    max_rows: Option<usize>,
    /// Maximum size of the rows of a table, which are buffered until it is complete.
    max_bytes: usize,
}

/// Divisor of the memory limit: the share for the rows of a table, whose text takes several times as much.
const TABLE_SHARE: u64 = 16;

impl Printer {
    pub(super) fn new(args: &SqlArgs, memory_limit: Option<u64>) -> Self {
        let usual = || std::io::stdout().is_terminal().then_some(TERMINAL_ROWS);
        let max_bytes = memory_limit.map_or(usize::MAX, |limit| (limit / TABLE_SHARE) as usize);
        Self { format: args.format, max_rows: args.max_rows.or_else(usual), max_bytes }
    }

    /// Prints rows as they arrive, or a table once it is complete. Returns the number of rows; `None` for a statement
    /// without columns.
    pub(super) async fn print(&self, rows: &mut StatementResult) -> Result<Option<usize>, PrintError> {
        let schema = Arc::clone(rows.schema());
        if schema.fields().is_empty() {
            while rows.next().await?.is_some() {}
            return Ok(None);
        }
        let count = match self.format {
            SqlFormat::Table => self.print_table(rows, schema).await?,
            SqlFormat::Csv => print_delimited(rows, &schema, b',').await?,
            SqlFormat::Tsv => print_delimited(rows, &schema, b'\t').await?,
            SqlFormat::Json => print_json::<JsonArray>(rows, "\n").await?,
            SqlFormat::Ndjson => print_json::<LineDelimited>(rows, "").await?,
        };
        Ok(Some(count))
    }

    async fn print_table(&self, rows: &mut StatementResult, schema: SchemaRef) -> Result<usize, PrintError> {
        let most = self.max_rows.unwrap_or(usize::MAX);
        let (mut batches, mut count, mut more, mut bytes) = (Vec::new(), 0, false, 0);
        while let Some(batch) = rows.next().await? {
            let taken = batch.num_rows().min(most - count);
            more = taken < batch.num_rows();
            count += taken;
            bytes += batch.get_array_memory_size();
            if bytes > self.max_bytes {
                let text = "the memory limit does not leave enough room for a table of this size; write the result with \
                            --format csv, limit it with --max-rows, or raise the memory limit (`--memory-limit`)";
                return Err(JobError::new(Kind::BadPolicy, text).into());
            }
            batches.push(batch.slice(0, taken));
            if more {
                break;
            }
        }
        // A result without rows still has a header.
        let table = run_blocking(move || format_table(&schema, &batches)).await??;
        write(table.into_bytes()).await?;
        if more {
            eprint_line(&format!("only the first {count} rows are shown; --max-rows N shows more, --format csv all"));
        }
        Ok(count)
    }
}

async fn print_delimited(rows: &mut StatementResult, schema: &SchemaRef, delimiter: u8) -> Result<usize, PrintError> {
    let mut count = 0;
    let lines = |batch: &RecordBatch, header: bool| -> Result<Vec<u8>, ArrowError> {
        let mut text = Vec::new();
        let mut writer = CsvBuilder::new().with_header(header).with_delimiter(delimiter).build(&mut text);
        writer.write(&without_nesting(batch)?)?;
        drop(writer);
        Ok(text)
    };
    write(lines(&RecordBatch::new_empty(Arc::clone(schema)), true)?).await?;
    while let Some(batch) = rows.next().await? {
        count += batch.num_rows();
        write(lines(&batch, false)?).await?;
    }
    Ok(count)
}

async fn print_json<F: JsonFormat>(rows: &mut StatementResult, end: &str) -> Result<usize, PrintError> {
    let mut count = 0;
    let mut writer: JsonWriter<Vec<u8>, F> = JsonBuilder::new().with_explicit_nulls(true).build(Vec::new());
    while let Some(batch) = rows.next().await? {
        count += batch.num_rows();
        writer.write(&batch)?;
        write(std::mem::take(writer.get_mut())).await?;
    }
    writer.finish()?;
    let mut last = writer.into_inner();
    last.extend_from_slice(end.as_bytes());
    write(last).await?;
    Ok(count)
}

/// Formats lists and structs as text as in a table, because CSV can't represent them.
fn without_nesting(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let options = FormatOptions::default();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if !column.data_type().is_nested() {
            fields.push(field.as_ref().clone());
            columns.push(Arc::clone(column));
            continue;
        }
        let formatter = ArrayFormatter::try_new(column, &options)?;
        let text = |row: usize| column.is_valid(row).then(|| formatter.value(row).to_string());
        fields.push(Field::new(field.name(), DataType::Utf8, true));
        columns.push(Arc::new((0..column.len()).map(text).collect::<StringArray>()) as ArrayRef);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Writes to stdout, which blocks if the reader is slow.
async fn write(bytes: Vec<u8>) -> Result<(), PrintError> {
    let written = run_blocking(move || {
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush())
    });
    written.await?.map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => PrintError::Closed,
        _ => JobError::creating("writing results", &error).into(),
    })
}

/// Runs long work on a separate thread, so that a signal is noticed meanwhile.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, PrintError> {
    let failed = |_| JobError::new(Kind::Internal, "a result could not be written; please report it").into();
    tokio::task::spawn_blocking(work).await.map_err(failed)
}
