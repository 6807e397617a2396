//! The types of tables that a host can pass in.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use crate::ThrongError;

/// A value that is a table: batches, a stream, a `DataFrame`, or any table of DataFusion.
///
/// Implement it for your own type by returning a [`TableProvider`].
pub trait IntoTable {
    /// Returns the table, without reading any of its rows.
    fn into_table(self) -> Result<Arc<dyn TableProvider>, ThrongError>;
}

impl IntoTable for Arc<dyn TableProvider> {
    fn into_table(self) -> Result<Arc<dyn TableProvider>, ThrongError> {
        Ok(self)
    }
}

impl IntoTable for DataFrame {
    fn into_table(self) -> Result<Arc<dyn TableProvider>, ThrongError> {
        Ok(self.into_view())
    }
}

impl IntoTable for RecordBatch {
    fn into_table(self) -> Result<Arc<dyn TableProvider>, ThrongError> {
        vec![self].into_table()
    }
}

/// All batches must have the schema of the first. A table without a batch has no schema, and is refused.
impl IntoTable for Vec<RecordBatch> {
    fn into_table(self) -> Result<Arc<dyn TableProvider>, ThrongError> {
        let schema = self.first().ok_or(ThrongError::NoBatches)?.schema();
        if let Some(batch) = self.iter().position(|batch| batch.schema_ref() != &schema) {
            return Err(ThrongError::SchemaMismatch { batch });
        }
        let table = MemTable::try_new(schema, vec![self]).map_err(ThrongError::from_engine)?;
        Ok(Arc::new(table))
    }
}

/// The stream is read once: a second read of the table is an error.
impl IntoTable for SendableRecordBatchStream {
    fn into_table(self) -> Result<Arc<dyn TableProvider>, ThrongError> {
        let stream = SingleUseStream { schema: self.schema(), stream: Mutex::new(Some(self)) };
        let schema = Arc::clone(&stream.schema);
        let table = StreamingTable::try_new(schema, vec![Arc::new(stream)]).map_err(ThrongError::from_engine)?;
        Ok(Arc::new(table))
    }
}

/// The only partition of a single-use table.
struct SingleUseStream {
    schema: SchemaRef,
    stream: Mutex<Option<SendableRecordBatchStream>>,
}

/// Omits the stream, which may show rows.
impl fmt::Debug for SingleUseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleUseStream").finish_non_exhaustive()
    }
}

impl PartitionStream for SingleUseStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        stream.unwrap_or_else(|| {
            let error = DataFusionError::Plan("the stream of the table has been read already".to_owned());
            Box::pin(RecordBatchStreamAdapter::new(
                Arc::clone(&self.schema),
                futures::stream::once(std::future::ready(Err(error))),
            ))
        })
    }
}
