//! Groups of a snapshot, in parts that each fit into memory.
//!
//! ```text
//!  groups, chunk by chunk ──► place ──► Grouping ──► all cells, or a sample ──► thresholds (Parts)
//!            │                                                                      │
//!            └──────────────► place ─────────────────────────────────► route ◄──────┘
//!                                                                        │
//!                                                                        ▼
//!                                                           the groups of each part, all of them
//! ```
//!
//! Up to [`PartSizes::most_groups`] groups form one part. Beyond that, a sample of the cells determines where the table
//! is cut, and every group is routed to its part. The choice depends on the data alone, and so does the release; memory
//! only determines what is spilled.
//!
//! If the values of a column are not in memory ([`crate::spilled_values`]), groups are placed by ranks, the keys of their values
//! accompany them to their part, and each table has a slice of the domain.

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryReservation;
use rayon::prelude::*;
use throng_core::anonymize::{Method, PartitionChoice};
use throng_core::model::Privacy;
use throng_core::partition::RoutingTree;
use throng_core::survey::{CountedTuples, Domains, GroupedTable, HashGrouping, SortGrouping};
use throng_core::table::Table;

use crate::AnonymizeError;
use crate::buffered_rows::numbers;
use crate::rank_keys::{halves, joined};
use crate::resources::{Resources, reserve};
use crate::snapshot::{Snapshot, number_batch, pack, tuple_schema, unpack};
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};
use crate::spilled_values::ChunkValues;

/// Threshold above which a table is cut into parts, and the size of parts. The same for every table, since the release
/// depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartSizes {
    /// Maximum number of groups in a table that is not cut.
    pub(crate) most_groups: usize,
    /// Approximate number of cells per part.
    pub(crate) part_cells: usize,
    /// Whether blocks are classes, so that the table is cut between them, and nowhere else.
    pub(crate) between_blocks: bool,
}

impl Default for PartSizes {
    fn default() -> Self {
        Self { most_groups: 1 << 20, part_cells: 1 << 17, between_blocks: false }
    }
}

/// Maximum number of parts: each is an open file. Tables of more cells have larger parts.
const MAX_PARTS: f64 = 512.0;

/// Number of groups, over all parts, that are buffered in memory before they are appended to their part.
const WAITING_GROUPS: usize = 1 << 17;

/// Maximum number of groups from chunks that are grouped by sorting at once. The result does not depend on it.
const MAX_GATHERED: usize = 1 << 24;

/// Memory per group, besides its tuple, while the classes of a part are formed.
const FORMING_BYTES: usize = 64;

/// Memory per group, besides its tuple, while groups are counted, put in order and sliced.
const GROUPING_BYTES: usize = 128;

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "the distinct combinations of quasi-identifiers";

/// Groups of all rows.
pub(crate) struct Groups {
    pub(crate) domains: Domains,
    parts: Vec<GroupedPart>,
    /// Part of each group of each chunk, in the order of streams and chunks, if there are several parts.
    part_of: Option<BufferedBatches>,
    /// Number of groups over all chunks. A group that occurs in several chunks counts several times.
    pub(crate) count: u64,
    workspace: Resources,
    _reservation: MemoryReservation,
}

/// Groups of one part.
enum GroupedPart {
    /// The table, and for each group from a chunk its group in the table.
    Whole(Table, Vec<u32>),
    /// Tuples of domain positions in arrival order, each with the keys of its spilled values.
    Stored(BufferedBatches),
}

impl Groups {
    /// Groups the rows of a snapshot. Fails if there are none.
    pub(crate) fn of(
        snapshot: &mut Snapshot,
        method: Method,
        privacy: &Privacy,
        sizes: PartSizes,
    ) -> Result<Self, AnonymizeError> {
        if snapshot.rows == snapshot.suppressed {
            return Err(throng_core::CoreError::NoRows { suppressed: snapshot.suppressed }.into());
        }
        let domains = snapshot.domains()?;
        Self::in_domains(snapshot, domains, method, privacy, sizes)
    }

