//! Distinct values of numbers and dates that do not fit into memory.
//!
//! The survey of a stream returns the values of such a column as keys of the same order, at first all that it has seen and
//! then those of each chunk, and renumbers them ([`KeyBuffer`]). Ranks of the keys over all streams ([`super::rank_keys`])
//! are positions of the whole domain, which is never in memory as a whole: each part of the table gets the values of its own
//! rows, and the labels get the values that they show.
//!
//! ```text
//!  stream   keys   | of chunks 0..n | of chunk n | of chunk n + 1 | ...       in order of arrival
//!           ranks  | of chunks 0..n | of chunk n | of chunk n + 1 | ...       likewise
//!  column   sorted | distinct keys of all streams, ascending: the key of each rank
//! ```

use arrow::buffer::ScalarBuffer;

use super::{ListReader, ListWriter, OutOfCoreError, StoredLists, Workspace};
use crate::survey::{RankedKeys, Survey};

/// Keys of one column of a stream that is being read.
pub(super) struct KeyBuffer {
    pub(super) column: usize,
    keys: Box<dyn ListWriter<u64>>,
    from_chunk: usize,
}

impl KeyBuffer {
    /// Takes the values of a column from a survey after `chunks` chunks.
    pub(super) fn new(
        survey: &mut Survey,
        column: usize,
        chunks: usize,
        workspace: &dyn Workspace,
    ) -> Result<Self, OutOfCoreError> {
        let mut buffer = Self { column, keys: workspace.keys("values"), from_chunk: chunks };
        buffer.push(survey)?;
        Ok(buffer)
    }

    /// Takes the values since the last call.
    pub(super) fn push(&mut self, survey: &mut Survey) -> Result<(), OutOfCoreError> {
        // Keys follow a placeholder, so that no list is empty: an empty one could get lost on disk.
        let mut keys = survey.take_values(self.column)?;
        keys.insert(0, 0);
        self.keys.push(keys)
    }

    pub(super) fn finish(self) -> Result<StreamKeys, OutOfCoreError> {
        Ok(StreamKeys { column: self.column, keys: self.keys.finish()?, from_chunk: self.from_chunk })
    }
}

/// Keys of one column of a stream, in the order of their numbers.
#[derive(Debug)]
pub(super) struct StreamKeys {
    pub(super) column: usize,
    /// One list for the chunks before `from_chunk`, and one for each chunk from there on, each behind a placeholder.
    pub(super) keys: Box<dyn StoredLists<u64>>,
    from_chunk: usize,
}

/// A column whose values are not in memory.
#[derive(Debug)]
pub(super) struct SpilledColumn {
    /// Keys of each stream.
    pub(super) streams: Vec<StreamKeys>,
    /// Ranks of the keys of each stream, in lists of the same lengths.
    pub(super) ranks: Vec<Box<dyn StoredLists<u32>>>,
    /// Distinct keys, ascending.
    pub(super) sorted: Box<dyn StoredLists<u64>>,
    pub(super) ranked: RankedKeys,
}

impl SpilledColumn {
    /// Returns the keys with these ranks, which must be ascending.
    pub(super) fn keys_at(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<u64>, OutOfCoreError> {
        let (mut lists, mut first, mut found) = (self.sorted.read()?, 0_usize, Vec::new());
        let mut list: Option<ScalarBuffer<u64>> = None;
        for rank in ranks.map(|rank| rank as usize) {
            loop {
                match &list {
                    Some(known) if rank < first + known.len() => {
                        found.push(known[rank - first]);
                        break;
                    }
                    known => {
                        first += known.as_ref().map_or(0, |known| known.len());
                        list = Some(lists.next().ok_or(OutOfCoreError::Damaged)??);
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Ranks and keys of the numbers of a chunk, for each column whose values are not in memory.
pub(super) struct ChunkValues<'a> {
    columns: Vec<ChunkColumn<'a>>,
    chunk: usize,
    pub(super) ranks: Vec<Vec<u32>>,
    pub(super) keys: Vec<Vec<u64>>,
}

struct ChunkColumn<'a> {
    ranks: ListReader<'a, u32>,
    keys: ListReader<'a, u64>,
    from_chunk: usize,
}

impl<'a> ChunkValues<'a> {
    /// Reads the chunks of a stream. [`ChunkValues::advance`] must be called before each.
    pub(super) fn of(columns: &'a [SpilledColumn], stream: usize) -> Result<Self, OutOfCoreError> {
        let column = |column: &'a SpilledColumn| -> Result<ChunkColumn<'a>, OutOfCoreError> {
            let of_stream = &column.streams[stream];
            let (ranks, keys) = (column.ranks[stream].read()?, of_stream.keys.read()?);
            Ok(ChunkColumn { ranks, keys, from_chunk: of_stream.from_chunk })
        };
        let of_columns = columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let (ranks, keys) = (vec![Vec::new(); columns.len()], vec![Vec::new(); columns.len()]);
        Ok(Self { columns: of_columns, chunk: 0, ranks, keys })
    }

    /// Advances to the next chunk.
    pub(super) fn advance(&mut self) -> Result<(), OutOfCoreError> {
        for ((column, of_ranks), of_keys) in self.columns.iter_mut().zip(&mut self.ranks).zip(&mut self.keys) {
            if self.chunk == 0 || self.chunk >= column.from_chunk {
                let ranks = column.ranks.next().ok_or(OutOfCoreError::Damaged)??;
                let keys = column.keys.next().ok_or(OutOfCoreError::Damaged)??;
                *of_ranks = ranks[1..].to_vec();
                *of_keys = keys[1..].to_vec();
            }
        }
        self.chunk += 1;
        Ok(())
    }
}
