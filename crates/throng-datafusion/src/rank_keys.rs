//! Ranks keys that do not fit into memory.
//!
//! ```text
//!  keys by arrival ──► sorted runs ──► merge ──► distinct keys, and the rank of each arrival
//!                                                                  │
//!                          ranks by arrival ◄── ranges of arrivals ◄┘
//! ```
//!
//! Arrivals are numbered over all streams. Runs and ranges have the same length, which follows from the memory. Equal keys have
//! equal ranks, so neither the memory nor the order of arrival changes a rank.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryReservation;
use rayon::prelude::*;
use throng_core::CoreError;
use throng_core::survey::RankedKeys;

use crate::AnonymizeError;
use crate::buffered_rows::numbers;
use crate::resources::{Resources, reserve};
use crate::snapshot::{number_batch, tuple_schema};
use crate::spill_buffer::{BatchReader, BufferedBatches, SharedQuota, SpillBuffer};
use crate::spilled_values::{SpilledColumn, StreamKeys, key_schema, keys, plain_key_batch};

/// Entries of a batch of a run or a range.
const BATCH: usize = 2048;

/// Divisor of the memory for rows: the share that ranking uses.
const SHARE: usize = 4;

/// Minimum and maximum number of entries per run, and maximum number of runs: each run and each range is an open file,
/// with a batch in memory.
const MIN_RUN: usize = 1 << 14;
const MAX_RUN: usize = 1 << 20;
const MAX_RUNS: usize = 192;

/// Memory per entry of a run: key and arrival, and the same as numbers to be written.
const ENTRY_BYTES: usize = 16 + 12;

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "sorting the distinct values of a quasi-identifier";

/// Ranks the keys of a column over all streams.
pub(crate) fn rank_keys(streams: Vec<StreamKeys>, workspace: &Resources) -> Result<SpilledColumn, AnonymizeError> {
    let column = streams.first().map_or(0, |stream| stream.column);
    let total: usize = streams.iter().map(|stream| stream.keys.bytes() / size_of::<u64>()).sum();
    let length = (workspace.memory_for_rows() / SHARE / ENTRY_BYTES).clamp(MIN_RUN, MAX_RUN).max(total / MAX_RUNS);
    let room = workspace.reservation("ranks");
    let (runs, lengths) = sorted_runs(&streams, length, workspace, &room)?;
    let arrivals: usize = lengths.iter().flatten().sum();
    reserve(&room, 2 * runs.len().max(arrivals / length) * BATCH * 12, WHAT)?;
    let merged = merge(&runs, arrivals, length, workspace)?;
    drop(runs);
    reserve(&room, (length + lengths.iter().flatten().max().unwrap_or(&0)) * 2 * size_of::<u32>(), WHAT)?;
    let ranks = ranks_by_arrival(&merged.ranges, &lengths, length, workspace)?;
    let ranked = RankedKeys { column, distinct: merged.distinct, ends: merged.ends };
    tracing::info!(values = merged.distinct, "distinct values of a quasi-identifier spilled");
    Ok(SpilledColumn { streams, ranks, sorted: merged.sorted, ranked })
}

fn on_disk(workspace: &Resources, name: &'static str) -> SpillBuffer {
    SpillBuffer::new(workspace, tuple_schema(), &SharedQuota::new(0), name)
}

/// Splits a key into two numbers.
pub(crate) fn halves(key: u64) -> [u32; 2] {
    [key as u32, (key >> 32) as u32]
}

/// Joins two numbers to a key.
pub(crate) fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Writes runs of keys and arrivals, sorted. Also returns the number of keys of each batch of each stream.
fn sorted_runs(
    streams: &[StreamKeys],
    length: usize,
    workspace: &Resources,
    room: &MemoryReservation,
) -> Result<(Vec<BufferedBatches>, Vec<Vec<usize>>), AnonymizeError> {
    reserve(room, length * ENTRY_BYTES, WHAT)?;
    let (mut runs, mut run, mut arrival) = (Vec::new(), Vec::with_capacity(length), 0_u32);
    let mut lengths = Vec::with_capacity(streams.len());
    for stream in streams {
        let (mut batches, mut of_stream) = (stream.keys.read()?, Vec::new());
        while let Some(batch) = batches.next()? {
            workspace.check()?;
            let keys = &keys(&batch)[1..];
            of_stream.push(keys.len());
            for key in keys {
                run.push((*key, arrival));
                arrival = arrival.checked_add(1).ok_or(CoreError::TooLarge { limit: u32::MAX })?;
                if run.len() == length {
                    runs.push(sorted_run(&mut run, workspace)?);
                }
            }
        }
        lengths.push(of_stream);
    }
    if !run.is_empty() {
        runs.push(sorted_run(&mut run, workspace)?);
    }
    Ok((runs, lengths))
}

fn sorted_run(run: &mut Vec<(u64, u32)>, workspace: &Resources) -> Result<BufferedBatches, AnonymizeError> {
    run.par_sort_unstable();
    let mut stored = on_disk(workspace, "runs of values");
    for entries in run.chunks(BATCH) {
        let entry = |(key, arrival): &(u64, u32)| {
            let [low, high] = halves(*key);
            [low, high, *arrival]
        };
        stored.push(number_batch(entries.iter().flat_map(entry).collect())?)?;
    }
    run.clear();
    stored.finish()
}

