//! A table over rows on disk, for the operator.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::StreamExt;

use crate::error::JobError;

use super::buckets::BUCKETS;

/// Number of rows per batch.
const BATCH_ROWS: usize = 8 << 10;

/// Reads a bucket.
type Load = Arc<dyn Fn(usize) -> Result<RecordBatch, JobError> + Send + Sync>;

/// Some of the buckets, read one after the other.
struct BucketStream {
    schema: SchemaRef,
    load: Load,
    first: usize,
    step: usize,
}

impl fmt::Debug for BucketStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketStream").finish_non_exhaustive()
    }
}

/// Returns a table of the rows of all buckets, in this many streams.
pub(super) fn disk_table(schema: SchemaRef, streams: usize, load: Load) -> Result<Arc<dyn TableProvider>, JobError> {
    let step = streams.max(1);
    let stream = |first| {
        let (schema, load) = (Arc::clone(&schema), Arc::clone(&load));
        Arc::new(BucketStream { schema, load, first, step }) as Arc<dyn PartitionStream>
    };
    let table = StreamingTable::try_new(Arc::clone(&schema), (0..step).map(stream).collect());
    Ok(Arc::new(table.map_err(|_| JobError::internal("rows on disk are no table"))?))
}

impl PartitionStream for BucketStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let load = Arc::clone(&self.load);
        let bucket = move |number: usize| match load(number) {
            Ok(rows) => {
                let places = (0..rows.num_rows()).step_by(BATCH_ROWS);
                places.map(|at| Ok(rows.slice(at, BATCH_ROWS.min(rows.num_rows() - at)))).collect()
            }
            Err(error) => vec![Err(DataFusionError::External(Box::new(error)))],
        };
        let buckets = (self.first..BUCKETS).step_by(self.step);
        let batches = futures::stream::iter(buckets).flat_map(move |number| futures::stream::iter(bucket(number)));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}