    /// Groups the rows of a non-empty snapshot in known domains.
    pub(crate) fn in_domains(
        snapshot: &Snapshot,
        domains: Domains,
        method: Method,
        privacy: &Privacy,
        sizes: PartSizes,
    ) -> Result<Self, AnonymizeError> {
        let reservation = snapshot.workspace.reservation("groups");
        // Only Mondrian starts with cuts that can be made on a sample, and only for models that further rows can't break.
        // Everything else needs the whole table, unless its classes are given.
        let starts_with_cuts = method.partition == PartitionChoice::Mondrian || sizes.between_blocks;
        let is_cut = starts_with_cuts && privacy.is_closed_under_adding_rows();
        let most = if is_cut && !privacy.needs_release() { sizes.most_groups } else { usize::MAX };
        if let Some(grouped) = gathered(snapshot, &domains, most, &reservation)? {
            return Self::new(snapshot, domains, grouped, privacy, sizes, reservation);
        }
        let mut grouping = HashGrouping::new(&domains, most);
        // The memory of all groups or of their largest sample, so that an out-of-memory error reports enough at once.
        let all = (count_of(snapshot, most) * (domains.width() * size_of::<u32>() + GROUPING_BYTES)) as u64;
        let least = all + snapshot.values_size() as u64;
        let (mut numbers, mut count) = (Vec::new(), 0);
        for_each_group(snapshot, &domains, |placed, rows| {
            numbers.extend(grouping.add(placed, rows)?);
            count += 1;
            if !grouping.is_exact() {
                numbers = Vec::new();
            }
            if count % 8192 == 0 {
                let reserved = reserve(&reservation, grouping.size() + numbers.capacity() * 4, WHAT);
                reserved.map_err(|error| error.with_least(|| Some(least)))?;
            }
            Ok(())
        })?;
        // Memory for the table and its sort permutation.
        let reserved = reserve(&reservation, grouping.size() + grouping.len() * (domains.width() * 4 + 32), WHAT);
        reserved.map_err(|error| error.with_least(|| Some(least)))?;
        let slices = sample_slices(snapshot, &domains, &grouping, &reservation)?;
        let (table, rank) = match slices.is_empty() {
            true => grouping.table(&domains),
            false => grouping.table(&domains.sliced(&slices)?),
        };
        let (is_exact, share) = (grouping.is_exact(), grouping.share());
        drop(grouping);
        numbers.iter_mut().for_each(|number| *number = rank[*number as usize]);
        let grouped = GroupedTable { table, groups: is_exact.then_some(numbers), share };
        Self::new(snapshot, domains, grouped, privacy, sizes, reservation)
    }

    /// Creates one part, or cuts the groups into parts if `grouped` is only a sample.
    fn new(
        snapshot: &Snapshot,
        mut domains: Domains,
        grouped: GroupedTable,
        privacy: &Privacy,
        sizes: PartSizes,
        reservation: MemoryReservation,
    ) -> Result<Self, AnonymizeError> {
        let GroupedTable { table, groups, share } = grouped;
        let count = snapshot.groups();
        if let Some(numbers) = groups {
            let size = table.group_count() * (domains.width() * 4 + 16) + numbers.len() * 4;
            reserve(&reservation, size, WHAT)?;
            return Ok(Self {
                domains,
                parts: vec![GroupedPart::Whole(table, numbers)],
                part_of: None,
                count,
                workspace: snapshot.workspace.clone(),
                _reservation: reservation,
            });
        }
        let part_cells = (sizes.part_cells as f64 * share).max(table.cell_count() as f64 / MAX_PARTS);
        let parts = match sizes.between_blocks {
            true => RoutingTree::between_blocks(&table, part_cells as usize),
            false => RoutingTree::of(&table, privacy, part_cells as usize),
        };
        let parts = parts.in_whole(&table);
        drop(table);
        tracing::info!(parts = parts.len(), "too many combinations to be looked at as a whole; cut into parts");
        reserve(&reservation, WAITING_GROUPS * (domains.width() + 2 * snapshot.spilled().len() + 1) * 8, WHAT)?;
        let (parts, part_of) = route(snapshot, &domains, &parts)?;
        // Many groups of few cells are one part, which is like a table that is not cut.
        let part_of = (parts.len() > 1).then_some(part_of);
        if part_of.is_some() {
            domains.forget_numbers();
        }
        Ok(Self { domains, parts, part_of, count, workspace: snapshot.workspace.clone(), _reservation: reservation })
    }

