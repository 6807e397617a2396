//! Rows on disk, in buckets that each fit into memory.
//!
//! An unnamed temporary file holds the rows of all buckets, in pieces. It disappears when it is dropped, or when the
//! process ends.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::{concat_batches, interleave_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::prelude::SessionContext;

use crate::error::JobError;

use super::kernel;

/// Number of buckets. Results do not depend on it.
pub(super) const BUCKETS: usize = 256;

/// Size of the rows that are buffered until they are written together; less if the pool is small.
const WAITING_BYTES: usize = 12 << 20;

/// Divisor of the pool size: the share of buffered rows.
const WAITING_SHARE: usize = 16;

/// Divisor of the buffer of rows of a few numbers.
const NARROW_SHARE: usize = 4;

/// Maximum memory to write rows to buckets, for all concurrent writers: three, and one of narrow rows.
pub(super) const WRITING_BYTES: usize = 3 * 2 * WAITING_BYTES + 2 * WAITING_BYTES / NARROW_SHARE;

/// Memory of a bucket relative to its size on disk, while it is read, sorted and written.
const OVER_DISK: usize = 3;

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "the rows of the series";

/// Registers an empty reservation for state of a series.
pub(super) fn reservation(session: &SessionContext) -> MemoryReservation {
    MemoryConsumer::new("throng series").register(&session.runtime_env().memory_pool)
}

/// Resizes a reservation, or fails with the amount of memory that would suffice.
pub(super) fn reserve(reservation: &MemoryReservation, bytes: usize) -> Result<(), JobError> {
    reservation.try_resize(bytes).map_err(|error| JobError::reading(WHAT, &error))
}

/// Buckets that are being written.
pub(super) struct BucketWriter {
    file: File,
    end: u64,
    schema: SchemaRef,
    pieces: Vec<Vec<Piece>>,
    waiting: Vec<RecordBatch>,
    /// Bucket, buffered batch and row of each buffered row.
    places: Vec<(u32, u32, u32)>,
    waiting_bytes: usize,
    most_bytes: usize,
    _reservation: MemoryReservation,
}

/// Rows of one bucket that were written together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    offset: u64,
    bytes: u64,
}

impl BucketWriter {
    pub(super) fn new(schema: SchemaRef, session: &SessionContext) -> Result<Self, JobError> {
        Self::buffering(schema, session, 1)
    }

    /// Same as [`BucketWriter::new`] for rows of a few numbers, with a smaller buffer.
    pub(super) fn narrow(schema: SchemaRef, session: &SessionContext) -> Result<Self, JobError> {
        Self::buffering(schema, session, NARROW_SHARE)
    }

    fn buffering(schema: SchemaRef, session: &SessionContext, share: usize) -> Result<Self, JobError> {
        let most_bytes = match session.runtime_env().memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => (bytes / WAITING_SHARE).min(WAITING_BYTES),
            MemoryLimit::Infinite | MemoryLimit::Unknown => WAITING_BYTES,
        } / share;
        let reservation = reservation(session);
        reserve(&reservation, 2 * most_bytes)?;
        Ok(Self {
            file: tempfile::tempfile().map_err(|error| JobError::temporary_file(&error))?,
            end: 0,
            schema,
            pieces: vec![Vec::new(); BUCKETS],
            waiting: Vec::new(),
            places: Vec::new(),
            waiting_bytes: 0,
            most_bytes,
            _reservation: reservation,
        })
    }

    /// Returns the columns of the rows.
    pub(super) fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Adds rows, given the bucket of each.
    pub(super) fn push(&mut self, rows: RecordBatch, buckets: impl IntoIterator<Item = u32>) -> Result<(), JobError> {
        let batch = self.waiting.len() as u32;
        self.places.extend(buckets.into_iter().zip(0..).map(|(bucket, row)| (bucket, batch, row)));
        self.waiting_bytes += get_record_batch_memory_size(&rows) + rows.num_rows() * size_of::<(u32, u32, u32)>();
        self.waiting.push(rows);
        if self.waiting_bytes >= self.most_bytes { self.write() } else { Ok(()) }
    }

    /// Writes all buffered rows to their buckets.
    fn write(&mut self) -> Result<(), JobError> {
        self.places.sort_unstable();
        let waiting: Vec<&RecordBatch> = self.waiting.iter().collect();
        for run in self.places.chunk_by(|a, b| a.0 == b.0) {
            let rows: Vec<(usize, usize)> =
                run.iter().map(|(_, batch, row)| (*batch as usize, *row as usize)).collect();
            let rows = interleave_record_batch(&waiting, &rows).map_err(kernel)?;
            let bytes = encode(&rows)?;
            self.file.write_all(&bytes).map_err(|error| JobError::temporary_file(&error))?;
            let bytes = bytes.len() as u64;
            self.pieces[run[0].0 as usize].push(Piece { offset: self.end, bytes });
            self.end += bytes;
        }
        self.waiting.clear();
        self.places.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<StoredBuckets, JobError> {
        self.write()?;
        Ok(StoredBuckets { file: Mutex::new(self.file), schema: self.schema, pieces: self.pieces })
    }
}