/// Entries of a run, one after the other.
struct RunReader<'a> {
    batches: BatchReader<'a>,
    batch: Option<RecordBatch>,
    next: usize,
}

impl<'a> RunReader<'a> {
    fn new(run: &'a BufferedBatches) -> Result<Self, AnonymizeError> {
        Ok(Self { batches: run.read()?, batch: None, next: 0 })
    }

    fn next(&mut self) -> Result<Option<(u64, u32)>, AnonymizeError> {
        loop {
            if let Some(batch) = &self.batch
                && let Some([low, high, arrival]) = numbers(batch).as_chunks::<3>().0.get(self.next)
            {
                self.next += 1;
                return Ok(Some((joined(*low, *high), *arrival)));
            }
            self.batch = self.batches.next()?;
            self.next = 0;
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Merged runs.
struct Merged {
    distinct: u32,
    ends: Option<(u64, u64)>,
    sorted: BufferedBatches,
    /// Arrivals and their ranks, by ranges of arrivals.
    ranges: Vec<BufferedBatches>,
}

fn merge(
    runs: &[BufferedBatches],
    arrivals: usize,
    length: usize,
    workspace: &Resources,
) -> Result<Merged, AnonymizeError> {
    let mut readers = runs.iter().map(RunReader::new).collect::<Result<Vec<_>, _>>()?;
    let mut heap = BinaryHeap::with_capacity(readers.len());
    for (run, reader) in readers.iter_mut().enumerate() {
        heap.extend(reader.next()?.map(|entry| Reverse((entry, run))));
    }
    let mut sorted = SpillBuffer::new(workspace, key_schema(), &SharedQuota::new(0), "sorted values");
    let mut ranges: Vec<SpillBuffer> = (0..arrivals.div_ceil(length)).map(|_| on_disk(workspace, "ranks")).collect();
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); ranges.len()];
    let (mut distinct, mut ends, mut block) = (0_u32, None, Vec::with_capacity(BATCH));
    while let Some(Reverse(((key, arrival), run))) = heap.pop() {
        heap.extend(readers[run].next()?.map(|entry| Reverse((entry, run))));
        ends = match ends {
            Some((first, last)) if last == key => Some((first, last)),
            before => {
                distinct += 1;
                block.push(key);
                if block.len() == BATCH {
                    workspace.check()?;
                    sorted.push(plain_key_batch(std::mem::replace(&mut block, Vec::with_capacity(BATCH)))?)?;
                }
                Some((before.map_or(key, |(first, _)| first), key))
            }
        };
        let range = arrival as usize / length;
        waiting[range].extend([arrival, distinct - 1]);
        if waiting[range].len() >= 2 * BATCH {
            ranges[range].push(number_batch(std::mem::take(&mut waiting[range]))?)?;
        }
    }
    if !block.is_empty() {
        sorted.push(plain_key_batch(block)?)?;
    }
    for (range, waiting) in ranges.iter_mut().zip(waiting).filter(|(_, waiting)| !waiting.is_empty()) {
        range.push(number_batch(waiting)?)?;
    }
    let ranges = ranges.into_iter().map(SpillBuffer::finish).collect::<Result<_, _>>()?;
    Ok(Merged { distinct, ends, sorted: sorted.finish()?, ranges })
}

/// Writes the ranks of each stream in order of arrival, in batches of these lengths.
fn ranks_by_arrival(
    ranges: &[BufferedBatches],
    lengths: &[Vec<usize>],
    length: usize,
    workspace: &Resources,
) -> Result<Vec<BufferedBatches>, AnonymizeError> {
    let (mut unread, mut ranks, mut next) = (ranges.iter(), Vec::<u32>::new(), 0);
    let mut of_streams = Vec::with_capacity(lengths.len());
    for of_stream in lengths {
        let mut stored = on_disk(workspace, "ranks of values");
        for wanted in of_stream {
            // A placeholder, as in the batch of keys.
            let mut batch = Vec::with_capacity(wanted + 1);
            batch.push(0);
            while batch.len() <= *wanted {
                if next == ranks.len() {
                    workspace.check()?;
                    ranks = ranks_of(unread.next().ok_or(AnonymizeError::Task)?, length)?;
                    next = 0;
                }
                let more = (wanted + 1 - batch.len()).min(ranks.len() - next);
                batch.extend_from_slice(&ranks[next..next + more]);
                next += more;
            }
            stored.push(number_batch(batch)?)?;
        }
        of_streams.push(stored.finish()?);
    }
    Ok(of_streams)
}

/// Returns the ranks of a range in order of arrival.
fn ranks_of(range: &BufferedBatches, length: usize) -> Result<Vec<u32>, AnonymizeError> {
    let (mut ranks, mut count, mut batches) = (vec![0; length], 0, range.read()?);
    while let Some(batch) = batches.next()? {
        for [arrival, rank] in numbers(&batch).as_chunks::<2>().0 {
            ranks[*arrival as usize % length] = *rank;
            count += 1;
        }
    }
    // Only the last range may be shorter.
    ranks.truncate(count);
    Ok(ranks)
}

#[cfg(test)]
#[path = "rank_keys_tests.rs"]
mod tests;
