//! The units of privacy of a staged release, in a private temporary file.
//!
//! The verifier needs the unit of each released row, and no reader of a release may ever see one. While rows are written,
//! their units, keyed hashes, go to a temporary file of this process, in the order of the rows. Reading the staged files
//! back, each row is joined with its unit again by its position. The file is deleted when the release has been verified, or
//! the job ends otherwise.
//!
//! ```text
//!  one process       rows ─► split ─► data files in staging
//!                              └────► temporary file
//!  compute cluster   rows ─► split ─► data file in staging
//!                              └────► object beside it ─► fetch: temporary file of the driver, the object is deleted
//! ```
//!
//! In one process units are never in the staging area. On a compute cluster the machine that writes a file is not the one
//! that verifies, so units are stored next to the attempts until the driver has fetched them, before anything is
//! published.

use std::io::{BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use tempfile::NamedTempFile;
use throng_policy::UNIT_COLUMN;

use crate::error::JobError;
use crate::manifest::FileEntry;
use crate::store_path::StorePath;

/// Bytes per unit in the file.
const BYTES: usize = 8;

/// Units of rows in the order in which they were written.
#[derive(Debug)]
pub(crate) struct StagedUnits {
    file: NamedTempFile,
}

/// Splits units off rows while they are written.
pub(crate) struct UnitWriter<W> {
    to: W,
    /// Number that identifies the next row without a unit.
    unnamed: u64,
}

/// Returns the name of the object with the units of a data file that a compute cluster has staged.
pub(crate) fn units_name(data_file: &str) -> String {
    format!("{data_file}.units")
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
        let mut writer = UnitWriter::new(BufWriter::new(file), 0);
        Ok(batches.map(move |batch| {
            let batch = writer.split(batch?)?;
            writer.to.flush()?;
            Ok(batch)
        }))
    }

    /// Fetches the units of data files that a compute cluster has staged, in the order of the files, and deletes their
    /// objects.
    pub(crate) async fn fetch(staging: &StorePath, files: &[FileEntry]) -> std::result::Result<Self, JobError> {
        let units = Self::create()?;
        let mut file = units.file.reopen().map_err(|error| JobError::temporary_file(&error))?;
        for data_file in files {
            let place = staging.child(&units_name(&data_file.path));
            let failed = |error: &object_store::Error| JobError::storage(format!("reading {place}"), error);
            let mut bytes = place.store.get(&place.path).await.map_err(|error| failed(&error))?.into_stream();
            let mut length = 0;
            while let Some(piece) = bytes.try_next().await.map_err(|error| failed(&error))? {
                length += piece.len();
                file.write_all(&piece).map_err(|error| JobError::temporary_file(&error))?;
            }
            if length as u64 != data_file.rows * BYTES as u64 {
                return Err(JobError::internal("a file has other rows than units"));
            }
            place.store.delete(&place.path).await.map_err(|error| failed(&error))?;
        }
        Ok(units)
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

impl<W: Write> UnitWriter<W> {
    /// Creates a writer. Rows without a unit are numbered from `unnamed` on; no two files of a release may share a number.
    pub(crate) fn new(to: W, unnamed: u64) -> Self {
        Self { to, unnamed }
    }

    /// Returns a batch without its units, which are written.
    pub(crate) fn split(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
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
            self.to.write_all(&unit.to_le_bytes())?;
        }
        let others: Vec<usize> = (0..batch.num_columns()).filter(|column| *column != at).collect();
        Ok(batch.project(&others)?)
    }
}

impl UnitWriter<Vec<u8>> {
    /// Removes and returns what has been written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.to)
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
