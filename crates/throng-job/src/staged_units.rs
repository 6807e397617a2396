//! The units of privacy of a staged release, in a private temporary file.
//!
//! The verifier needs the unit of each released row, and no reader of a release may ever see one. While rows are written,
//! their units, keyed hashes, go to a temporary file of this process, in the order of the rows. Reading the staged files
//! back, each row is joined with its unit again by its position. The file is deleted when the release has been verified, or
//! the job ends otherwise; it is never in the staging place and never on an object store.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt};
use tempfile::NamedTempFile;
use throng_policy::UNIT_COLUMN;

use crate::error::JobError;

/// Bytes per unit in the file.
const BYTES: usize = 8;

/// Units of rows in the order in which they were written.
#[derive(Debug)]
pub(crate) struct StagedUnits {
    file: NamedTempFile,
}

/// Appends units while rows are written.
pub(crate) struct UnitWriter {
    file: BufWriter<File>,
    /// Number of rows without a unit, each of which is a unit of its own.
    unnamed: u64,
}

impl StagedUnits {
    /// Creates an empty file, readable by this user alone.
    pub(crate) fn create() -> std::result::Result<Self, JobError> {
        let file = NamedTempFile::new().map_err(|error| JobError::temporary_file(&error))?;
        Ok(Self { file })
    }

    /// Returns the batches without their units, which are written to the file.
    pub(crate) fn split(
        &self,
        batches: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
    ) -> std::result::Result<impl Stream<Item = Result<RecordBatch>> + Send + 'static, JobError> {
        let file = self.file.reopen().map_err(|error| JobError::temporary_file(&error))?;
        let mut writer = UnitWriter { file: BufWriter::new(file), unnamed: 0 };
        Ok(batches.map(move |batch| writer.split(batch?)))
    }

    /// Returns a stream of all rows, in the order in which they were written, with the unit of each as its last column.
    pub(crate) fn join(
        &self,
        stream: SendableRecordBatchStream,
    ) -> std::result::Result<SendableRecordBatchStream, JobError> {
        let file = self.file.reopen().map_err(|error| JobError::temporary_file(&error))?;
        let mut reader = BufReader::new(file);
        let mut fields: Vec<Arc<Field>> = stream.schema().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(UNIT_COLUMN, DataType::UInt64, false)));
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let joined = {
            let schema = Arc::clone(&schema);
            stream.map(move |batch| joined(&batch?, &mut reader, &schema))
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, joined)))
    }
}

fn joined(batch: &RecordBatch, units: &mut impl Read, schema: &SchemaRef) -> Result<RecordBatch> {
    let mut bytes = vec![0; batch.num_rows() * BYTES];
    units.read_exact(&mut bytes)?;
    let (units, _) = bytes.as_chunks::<BYTES>();
    let units: UInt64Array = units.iter().map(|unit| u64::from_le_bytes(*unit)).collect::<Vec<u64>>().into();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns.push(Arc::new(units));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

impl UnitWriter {
    fn split(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let missing = || DataFusionError::Internal("the units of a release are missing".to_owned());
        let at = batch.schema_ref().index_of(UNIT_COLUMN).map_err(|_| missing())?;
        let units = batch.column(at).as_primitive_opt::<UInt64Type>().ok_or_else(missing)?;
        for row in 0..units.len() {
            let unit = match units.is_null(row) {
                false => units.value(row),
                true => {
                    self.unnamed += 1;
                    u64::MAX - self.unnamed
                }
            };
            self.file.write_all(&unit.to_le_bytes())?;
        }
        self.file.flush()?;
        let others: Vec<usize> = (0..batch.num_columns()).filter(|column| *column != at).collect();
        Ok(batch.project(&others)?)
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn units_find_their_rows_again() {
        let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![10, 11, 12, 13]));
        let units: ArrayRef = Arc::new(UInt64Array::from(vec![Some(7), None, None, Some(7)]));
        let batch = RecordBatch::try_from_iter([("n", numbers), (UNIT_COLUMN, units)]).unwrap();
        let staged = StagedUnits::create().unwrap();
        let batches = [batch.slice(0, 3), batch.slice(3, 1)].map(Ok);
        let split: Vec<RecordBatch> =
            staged.split(futures::stream::iter(batches)).unwrap().try_collect().await.unwrap();
        assert!(split.iter().all(|batch| batch.num_columns() == 1 && batch.schema().index_of(UNIT_COLUMN).is_err()));
        let whole = batch.project(&[0]).unwrap();
        let pieces = [whole.slice(0, 1), whole.slice(1, 3)].map(Ok);
        let stream = RecordBatchStreamAdapter::new(whole.schema(), futures::stream::iter(pieces));
        let joined: Vec<RecordBatch> = staged.join(Box::pin(stream)).unwrap().try_collect().await.unwrap();
        let units = joined.iter().flat_map(|batch| batch.column(1).as_primitive::<UInt64Type>().values().to_vec());
        assert_eq!(units.collect::<Vec<u64>>(), [7, u64::MAX - 1, u64::MAX - 2, 7]);
    }
}