    /// Returns the number of parts.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the table of a part, and for each group from a chunk its group in the table. Must be called at most once
    /// per part.
    pub(crate) fn part(&mut self, part: usize) -> Result<(Table, Vec<u32>, Option<MemoryReservation>), AnonymizeError> {
        let gone = GroupedPart::Whole(Table::empty(&self.domains), Vec::new());
        match std::mem::replace(&mut self.parts[part], gone) {
            GroupedPart::Whole(table, numbers) => Ok((table, numbers, None)),
            GroupedPart::Stored(stored) => {
                let room = self.workspace.reservation("part");
                let (table, numbers) = self.grouped(&stored, &room)?;
                let group_bytes = size_of::<u32>() * self.domains.width() + FORMING_BYTES;
                reserve(&room, table.group_count() * group_bytes + numbers.len() * size_of::<u32>(), WHAT)?;
                Ok((table, numbers, Some(room)))
            }
        }
    }

    /// Groups the tuples of a part: by sorting, which uses all threads, if there is memory for all of them.
    fn grouped(&self, stored: &BufferedBatches, room: &MemoryReservation) -> Result<(Table, Vec<u32>), AnonymizeError> {
        let width = self.domains.width();
        let tuples = stored.bytes() / ((width + 1) * size_of::<u32>());
        let has_slices = self.domains.slices().next().is_some();
        if stored.is_spilled() || has_slices || !has_room(room, tuples, &self.domains) {
            return self.hashed(stored, room);
        }
        let (mut grouping, mut batches) = (SortGrouping::with_room_for(tuples, &self.domains), stored.read()?);
        while let Some(batch) = batches.next()? {
            grouping.add_placed(numbers(&batch));
        }
        let GroupedTable { table, groups, .. } = grouping.table(&self.domains, usize::MAX)?;
        Ok((table, groups.unwrap_or_default()))
    }

    /// Groups the tuples of a part by hashing. The same group may be routed to a part from many chunks, so the memory is that of
    /// distinct groups, and of a number per tuple.
    fn hashed(&self, stored: &BufferedBatches, room: &MemoryReservation) -> Result<(Table, Vec<u32>), AnonymizeError> {
        let (mut grouping, width) = (HashGrouping::new(&self.domains, usize::MAX), self.domains.width());
        let (mut numbers, mut batches) = (Vec::new(), stored.read()?);
        let mut values: Vec<PartValues> = self.domains.slices().map(PartValues::new).collect();
        while let Some(batch) = batches.next()? {
            for (tuple, rows) in unpack(&batch, width + 2 * values.len()) {
                let (tuple, keys) = tuple.split_at(width);
                numbers.extend(grouping.add(tuple, rows)?);
                for (values, [low, high]) in values.iter_mut().zip(keys.as_chunks::<2>().0) {
                    values.push(tuple, joined(*low, *high));
                }
            }
            let of_values: usize = values.iter().map(PartValues::size).sum();
            reserve(room, grouping.size() + numbers.capacity() * size_of::<u32>() + of_values, WHAT)?;
        }
        // Memory for the table and its sort permutation, and for the values and coordinates of a slice.
        let group_bytes = width * size_of::<u32>() + 32 + 24 * values.len();
        reserve(room, room.size() + grouping.len() * group_bytes, WHAT)?;
        let slices = values.into_iter().map(|values| values.finish(&self.domains)).collect::<Vec<_>>();
        let (table, rank) = match slices.is_empty() {
            true => grouping.table(&self.domains),
            false => grouping.table(&self.domains.sliced(&slices)?),
        };
        numbers.iter_mut().for_each(|number| *number = rank[*number as usize]);
        Ok((table, numbers))
    }

    /// Returns the tuples of a part, to form its classes in another task. Fails if there is only one part.
    pub(crate) fn tuples(&self, part: usize) -> Result<CountedTuples, AnonymizeError> {
        match &self.parts[part] {
            // Remote tasks have the whole domains.
            GroupedPart::Stored(stored) if self.domains.slices().next().is_none() => {
                tuples(stored, self.domains.width())
            }
            _ => Err(AnonymizeError::Task),
        }
    }

