//! Tables that Python hands over.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, MutableArrayData, RecordBatch, RecordBatchReader, make_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::streaming::PartitionStream;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use throng_core::row_hash::{Checksum, RowHasher};
use throng_datafusion::{to_canonical_array, to_canonical_field};
use throng_job::{JobError, Kind};
use tokio::time::timeout;

use crate::capsules::foreign_table;
use crate::errors::{class_of, failure, is_passed_on, job_error};
use crate::job_call::TICK;
use crate::runtime::runtime;

/// Rows of a batch at most: a frame of one batch is read by all threads.
const BATCH_ROWS: usize = 1 << 16;

/// Batches of a stream that are read ahead.
const AHEAD: usize = 4;

/// A table of the host.
#[pyclass(frozen, module = "throng_privacy._native")]
pub(crate) struct NativeTable {
    table: Arc<dyn TableProvider>,
    /// Whether a stream has given its text as views.
    has_views: bool,
    /// Whether all rows are in memory, so that reading them again costs little.
    is_in_memory: bool,
}

#[pymethods]
impl NativeTable {
    /// Takes all rows of an Arrow stream, without copying them. They can be read more than once, by all threads or in their order. Of a
    /// frame that can be changed in place, numbers are copied: a release has those that were verified.
    #[staticmethod]
    #[pyo3(signature = (frame, in_order = false, is_mutable = false))]
    fn held(py: Python<'_>, frame: &Bound<'_, PyAny>, in_order: bool, is_mutable: bool) -> PyResult<Self> {
        let reader = reader(frame)?;
        let schema = schema_of(py, &reader)?;
        let batches = collect(py, reader)?.map_err(|_| unreadable(py, FAILED))?;
        let threads = if in_order { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
        let batches = if is_mutable { batches.iter().map(own_numbers).collect() } else { Ok(batches) };
        let batches = batches.map_err(|_| unreadable(py, FAILED))?;
        let parts = parts(batches, &schema, threads).ok_or_else(|| unreadable(py, CHANGED))?;
        let has_views = has_views(&schema);
        let table = MemTable::try_new(schema, parts).map_err(|_| unreadable(py, CHANGED))?;
        Ok(Self { table: Arc::new(table), has_views, is_in_memory: true })
    }

    /// Takes an Arrow stream, which is read once, and no faster than its rows are used.
    #[staticmethod]
    fn streamed(py: Python<'_>, stream: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = reader(stream)?;
        let schema = schema_of(py, &reader)?;
        let stream = Arc::new(ReaderStream { schema: Arc::clone(&schema), reader: Mutex::new(Some(reader)) });
        let has_views = has_views(&schema);
        let table = StreamingTable::try_new(schema, vec![stream]).map_err(|_| unreadable(py, CHANGED))?;
        Ok(Self { table: Arc::new(table), has_views, is_in_memory: false })
    }

    /// Takes a table of DataFusion from another library.
    #[staticmethod]
    fn foreign(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { table: foreign_table(table)?, has_views: false, is_in_memory: false })
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.table.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
}

impl NativeTable {
    /// Returns the table.
    pub(crate) fn provider(&self) -> Arc<dyn TableProvider> {
        Arc::clone(&self.table)
    }

    /// Returns whether a stream has given its text as views.
    pub(crate) fn has_views(&self) -> bool {
        self.has_views
    }

    /// Returns whether all rows are in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }
}

/// The error of a library may quote values.
const FAILED: &str =
    "the stream of the table failed; pyarrow.table(data), or the library of the table, may explain why";

const READ_ALREADY: &str = "the stream of the table has been read already; open it again, or give a frame or a file";

const CHANGED: &str = "the batches of the table differ in their schemas";

fn unreadable(py: Python<'_>, what: &str) -> PyErr {
    failure(py, Kind::BadData, what)
}

/// Asks an object for its stream. The exception of a library may quote a value that it could not convert, so only its class is
/// shown.
fn reader(stream: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let py = stream.py();
    let opened = stream.extract::<PyRecordBatchReader>().and_then(PyRecordBatchReader::into_reader);
    opened.map_err(|error| {
        if is_passed_on(py, &error) {
            return error;
        }
        let class = class_of(py, &error);
        unreadable(py, &format!("the table gives no Arrow stream ({class}); convert its columns to Arrow types first"))
    })
}

/// Reads all batches of a stream.
fn collect(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Result<Vec<RecordBatch>, ArrowError>> {
    read_by(py, reader, |batches| batches.collect())
}

/// Reads a stream on another thread: it may wait for long, and this one looks at signals. On a signal whose handler raises, no further
/// batch is read.
fn read_by<T: Send + 'static>(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
    read: impl FnOnce(&mut dyn Iterator<Item = Result<RecordBatch, ArrowError>>) -> T + Send + 'static,
) -> PyResult<T> {
    let runtime = runtime(py)?;
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_stopped);
    let mut task = runtime.spawn_blocking(move || read(&mut reader.take_while(|_| !stop.load(Ordering::Relaxed))));
    loop {
        if let Ok(read) = py.detach(|| runtime.block_on(async { timeout(TICK, &mut task).await })) {
            return read.map_err(|_| unreadable(py, FAILED));
        }
        py.check_signals().inspect_err(|_| is_stopped.store(true, Ordering::Relaxed))?;
    }
}