/// Finished buckets.
#[derive(Debug)]
pub(super) struct StoredBuckets {
    file: Mutex<File>,
    schema: SchemaRef,
    pieces: Vec<Vec<Piece>>,
}

impl StoredBuckets {
    /// Returns the columns of the rows.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the memory to work on a bucket.
    pub(super) fn room(&self, bucket: usize) -> usize {
        self.pieces[bucket].iter().map(|piece| piece.bytes as usize).sum::<usize>() * OVER_DISK
    }

    /// Reads a bucket, in the order in which its rows were added.
    pub(super) fn read(&self, bucket: usize) -> Result<RecordBatch, JobError> {
        concat_batches(&self.schema, &self.pieces(bucket).collect::<Result<Vec<_>, _>>()?).map_err(kernel)
    }

    /// Reads a bucket piece by piece, in the order in which its rows were added.
    pub(super) fn pieces(&self, bucket: usize) -> impl Iterator<Item = Result<RecordBatch, JobError>> {
        self.pieces[bucket].iter().map(|piece| {
            let mut bytes = vec![0; piece.bytes as usize];
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let read = file.seek(SeekFrom::Start(piece.offset)).and_then(|_| file.read_exact(&mut bytes));
            drop(file);
            read.map_err(|error| JobError::temporary_file(&error))?;
            decode(&bytes).ok_or_else(|| JobError::internal("rows on disk can't be read"))
        })
    }
}

/// Returns rows as bytes.
pub(super) fn encode(rows: &RecordBatch) -> Result<Vec<u8>, JobError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).map_err(kernel)?;
    writer.write(rows).map_err(kernel)?;
    writer.into_inner().map_err(kernel)
}

/// Returns the rows of [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Option<RecordBatch> {
    let reader = StreamReader::try_new(bytes, None).ok()?;
    let schema = reader.schema();
    concat_batches(&schema, &reader.collect::<Result<Vec<_>, _>>().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, AsArray, StringArray, UInt64Array};
    use datafusion::arrow::datatypes::UInt64Type;

    use super::*;

    #[test]
    fn a_bucket_has_its_rows_in_order() {
        let batch = |from: u64| {
            let numbers: UInt64Array = (from..from + 50_000).collect();
            let texts: StringArray = numbers.iter().map(|number| number.map(|number| number.to_string())).collect();
            let columns: [(&str, ArrayRef); 2] = [("number", Arc::new(numbers)), ("text", Arc::new(texts))];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let session = SessionContext::new();
        let mut writer = BucketWriter::new(batch(0).schema(), &session).unwrap();
        for from in (0..1_000_000).step_by(50_000) {
            writer.push(batch(from), (from..from + 50_000).map(|number| (number % 3) as u32)).unwrap();
        }
        let buckets = writer.finish().unwrap();
        assert!(buckets.pieces[0].len() > 1, "written in several pieces");
        for bucket in 0..3 {
            let found = buckets.read(bucket).unwrap();
            let numbers: Vec<u64> = found.column(0).as_primitive::<UInt64Type>().values().to_vec();
            assert_eq!(numbers, (bucket as u64..1_000_000).step_by(3).collect::<Vec<_>>());
            let texts = found.column(1).as_string::<i32>();
            assert!(texts.iter().zip(&numbers).all(|(text, number)| text == Some(number.to_string().as_str())));
        }
        assert_eq!((buckets.read(3).unwrap().num_rows(), buckets.room(3)), (0, 0));
    }
}