    /// Takes the part of each group of each chunk, one batch per chunk, in the order of streams and chunks. `None` if
    /// there is only one part.
    pub(crate) fn take_part_of(&mut self) -> Option<BufferedBatches> {
        self.part_of.take()
    }
}

/// Returns the number of groups that are kept of a snapshot, at most.
fn count_of(snapshot: &Snapshot, most: usize) -> usize {
    (snapshot.groups() as usize).min(most)
}

/// Columns, positions and keys of values, by which domains are sliced.
type Slices = Vec<(usize, Vec<u32>, Vec<u64>)>;

/// Returns the slices of domains that a sample of cells needs.
fn sample_slices(
    snapshot: &Snapshot,
    domains: &Domains,
    sample: &HashGrouping,
    reservation: &MemoryReservation,
) -> Result<Slices, AnonymizeError> {
    let mut slices = Slices::new();
    for (column, spilled) in domains.slices().zip(snapshot.spilled().iter()) {
        let Some(whole) = domains.quasi[column].domain.slice().map(|slice| slice.whole()) else { continue };
        // Positions, keys, values and coordinates.
        reserve(reservation, reservation.size() + sample.len() * 28, WHAT)?;
        let mut positions = sample.positions(column);
        positions.retain(|position| whole.rank(*position).is_some());
        let keys = spilled.keys_at(positions.iter().filter_map(|position| whole.rank(*position)))?;
        slices.push((column, positions, keys));
    }
    Ok(slices)
}

/// Values of one column that occur in a part, with their positions in the whole domain.
struct PartValues {
    column: usize,
    values: Vec<(u32, u64)>,
}

impl PartValues {
    fn new(column: usize) -> Self {
        Self { column, values: Vec::new() }
    }

    fn push(&mut self, tuple: &[u32], key: u64) {
        self.values.push((tuple[self.column], key));
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<(u32, u64)>()
    }

    /// Returns the column, and the distinct positions and keys, ascending and without null.
    fn finish(self, domains: &Domains) -> (usize, Vec<u32>, Vec<u64>) {
        let Self { column, mut values } = self;
        let whole = domains.quasi[column].domain.slice().map(|slice| slice.whole());
        values.retain(|(position, _)| whole.is_some_and(|whole| whole.rank(*position).is_some()));
        values.sort_unstable();
        values.dedup();
        let (positions, keys) = values.into_iter().unzip();
        (column, positions, keys)
    }
}

fn tuples(stored: &BufferedBatches, width: usize) -> Result<CountedTuples, AnonymizeError> {
    let mut tuples = CountedTuples::new(width);
    let mut batches = stored.read()?;
    while let Some(batch) = batches.next()? {
        unpack(&batch, width).for_each(|(tuple, rows)| tuples.push(tuple, rows));
    }
    Ok(tuples)
}

/// Reserves the memory to sort this many groups. Returns whether it could be reserved.
fn has_room(reservation: &MemoryReservation, groups: usize, domains: &Domains) -> bool {
    reservation.try_resize(groups * SortGrouping::group_bytes(domains)).is_ok()
}

/// Groups by sorting. Returns `None` if there are too many groups, or too little memory.
fn gathered(
    snapshot: &Snapshot,
    domains: &Domains,
    most: usize,
    reservation: &MemoryReservation,
) -> Result<Option<GroupedTable>, AnonymizeError> {
    let groups = snapshot.groups() as usize;
    if !snapshot.spilled().is_empty() {
        return Ok(None);
    }
    if groups > MAX_GATHERED || !has_room(reservation, groups, domains) {
        return Ok(None);
    }
    let mut gathered = SortGrouping::with_room_for(groups, domains);
    for (number, stream) in snapshot.streams.iter().enumerate() {
        let mut chunks = stream.groups.read()?;
        while let Some(chunk) = chunks.next()? {
            snapshot.workspace.check()?;
            gathered.add(domains, number, snapshot.width(), numbers(&chunk));
        }
    }
    Ok(Some(gathered.table(domains, most)?))
}

