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

use arrow::buffer::ScalarBuffer;
use rayon::prelude::*;

use super::memory::reserve;
use super::spilled_values::{SpilledColumn, StreamKeys};
use super::{
    ListReader, ListWriter, MemoryBudget, OutOfCoreError, SharedQuota, StoredLists, Workspace, halves, join_halves,
};
use crate::error::CoreError;
use crate::survey::RankedKeys;

/// Entries of a list of a run or a range.
const LIST: usize = 2048;

/// Divisor of the memory for rows: the share that ranking uses.
const SHARE: usize = 4;

/// Minimum and maximum number of entries per run, and maximum number of runs: each run and each range is an open file,
/// with a list in memory.
const MIN_RUN: usize = 1 << 14;
const MAX_RUN: usize = 1 << 20;
const MAX_RUNS: usize = 192;

/// Memory per entry of a run: key and arrival, and the same as numbers to be written.
const ENTRY_BYTES: usize = 16 + 12;

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "sorting the distinct values of a quasi-identifier";

/// Ranks the keys of a column over all streams. Reserves memory for one run at a time, and for the lists that are merged.
/// Fails if that is refused, if there are more than 2^32 keys, or if lists can't be stored.
pub(super) fn rank_keys(streams: Vec<StreamKeys>, workspace: &dyn Workspace) -> Result<SpilledColumn, OutOfCoreError> {
    let column = streams.first().map_or(0, |stream| stream.column);
    let total: usize = streams.iter().map(|stream| stream.keys.bytes() / size_of::<u64>()).sum();
    let length = (workspace.memory_for_rows() / SHARE / ENTRY_BYTES).clamp(MIN_RUN, MAX_RUN).max(total / MAX_RUNS);
    let room = workspace.budget("ranks");
    let (runs, lengths) = sorted_runs(&streams, length, workspace, room.as_ref())?;
    let arrivals: usize = lengths.iter().flatten().sum();
    reserve(room.as_ref(), 2 * runs.len().max(arrivals / length) * LIST * 12, WHAT)?;
    let merged = merge(&runs, arrivals, length, workspace)?;
    drop(runs);
    reserve(room.as_ref(), (length + lengths.iter().flatten().max().unwrap_or(&0)) * 2 * size_of::<u32>(), WHAT)?;
    let ranks = ranks_by_arrival(&merged.ranges, &lengths, length, workspace)?;
    let ranked = RankedKeys { column, distinct: merged.distinct, ends: merged.ends };
    tracing::info!(values = merged.distinct, "distinct values of a quasi-identifier spilled");
    Ok(SpilledColumn { streams, ranks, sorted: merged.sorted, ranked })
}

fn on_disk(workspace: &dyn Workspace, name: &'static str) -> Box<dyn ListWriter<u32>> {
    workspace.numbers(name, &SharedQuota::new(0))
}

/// Sorted runs, and the number of keys of each list of each stream.
type SortedRuns = (Vec<Box<dyn StoredLists<u32>>>, Vec<Vec<usize>>);

