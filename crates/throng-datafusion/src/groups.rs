//! The groups of a snapshot, in parts that can each be looked at as a whole.
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
//! Up to [`PartSizes::most_groups`] groups are one part. Beyond that a sample of the cells decides where the table is cut, and every
//! group goes to its part. Which of the two it is depends on the data alone, and so does everything that follows: memory
//! decides only what is spilled meanwhile.

use datafusion::execution::memory_pool::MemoryReservation;
use throng_core::anonymize::{Method, PartitionChoice};
use throng_core::model::Privacy;
use throng_core::partition::RoutingTree;
use throng_core::survey::{CountedTuples, Domains, GroupedTable, HashGrouping, SortGrouping};
use throng_core::table::Table;

use crate::AnonymizeError;
use crate::buffered_rows::numbers;
use crate::resources::{Resources, reserve};
use crate::snapshot::{Snapshot, pack, tuple_schema, unpack};
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};

/// When a table is cut into parts, and how large they are. The same for every table: the release depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartSizes {
    /// The most groups that are looked at as a whole.
    pub(crate) most_groups: usize,
    /// About so many cells make a part.
    pub(crate) part_cells: usize,
}

impl Default for PartSizes {
    fn default() -> Self {
        Self { most_groups: 1 << 20, part_cells: 1 << 17 }
    }
}

/// So many groups, over all parts, wait in memory before they are stored with their part.
const WAITING_GROUPS: usize = 1 << 17;

/// Up to so many groups that the chunks have handed out are sorted at once. The result is the same either way.
const MOST_GATHERED: usize = 1 << 22;

/// What runs out when groups don't fit.
const WHAT: &str = "the distinct combinations of quasi-identifiers";

/// The groups of all rows.
pub(crate) struct Groups {
    pub(crate) domains: Domains,
    parts: Vec<GroupedPart>,
    /// For each group of each chunk, in the order of streams and chunks, the part to which it goes.
    part_of: Option<Vec<u32>>,
    /// Groups that the chunks have handed out. One of them may be in several chunks.
    pub(crate) count: u64,
    workspace: Resources,
    _reservation: MemoryReservation,
}

/// The groups of one part.
enum GroupedPart {
    /// The table, and for each group that came from a chunk the group of the table.
    Whole(Table, Vec<u32>),
    /// Placed tuples in the order in which they came.
    Stored(BufferedBatches),
}

impl Groups {
    /// Groups the rows of a snapshot.
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

    /// Groups the rows of a snapshot, which has some, once its domains are known.
    pub(crate) fn in_domains(
        snapshot: &Snapshot,
        domains: Domains,
        method: Method,
        privacy: &Privacy,
        sizes: PartSizes,
    ) -> Result<Self, AnonymizeError> {
        let reservation = snapshot.workspace.reservation("groups");
        // Only Mondrian begins with cuts of its own accord; other methods look at the whole table.
        let most = if method.partition == PartitionChoice::Mondrian { sizes.most_groups } else { usize::MAX };
        if let Some(grouped) = gathered(snapshot, &domains, most, &reservation)? {
            return Self::new(snapshot, domains, grouped, privacy, sizes, reservation);
        }
        let mut grouping = HashGrouping::new(&domains, most);
        let (mut numbers, mut count) = (Vec::new(), 0);
        for_each_group(snapshot, &domains, |placed, rows| {
            numbers.extend(grouping.add(placed, rows)?);
            count += 1;
            if !grouping.is_exact() {
                numbers = Vec::new();
            }
            if count % 8192 == 0 {
                reserve(&reservation, grouping.size() + numbers.capacity() * 4, WHAT)?;
            }
            Ok(())
        })?;
        // Of the table, and of its order.
        reserve(&reservation, grouping.size() + grouping.len() * (domains.width() * 4 + 32), WHAT)?;
        let (table, rank) = grouping.table(&domains);
        let (is_exact, share) = (grouping.is_exact(), grouping.share());
        drop(grouping);
        numbers.iter_mut().for_each(|number| *number = rank[*number as usize]);
        let grouped = GroupedTable { table, groups: is_exact.then_some(numbers), share };
        Self::new(snapshot, domains, grouped, privacy, sizes, reservation)
    }

    /// One part, or as many as a sample tells.
    fn new(
        snapshot: &Snapshot,
        domains: Domains,
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
        let parts = RoutingTree::of(&table, privacy, (sizes.part_cells as f64 * share) as usize);
        drop(table);
        tracing::info!(parts = parts.len(), "too many combinations to be looked at as a whole; cut into parts");
        reserve(&reservation, count as usize * 8, WHAT)?;
        let (parts, part_of) = route(snapshot, &domains, &parts)?;
        Ok(Self {
            domains,
            parts,
            part_of: Some(part_of),
            count,
            workspace: snapshot.workspace.clone(),
            _reservation: reservation,
        })
    }