/// Calls `then` with the number of the stream, the groups and the spilled values of every chunk, in the order of streams and
/// chunks.
fn for_each_chunk(
    snapshot: &Snapshot,
    mut then: impl FnMut(usize, &RecordBatch, &ChunkValues<'_>) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    for (number, stream) in snapshot.streams.iter().enumerate() {
        let (mut chunks, mut values) = (stream.groups.read()?, ChunkValues::of(snapshot.spilled(), number)?);
        while let Some(chunk) = chunks.next()? {
            snapshot.workspace.check()?;
            values.advance()?;
            then(number, &chunk, &values)?;
        }
    }
    Ok(())
}

/// Calls `then` with every group of every chunk, as a tuple of domain positions and its number of rows, in the order of
/// streams and chunks.
pub(crate) fn for_each_group(
    snapshot: &Snapshot,
    domains: &Domains,
    mut then: impl FnMut(&[u32], u32) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    let mut placed = vec![0; domains.width()];
    for_each_chunk(snapshot, |stream, chunk, values| {
        unpack(chunk, snapshot.width()).try_for_each(|(tuple, rows)| {
            domains.place_ranked(stream, &values.ranks, tuple, &mut placed);
            then(&placed, rows)
        })
    })
}

/// Appends every group to its part, and returns the part of each, one batch per chunk.
fn route(
    snapshot: &Snapshot,
    domains: &Domains,
    parts: &RoutingTree,
) -> Result<(Vec<GroupedPart>, BufferedBatches), AnonymizeError> {
    let (workspace, quasi) = (&snapshot.workspace, domains.quasi.len());
    // If rows were spilled, memory is reserved for state that can't be spilled.
    let allowance = SharedQuota::new(if snapshot.is_spilled() { 0 } else { workspace.memory_for_rows() / 2 });
    let store = |name| SpillBuffer::new(workspace, tuple_schema(), &allowance, name);
    let mut stores: Vec<SpillBuffer> = (0..parts.len()).map(|_| store("parts")).collect();
    let slices: Vec<usize> = domains.slices().collect();
    let width = domains.width() + 2 * slices.len();
    let mut waiting: Vec<CountedTuples> = vec![CountedTuples::new(width); parts.len()];
    let most = (WAITING_GROUPS / parts.len()).max(64);
    let mut part_of = store("parts of groups");
    for_each_chunk(snapshot, |stream, chunk, values| {
        let (groups, ChunkValues { ranks, keys, .. }) = (numbers(chunk), values);
        let mut placed = vec![0; groups.len() / (snapshot.width() + 1) * width];
        let of_group = |(group, placed): (&[u32], &mut [u32])| {
            domains.place_ranked(stream, ranks, group, placed);
            let of_keys = placed[domains.width()..].as_chunks_mut::<2>().0;
            for ((slot, column), keys) in of_keys.iter_mut().zip(&slices).zip(keys) {
                // Null has no key.
                *slot = halves(keys.get(group[*column] as usize).copied().unwrap_or(0));
            }
            parts.part(&placed[..quasi])
        };
        let groups = groups.par_chunks_exact(snapshot.width() + 1);
        let of_chunk: Vec<u32> = groups.zip(placed.par_chunks_exact_mut(width)).map(of_group).collect();
        let tuples = placed.chunks_exact(width).zip(unpack(chunk, snapshot.width()));
        for (part, (placed, (_, rows))) in of_chunk.iter().zip(tuples) {
            let part = *part;
            let waiting = &mut waiting[part as usize];
            waiting.push(placed, rows);
            if waiting.len() >= most {
                stores[part as usize].push(pack(waiting)?)?;
                *waiting = CountedTuples::new(width);
            }
        }
        part_of.push(number_batch(of_chunk)?)
    })?;
    for (store, waiting) in stores.iter_mut().zip(&waiting).filter(|(_, waiting)| !waiting.is_empty()) {
        store.push(pack(waiting)?)?;
    }
    let stored = stores.into_iter().map(|store| Ok(GroupedPart::Stored(store.finish()?)));
    Ok((stored.collect::<Result<_, AnonymizeError>>()?, part_of.finish()?))
}