/// Writes runs of keys and arrivals, sorted. Also returns the number of keys of each list of each stream.
fn sorted_runs(
    streams: &[StreamKeys],
    length: usize,
    workspace: &dyn Workspace,
    room: &dyn MemoryBudget,
) -> Result<SortedRuns, OutOfCoreError> {
    reserve(room, length * ENTRY_BYTES, WHAT)?;
    let (mut runs, mut run, mut arrival) = (Vec::new(), Vec::with_capacity(length), 0_u32);
    let mut lengths = Vec::with_capacity(streams.len());
    for stream in streams {
        let mut of_stream = Vec::new();
        for list in stream.keys.read()? {
            workspace.check()?;
            let list = list?;
            // Without the placeholder.
            let keys = &list[1..];
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

fn sorted_run(
    run: &mut Vec<(u64, u32)>,
    workspace: &dyn Workspace,
) -> Result<Box<dyn StoredLists<u32>>, OutOfCoreError> {
    run.par_sort_unstable();
    let mut stored = on_disk(workspace, "runs of values");
    for entries in run.chunks(LIST) {
        let entry = |(key, arrival): &(u64, u32)| {
            let [low, high] = halves(*key);
            [low, high, *arrival]
        };
        stored.push(entries.iter().flat_map(entry).collect())?;
    }
    run.clear();
    stored.finish()
}

/// Entries of a run, one after the other.
struct RunReader<'a> {
    lists: ListReader<'a, u32>,
    list: Option<ScalarBuffer<u32>>,
    next: usize,
}

impl<'a> RunReader<'a> {
    fn new(run: &'a dyn StoredLists<u32>) -> Result<Self, OutOfCoreError> {
        Ok(Self { lists: run.read()?, list: None, next: 0 })
    }

    fn next(&mut self) -> Result<Option<(u64, u32)>, OutOfCoreError> {
        loop {
            if let Some(list) = &self.list
                && let Some([low, high, arrival]) = list.as_chunks::<3>().0.get(self.next)
            {
                self.next += 1;
                return Ok(Some((join_halves([*low, *high]), *arrival)));
            }
            self.list = self.lists.next().transpose()?;
            self.next = 0;
            if self.list.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Merged runs.
struct Merged {
    distinct: u32,
    ends: Option<(u64, u64)>,
    sorted: Box<dyn StoredLists<u64>>,
    /// Arrivals and their ranks, by ranges of arrivals.
    ranges: Vec<Box<dyn StoredLists<u32>>>,
}

fn merge(
    runs: &[Box<dyn StoredLists<u32>>],
    arrivals: usize,
    length: usize,
    workspace: &dyn Workspace,
) -> Result<Merged, OutOfCoreError> {
    let mut readers = runs.iter().map(|run| RunReader::new(run.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let mut heap = BinaryHeap::with_capacity(readers.len());
    for (run, reader) in readers.iter_mut().enumerate() {
        heap.extend(reader.next()?.map(|entry| Reverse((entry, run))));
    }
    let mut sorted = workspace.keys("sorted values");
    let mut ranges: Vec<_> = (0..arrivals.div_ceil(length)).map(|_| on_disk(workspace, "ranks")).collect();
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); ranges.len()];
    let (mut distinct, mut ends, mut block) = (0_u32, None, Vec::with_capacity(LIST));
    while let Some(Reverse(((key, arrival), run))) = heap.pop() {
        heap.extend(readers[run].next()?.map(|entry| Reverse((entry, run))));
        ends = match ends {
            Some((first, last)) if last == key => Some((first, last)),
            before => {
                distinct += 1;
                block.push(key);
                if block.len() == LIST {
                    workspace.check()?;
                    sorted.push(std::mem::replace(&mut block, Vec::with_capacity(LIST)))?;
                }
                Some((before.map_or(key, |(first, _)| first), key))
            }
        };
        let range = arrival as usize / length;
        waiting[range].extend([arrival, distinct - 1]);
        if waiting[range].len() >= 2 * LIST {
            ranges[range].push(std::mem::take(&mut waiting[range]))?;
        }
    }
    if !block.is_empty() {
        sorted.push(block)?;
    }
    for (range, waiting) in ranges.iter_mut().zip(waiting).filter(|(_, waiting)| !waiting.is_empty()) {
        range.push(waiting)?;
    }
    let ranges = ranges.into_iter().map(|range| range.finish()).collect::<Result<_, _>>()?;
    Ok(Merged { distinct, ends, sorted: sorted.finish()?, ranges })
}

/// Writes the ranks of each stream in order of arrival, in lists of these lengths.
fn ranks_by_arrival(
    ranges: &[Box<dyn StoredLists<u32>>],
    lengths: &[Vec<usize>],
    length: usize,
    workspace: &dyn Workspace,
) -> Result<Vec<Box<dyn StoredLists<u32>>>, OutOfCoreError> {
    let (mut unread, mut ranks, mut next) = (ranges.iter(), Vec::<u32>::new(), 0);
    let mut of_streams = Vec::with_capacity(lengths.len());
    for of_stream in lengths {
        let mut stored = on_disk(workspace, "ranks of values");
        for wanted in of_stream {
            // A placeholder, as in the list of keys.
            let mut list = Vec::with_capacity(wanted + 1);
            list.push(0);
            while list.len() <= *wanted {
                if next == ranks.len() {
                    workspace.check()?;
                    ranks = ranks_of(unread.next().ok_or(OutOfCoreError::Damaged)?.as_ref(), length)?;
                    next = 0;
                }
                let more = (wanted + 1 - list.len()).min(ranks.len() - next);
                list.extend_from_slice(&ranks[next..next + more]);
                next += more;
            }
            stored.push(list)?;
        }
        of_streams.push(stored.finish()?);
    }
    Ok(of_streams)
}

/// Returns the ranks of a range in order of arrival.
fn ranks_of(range: &dyn StoredLists<u32>, length: usize) -> Result<Vec<u32>, OutOfCoreError> {
    let (mut ranks, mut count) = (vec![0; length], 0);
    for list in range.read()? {
        for [arrival, rank] in list?.as_chunks::<2>().0 {
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
