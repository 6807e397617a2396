//! Distinct values of numbers and dates that do not fit into memory.
//!
//! The survey of a stream returns the values of such a column as keys of the same order, at first all that it has seen and
//! then those of each chunk, and renumbers them ([`KeyBuffer`]). Ranks of the keys over all streams ([`crate::rank_keys`])
//! are positions of the whole domain, which is never in memory as a whole: each part of the table gets the values of its own
//! rows, and the labels get the values that they show.
//!
//! ```text
//!  stream   keys   | of chunks 0..n | of chunk n | of chunk n + 1 | ...       in order of arrival
//!           ranks  | of chunks 0..n | of chunk n | of chunk n + 1 | ...       likewise
//!  column   sorted | distinct keys of all streams, ascending: the key of each rank
//! ```

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use throng_core::survey::{RankedKeys, Survey};

use crate::AnonymizeError;
use crate::buffered_rows::numbers;
use crate::resources::Resources;
use crate::spill_buffer::{BatchReader, BufferedBatches, SharedQuota, SpillBuffer};

/// Keys of one column of a stream that is being read.
pub(crate) struct KeyBuffer {
    pub(crate) column: usize,
    keys: SpillBuffer,
    from_chunk: usize,
}

impl KeyBuffer {
    /// Takes the values of a column from a survey after `chunks` chunks.
    pub(crate) fn new(
        survey: &mut Survey,
        column: usize,
        chunks: usize,
        workspace: &Resources,
    ) -> Result<Self, AnonymizeError> {
        let keys = SpillBuffer::new(workspace, key_schema(), &SharedQuota::new(0), "values");
        let mut buffer = Self { column, keys, from_chunk: chunks };
        buffer.push(survey)?;
        Ok(buffer)
    }

    /// Takes the values since the last call.
    pub(crate) fn push(&mut self, survey: &mut Survey) -> Result<(), AnonymizeError> {
        self.keys.push(key_batch(survey.take_values(self.column)?)?)
    }

    pub(crate) fn finish(self) -> Result<StreamKeys, AnonymizeError> {
        Ok(StreamKeys { column: self.column, keys: self.keys.finish()?, from_chunk: self.from_chunk })
    }
}

/// Keys of one column of a stream, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct StreamKeys {
    pub(crate) column: usize,
    /// One batch for the chunks before `from_chunk`, and one for each chunk from there on.
    pub(crate) keys: BufferedBatches,
    from_chunk: usize,
}

/// A column whose values are not in memory.
#[derive(Debug)]
pub(crate) struct SpilledColumn {
    /// Keys of each stream.
    pub(crate) streams: Vec<StreamKeys>,
    /// Ranks of the keys of each stream, in batches of the same lengths.
    pub(crate) ranks: Vec<BufferedBatches>,
    /// Distinct keys, ascending.
    pub(crate) sorted: BufferedBatches,
    pub(crate) ranked: RankedKeys,
}

impl SpilledColumn {
    /// Returns the keys with these ranks, which must be ascending.
    pub(crate) fn keys_at(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<u64>, AnonymizeError> {
        let (mut batches, mut first, mut found) = (self.sorted.read()?, 0_usize, Vec::new());
        let mut batch: Option<RecordBatch> = None;
        for rank in ranks.map(|rank| rank as usize) {
            loop {
                match &batch {
                    Some(known) if rank < first + known.num_rows() => {
                        found.push(keys(known)[rank - first]);
                        break;
                    }
                    known => {
                        first += known.as_ref().map_or(0, RecordBatch::num_rows);
                        batch = Some(batches.next()?.ok_or(AnonymizeError::Task)?);
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Ranks and keys of the numbers of a chunk, for each column whose values are not in memory.
pub(crate) struct ChunkValues<'a> {
    columns: Vec<ChunkColumn<'a>>,
    chunk: usize,
    pub(crate) ranks: Vec<Vec<u32>>,
    pub(crate) keys: Vec<Vec<u64>>,
}

struct ChunkColumn<'a> {
    ranks: BatchReader<'a>,
    keys: BatchReader<'a>,
    from_chunk: usize,
}

impl<'a> ChunkValues<'a> {
    /// Reads the chunks of a stream. [`ChunkValues::advance`] must be called before each.
    pub(crate) fn of(columns: &'a [SpilledColumn], stream: usize) -> Result<Self, AnonymizeError> {
        let column = |column: &'a SpilledColumn| -> Result<ChunkColumn<'a>, AnonymizeError> {
            let of_stream = &column.streams[stream];
            let (ranks, keys) = (column.ranks[stream].read()?, of_stream.keys.read()?);
            Ok(ChunkColumn { ranks, keys, from_chunk: of_stream.from_chunk })
        };
        let of_columns = columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let (ranks, keys) = (vec![Vec::new(); columns.len()], vec![Vec::new(); columns.len()]);
        Ok(Self { columns: of_columns, chunk: 0, ranks, keys })
    }

    /// Advances to the next chunk.
    pub(crate) fn advance(&mut self) -> Result<(), AnonymizeError> {
        for ((column, of_ranks), of_keys) in self.columns.iter_mut().zip(&mut self.ranks).zip(&mut self.keys) {
            if self.chunk == 0 || self.chunk >= column.from_chunk {
                let (ranks, keys_read) = (column.ranks.next()?, column.keys.next()?);
                let (ranks, keys_read) = ranks.zip(keys_read).ok_or(AnonymizeError::Task)?;
                *of_ranks = numbers(&ranks)[1..].to_vec();
                *of_keys = keys(&keys_read)[1..].to_vec();
            }
        }
        self.chunk += 1;
        Ok(())
    }
}

/// Returns the schema of keys.
pub(crate) fn key_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("keys", DataType::UInt64, false)]))
}

/// Returns a batch of keys behind a placeholder, so that no batch is empty: an empty one could get lost on disk.
fn key_batch(mut keys: Vec<u64>) -> Result<RecordBatch, AnonymizeError> {
    keys.insert(0, 0);
    plain_key_batch(keys)
}

/// Returns a batch of keys.
pub(crate) fn plain_key_batch(keys: Vec<u64>) -> Result<RecordBatch, AnonymizeError> {
    let column: ArrayRef = Arc::new(UInt64Array::from(keys));
    RecordBatch::try_new(key_schema(), vec![column]).map_err(|source| AnonymizeError::Kernel("batch", source))
}

/// Returns the keys of a batch.
pub(crate) fn keys(batch: &RecordBatch) -> &[u64] {
    batch.column(0).as_primitive::<UInt64Type>().values()
}

#[cfg(test)]
#[path = "spilled_values_tests.rs"]
mod tests;