    /// How many parts there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The table of a part, and for each group that came from a chunk the group of the table. To be asked for once.
    pub(crate) fn part(&mut self, part: usize) -> Result<(Table, Vec<u32>, Option<MemoryReservation>), AnonymizeError> {
        let gone = GroupedPart::Whole(Table::empty(&self.domains), Vec::new());
        match std::mem::replace(&mut self.parts[part], gone) {
            GroupedPart::Whole(table, numbers) => Ok((table, numbers, None)),
            GroupedPart::Stored(stored) => {
                // The tuples, what finds them again, and the table.
                let room = self.workspace.reservation("part");
                reserve(&room, 4 * stored.bytes(), WHAT)?;
                let tuples = tuples(&stored, self.domains.width())?;
                let (table, numbers) = HashGrouping::of(&self.domains, &tuples)?;
                Ok((table, numbers, Some(room)))
            }
        }
    }

    /// The tuples of a part for somebody who forms its classes elsewhere, where there are several parts.
    pub(crate) fn tuples(&self, part: usize) -> Result<CountedTuples, AnonymizeError> {
        match &self.parts[part] {
            GroupedPart::Stored(stored) => tuples(stored, self.domains.width()),
            GroupedPart::Whole(..) => Err(AnonymizeError::Task),
        }
    }

    /// For each group of each chunk, in the order of streams and chunks, its group over all parts; `of_part` has the
    /// groups of each part in the order in which they came to it, numbered over all parts.
    pub(crate) fn in_order(&self, of_part: Vec<Vec<u32>>) -> Vec<u32> {
        match &self.part_of {
            None => of_part.into_iter().next().unwrap_or_default(),
            Some(part_of) => {
                let mut next: Vec<_> = of_part.iter().map(|groups| groups.iter()).collect();
                part_of.iter().filter_map(|part| next[*part as usize].next().copied()).collect()
            }
        }
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

/// All groups sorted at once; none where there are too many for that.
fn gathered(
    snapshot: &Snapshot,
    domains: &Domains,
    most: usize,
    reservation: &MemoryReservation,
) -> Result<Option<GroupedTable>, AnonymizeError> {
    let groups = snapshot.groups() as usize;
    if groups > MOST_GATHERED || reservation.try_resize(groups * SortGrouping::group_bytes(domains)).is_err() {
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

/// Calls with every group of every chunk, placed, and its rows; in the order of streams and chunks.
pub(crate) fn for_each_group(
    snapshot: &Snapshot,
    domains: &Domains,
    mut then: impl FnMut(&[u32], u32) -> Result<(), AnonymizeError>,
) -> Result<(), AnonymizeError> {
    let width = snapshot.width();
    let mut placed = vec![0; domains.width()];
    for (number, stream) in snapshot.streams.iter().enumerate() {
        let mut chunks = stream.groups.read()?;
        while let Some(chunk) = chunks.next()? {
            snapshot.workspace.check()?;
            for (tuple, rows) in unpack(&chunk, width) {
                domains.place(number, tuple, &mut placed);
                then(&placed, rows)?;
            }
        }
    }
    Ok(())
}

/// Stores every group with its part, and tells the part of each.
fn route(
    snapshot: &Snapshot,
    domains: &Domains,
    parts: &RoutingTree,
) -> Result<(Vec<GroupedPart>, Vec<u32>), AnonymizeError> {
    let (workspace, quasi) = (&snapshot.workspace, domains.quasi.len());
    let allowance = SharedQuota::new(workspace.memory_for_rows() / 2);
    let store = || SpillBuffer::new(workspace, tuple_schema(), &allowance, "parts");
    let mut stores: Vec<SpillBuffer> = (0..parts.len()).map(|_| store()).collect();
    let mut waiting: Vec<CountedTuples> = vec![CountedTuples::new(domains.width()); parts.len()];
    let most = (WAITING_GROUPS / parts.len()).max(64);
    let mut part_of = Vec::new();
    for_each_group(snapshot, domains, |placed, rows| {
        let part = parts.part(&placed[..quasi]);
        part_of.push(part);
        let waiting = &mut waiting[part as usize];
        waiting.push(placed, rows);
        if waiting.len() >= most {
            stores[part as usize].push(pack(waiting)?)?;
            *waiting = CountedTuples::new(domains.width());
        }
        Ok(())
    })?;
    for (store, waiting) in stores.iter_mut().zip(&waiting).filter(|(_, waiting)| !waiting.is_empty()) {
        store.push(pack(waiting)?)?;
    }
    let stored = stores.into_iter().map(|store| Ok(GroupedPart::Stored(store.finish()?)));
    Ok((stored.collect::<Result<_, AnonymizeError>>()?, part_of))
}
