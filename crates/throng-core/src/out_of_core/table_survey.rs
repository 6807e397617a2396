//! Survey of a whole table: the values and groups of all of its streams.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chunked_survey::FinishedSurvey;
use super::memory::reserve;
use super::rank_keys::rank_keys;
use super::spilled_values::{ChunkValues, SpilledColumn, StreamKeys};
use super::{ChunkedSurvey, MemoryBudget, OutOfCoreError, PartSizes, StreamGroups, Workspace};
use crate::survey::{Domains, RankedKeys, SORTED_TOGETHER, SurveyedValues};

/// Name of the resource in the out-of-memory error.
pub(super) const VALUES: &str = "the distinct values of the quasi-identifiers";

/// Memory per group, besides its tuple, while groups are counted and put in order.
const GROUP_BYTES: usize = 96;

/// Memory per distinct value of a domain besides the value: coordinate and position.
const VALUE_BYTES: usize = 16;

/// Values and groups of all rows of a table, which the caller has buffered or can read again.
#[derive(Debug)]
pub struct TableSurvey {
    /// Groups of each stream.
    streams: Vec<StreamGroups>,
    /// Values of each stream, until they are merged.
    seen: Vec<SurveyedValues>,
    /// Keys of the columns whose values were spilled, by stream, until they are ranked.
    keys: Vec<Vec<StreamKeys>>,
    spilled: Arc<Vec<SpilledColumn>>,
    /// Number of surveyed columns.
    width: usize,
    rows: u64,
    suppressed: u64,
    row_bytes: u64,
    are_rows_spilled: bool,
    /// Memory for the values.
    values: Box<dyn MemoryBudget>,
    workspace: Arc<dyn Workspace>,
}

impl TableSurvey {
    /// Creates the survey of no stream, of `width` columns.
    pub fn new(width: usize, workspace: Arc<dyn Workspace>) -> Self {
        Self {
            streams: Vec::new(),
            seen: Vec::new(),
            keys: Vec::new(),
            spilled: Arc::default(),
            width,
            rows: 0,
            suppressed: 0,
            row_bytes: 0,
            are_rows_spilled: false,
            values: workspace.budget("values"),
            workspace,
        }
    }

    /// Adds the survey of the next stream, and frees its memory. Reserves memory for its values.
    pub fn add(&mut self, stream: ChunkedSurvey) -> Result<(), OutOfCoreError> {
        let FinishedSurvey { values, keys, groups, rows } = stream.finish()?;
        self.add_surveyed(groups, values, rows)?;
        self.keys.push(keys);
        Ok(())
    }

    /// Adds the values and groups of a stream of `rows` rows that was surveyed elsewhere. Reserves memory for the values.
    pub fn add_surveyed(
        &mut self,
        groups: StreamGroups,
        seen: SurveyedValues,
        rows: u64,
    ) -> Result<(), OutOfCoreError> {
        self.rows += rows;
        self.suppressed += seen.suppressed();
        reserve(self.values.as_ref(), self.values.size() + seen.size(), VALUES)?;
        self.seen.push(seen);
        self.streams.push(groups);
        Ok(())
    }

    /// Records that the caller has buffered `bytes` bytes of rows, and whether they were spilled. If so, memory is left to
    /// state that can't be spilled.
    pub fn add_buffered_rows(&mut self, bytes: usize, are_spilled: bool) {
        self.row_bytes += bytes as u64;
        self.are_rows_spilled |= are_spilled;
    }

    /// Returns the number of rows surveyed.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of rows suppressed because of nulls.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Returns the size of the rows that the caller has buffered, in bytes.
    pub fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Returns whether the caller has spilled rows.
    pub fn are_rows_spilled(&self) -> bool {
        self.are_rows_spilled
    }

    /// Returns the number of surveyed columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of groups over all chunks. A group that occurs in several chunks counts several times.
    pub fn groups(&self) -> u64 {
        self.streams.iter().map(|stream| stream.count).sum()
    }

    /// Returns the groups of each stream.
    pub fn streams(&self) -> &[StreamGroups] {
        &self.streams
    }

    /// Returns the values of each stream, unless they were merged or taken.
    pub fn seen(&self) -> &[SurveyedValues] {
        &self.seen
    }

    /// Takes the values of the last stream.
    pub fn take_last_seen(&mut self) -> Option<SurveyedValues> {
        self.seen.pop()
    }