/// Returns the names and types of the columns of a stream and a checksum of its rows, whatever their order: two tables with the same
/// have the same rows.
#[pyfunction]
pub fn checksum(py: Python<'_>, stream: &Bound<'_, PyAny>) -> PyResult<String> {
    let reader = reader(stream)?;
    let schema = schema_of(py, &reader)?;
    let types: Vec<DataType> =
        schema.fields().iter().map(|field| to_canonical_field(field).data_type().clone()).collect();
    let mut hasher = RowHasher::new(&types, 0).map_err(|error| job_error(py, &JobError::from(error)))?;
    let read = read_by(py, reader, move |batches| {
        let mut sum = Checksum::default();
        for batch in batches {
            let batch = batch.map_err(|_| unread())?;
            let columns = batch.columns().iter().map(to_canonical_array).collect::<Result<Vec<_>, _>>()?;
            sum.add(hasher.hash(&columns, batch.num_rows())?);
        }
        Ok(sum)
    })?;
    let sum = read.map_err(|error: JobError| job_error(py, &error))?;
    let columns = schema.fields().iter().map(|field| format!("{:?} {}; ", field.name(), field.data_type()));
    Ok(format!("{}{} rows, {:032x}", columns.collect::<String>(), sum.rows(), sum.sum()))
}

fn unread() -> JobError {
    JobError::new(Kind::BadData, FAILED)
}

/// Returns the plain schema of a stream. Roles are given by name, so that each column needs one of its own.
fn schema_of(py: Python<'_>, reader: &(dyn RecordBatchReader + Send)) -> PyResult<SchemaRef> {
    let schema = plain(&reader.schema());
    if schema.fields().is_empty() {
        return Err(unreadable(py, "the table has no columns"));
    }
    let mut seen = HashSet::new();
    match schema.fields().iter().find(|field| !seen.insert(field.name())) {
        Some(field) => {
            Err(unreadable(py, &format!("the table has more than one column `{}`; rename all but one", field.name())))
        }
        None => Ok(schema),
    }
}

/// Returns a schema without metadata, which may describe values: the names and types of columns are all that is used.
fn plain(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| Field::new(field.name(), field.data_type().clone(), field.is_nullable()));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether a column has strings as views.
fn has_views(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| match field.data_type() {
        DataType::Dictionary(_, values) => **values == DataType::Utf8View,
        other => *other == DataType::Utf8View,
    })
}

/// Copies the numbers, dates and times of a batch. Text and nested values are not in memory that a frame changes.
fn own_numbers(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let own = |column: &ArrayRef| {
        if !column.data_type().is_primitive() {
            return Ok(Arc::clone(column));
        }
        let data = column.to_data();
        let mut copy = MutableArrayData::new(vec![&data], false, data.len());
        copy.try_extend(0, 0, data.len())?;
        Ok(make_array(copy.freeze()))
    };
    let columns = batch.columns().iter().map(own).collect::<Result<_, ArrowError>>()?;
    RecordBatch::try_new(batch.schema(), columns)
}

/// Deals batches to `threads` parts, in slices that share their memory. `None` if a batch does not fit the schema.
fn parts(batches: Vec<RecordBatch>, schema: &SchemaRef, threads: usize) -> Option<Vec<Vec<RecordBatch>>> {
    let mut parts = vec![Vec::new(); threads.max(1)];
    let mut next = 0;
    for batch in batches {
        let batch = RecordBatch::try_new(Arc::clone(schema), batch.columns().to_vec()).ok()?;
        for begin in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            parts[next].push(batch.slice(begin, BATCH_ROWS.min(batch.num_rows() - begin)));
            next = (next + 1) % threads;
        }
    }
    Some(parts)
}

/// The only partition of a table that can be read once. A thread of its own reads it, since the reader blocks and may wait for the
/// interpreter.
struct ReaderStream {
    schema: SchemaRef,
    reader: Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
}

/// Without the reader, which may show rows.
impl fmt::Debug for ReaderStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderStream").finish_non_exhaustive()
    }
}

impl PartitionStream for ReaderStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            let error = DataFusionError::External(Box::new(JobError::new(Kind::BadQuery, READ_ALREADY)));
            let failed = futures::stream::once(std::future::ready(Err(error)));
            return Box::pin(RecordBatchStreamAdapter::new(schema, failed));
        };
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&schema), AHEAD);
        let sender = stream.tx();
        stream.spawn_blocking(move || {
            for batch in reader {
                let batch = batch.and_then(|batch| RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()));
                if sender.blocking_send(batch.map_err(DataFusionError::from)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        stream.build()
    }
}