    /// Returns the memory, disk and time of the run.
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.workspace
    }

    /// Merges the values of all streams into domains, and drops them. Values that were spilled are ranked.
    ///
    /// Reserves memory to merge the values, and keeps that of the domains. If it is refused, the error says how much would
    /// be enough to group the rows.
    pub fn domains(&mut self) -> Result<Domains, OutOfCoreError> {
        let mut columns: BTreeMap<usize, Vec<StreamKeys>> = BTreeMap::new();
        for keys in std::mem::take(&mut self.keys).into_iter().flatten() {
            columns.entry(keys.column).or_default().push(keys);
        }
        let spilled = columns.into_values().map(|streams| rank_keys(streams, self.workspace.as_ref()));
        self.spilled = Arc::new(spilled.collect::<Result<_, _>>()?);
        let ranked: Vec<RankedKeys> = self.spilled.iter().map(|column| column.ranked).collect();
        let seen = std::mem::take(&mut self.seen);
        let (values, bytes) =
            seen.iter().fold((0, 0), |(values, bytes), seen| (values + seen.values(), bytes + seen.size()));
        let reserved = reserve(self.values.as_ref(), merging_bytes(values, bytes), VALUES);
        let of_domains = domain_bytes(values, bytes, self.groups() as usize, self.width);
        let least = || self.workspace.least_beside_rows(of_domains, self.row_bytes as usize);
        reserved.map_err(|error| error.replace_least(least))?;
        let domains = Domains::with_ranked(seen, &ranked)?;
        reserve(self.values.as_ref(), bytes + values * VALUE_BYTES, VALUES)?;
        Ok(domains)
    }

    /// Returns the columns whose values are not in memory, in order, once [`TableSurvey::domains`] has ranked them.
    pub(super) fn spilled(&self) -> &Arc<Vec<SpilledColumn>> {
        &self.spilled
    }

    /// Returns the memory of the distinct values, in bytes.
    pub(super) fn values_size(&self) -> usize {
        self.values.size()
    }

    /// Calls `then` with the number of the stream, the groups and the spilled values of every chunk, in the order of streams
    /// and chunks.
    pub(super) fn for_each_chunk<E: From<OutOfCoreError>>(
        &self,
        mut then: impl FnMut(usize, &[u32], &ChunkValues<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, stream) in self.streams.iter().enumerate() {
            let mut values = ChunkValues::of(&self.spilled, number)?;
            for chunk in stream.chunks.read()? {
                self.workspace.check()?;
                values.advance()?;
                then(number, &chunk?, &values)?;
            }
        }
        Ok(())
    }

    /// Calls `then` with every group of every chunk, as a tuple of domain positions and its number of rows, in the order of
    /// streams and chunks.
    pub fn for_each_group<E: From<OutOfCoreError>>(
        &self,
        domains: &Domains,
        mut then: impl FnMut(&[u32], u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut placed = vec![0; domains.width()];
        self.for_each_chunk(|stream, chunk, values| {
            counted(chunk, self.width).try_for_each(|(tuple, rows)| {
                domains.place_ranked(stream, &values.ranks, tuple, &mut placed);
                then(&placed, rows)
            })
        })
    }
}

/// Returns the tuples of a list, with their numbers of rows.
pub(super) fn counted(list: &[u32], width: usize) -> impl ExactSizeIterator<Item = (&[u32], u32)> {
    list.chunks_exact(width + 1).map(move |entry| (&entry[..width], entry[width]))
}

/// Returns the memory for merging distinct values of this size.
fn merging_bytes(values: usize, bytes: usize) -> usize {
    // Values are copied, ordered by an index if they are not numbers, and ranked. Then domains are built: coordinates in
    // two steps, and positions.
    let (ranking, building) = (3 * bytes + 12 * values, bytes + 24 * values);
    // Numbers are sorted in ranges: keys and indices, twice.
    ranking.max(building) + 32 * values.min(SORTED_TOGETHER)
}

/// Returns the memory until the rows of `width` surveyed columns are grouped, with distinct values of this size.
pub(super) fn domain_bytes(values: usize, bytes: usize, groups: usize, width: usize) -> usize {
    let grouped = groups.min(PartSizes::default().most_groups) * (size_of::<u32>() * width + GROUP_BYTES);
    merging_bytes(values, bytes).max(bytes + values * VALUE_BYTES + grouped)
}
