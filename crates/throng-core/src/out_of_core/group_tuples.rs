//! Groups equal tuples of a table, or of a part of it, into a [`Table`].
//!
//! Sorting uses all threads, and hashing needs memory for distinct tuples alone. Both give the same table, so memory decides.

use super::memory::reserve;
use super::table_parts::GROUPS;
use super::table_survey::counted;
use super::{MemoryBudget, OutOfCoreError, StoredLists, TableSurvey, join_halves};
use crate::survey::{Domains, GroupedTable, HashGrouping, SortGrouping};
use crate::table::Table;

/// Maximum number of groups from chunks that are grouped by sorting at once. The result does not depend on it.
const MAX_SORTED: usize = 1 << 24;

/// Memory per group, besides its tuple, while groups are counted, put in order and sliced.
const GROUPING_BYTES: usize = 128;

/// Columns, positions and keys of values, by which domains are sliced.
type Slices = Vec<(usize, Vec<u32>, Vec<u64>)>;

/// Groups all rows, or a sample of the cells if there are more than `most` groups. Reserves the memory of what it returns
/// in `memory`; fails if that is refused.
pub(super) fn group_all(
    survey: &TableSurvey,
    domains: &Domains,
    most: usize,
    memory: &dyn MemoryBudget,
) -> Result<GroupedTable, OutOfCoreError> {
    let groups = survey.groups() as usize;
    match survey.spilled().is_empty() && groups <= MAX_SORTED && can_sort(memory, groups, domains) {
        true => sort_all(survey, domains, most),
        false => hash_all(survey, domains, most, memory),
    }
}

/// Groups the tuples of a part. Returns the table, and for each tuple its group in the table. Reserves their memory in
/// `memory`; fails if that is refused.
pub(super) fn group_stored(
    stored: &dyn StoredLists<u32>,
    domains: &Domains,
    memory: &dyn MemoryBudget,
) -> Result<(Table, Vec<u32>), OutOfCoreError> {
    let tuples = stored.bytes() / ((domains.width() + 1) * size_of::<u32>());
    let has_slices = domains.slices().next().is_some();
    if stored.is_spilled() || has_slices || !can_sort(memory, tuples, domains) {
        return hash_stored(stored, domains, memory);
    }
    let mut grouping = SortGrouping::with_room_for(tuples, domains);
    for list in stored.read()? {
        grouping.add_placed(&list?);
    }
    let GroupedTable { table, groups, .. } = grouping.table(domains, usize::MAX)?;
    Ok((table, groups.unwrap_or_default()))
}

/// Reserves the memory to sort this many groups. Returns whether it could be reserved.
fn can_sort(memory: &dyn MemoryBudget, groups: usize, domains: &Domains) -> bool {
    memory.try_resize(groups * SortGrouping::group_bytes(domains)).is_ok()
}

fn sort_all(survey: &TableSurvey, domains: &Domains, most: usize) -> Result<GroupedTable, OutOfCoreError> {
    let mut grouping = SortGrouping::with_room_for(survey.groups() as usize, domains);
    survey.for_each_chunk::<OutOfCoreError>(|stream, chunk, _| {
        grouping.add(domains, stream, survey.width(), chunk);
        Ok(())
    })?;
    Ok(grouping.table(domains, most)?)
}

fn hash_all(
    survey: &TableSurvey,
    domains: &Domains,
    most: usize,
    memory: &dyn MemoryBudget,
) -> Result<GroupedTable, OutOfCoreError> {
    let mut grouping = HashGrouping::new(domains, most);
    // The memory of all groups or of their largest sample, so that an out-of-memory error reports enough at once.
    let all = (survey.groups() as usize).min(most) * (domains.width() * size_of::<u32>() + GROUPING_BYTES);
    let least = (all + survey.values_size()) as u64;
    let (mut numbers, mut count) = (Vec::new(), 0);
    survey.for_each_group(domains, |placed, rows| {
        numbers.extend(grouping.add(placed, rows)?);
        count += 1;
        if !grouping.is_exact() {
            numbers = Vec::new();
        }
        if count % 8192 == 0 {
            let reserved = reserve(memory, grouping.size() + numbers.capacity() * 4, GROUPS);
            reserved.map_err(|error| error.with_least(least))?;
        }
        Ok::<_, OutOfCoreError>(())
    })?;
    // Memory for the table and its sort permutation.
    let reserved = reserve(memory, grouping.size() + grouping.len() * (domains.width() * 4 + 32), GROUPS);
    reserved.map_err(|error| error.with_least(least))?;
    let slices = sample_slices(survey, domains, &grouping, memory)?;
    let (is_exact, share) = (grouping.is_exact(), grouping.share());
    let (table, numbers) = table_of(grouping, domains, &slices, numbers)?;
    Ok(GroupedTable { table, groups: is_exact.then_some(numbers), share })
}

/// Groups the tuples of a part by hashing. The same group may be routed to a part from many chunks, so the memory is that of
/// distinct groups, and of a number per tuple.
fn hash_stored(
    stored: &dyn StoredLists<u32>,
    domains: &Domains,
    memory: &dyn MemoryBudget,
) -> Result<(Table, Vec<u32>), OutOfCoreError> {
    let (mut grouping, width) = (HashGrouping::new(domains, usize::MAX), domains.width());
    let mut numbers = Vec::new();
    let mut values: Vec<PartValues> = domains.slices().map(PartValues::new).collect();
    for list in stored.read()? {
        for (tuple, rows) in counted(&list?, width + 2 * values.len()) {
            let (tuple, keys) = tuple.split_at(width);
            numbers.extend(grouping.add(tuple, rows)?);
            for (values, halves) in values.iter_mut().zip(keys.as_chunks::<2>().0) {
                values.push(tuple, join_halves(*halves));
            }
        }
        let of_values: usize = values.iter().map(PartValues::size).sum();
        reserve(memory, grouping.size() + numbers.capacity() * size_of::<u32>() + of_values, GROUPS)?;
    }
    // Memory for the table and its sort permutation, and for the values and coordinates of a slice.
    let group_bytes = width * size_of::<u32>() + 32 + 24 * values.len();
    reserve(memory, memory.size() + grouping.len() * group_bytes, GROUPS)?;
    let slices: Slices = values.into_iter().map(|values| values.finish(domains)).collect();
    table_of(grouping, domains, &slices, numbers)
}

/// Builds the table of a grouping in slices of the domains, and replaces numbers of the grouping by groups of the table.
fn table_of(
    grouping: HashGrouping,
    domains: &Domains,
    slices: &Slices,
    mut numbers: Vec<u32>,
) -> Result<(Table, Vec<u32>), OutOfCoreError> {
    let (table, rank) = match slices.is_empty() {
        true => grouping.table(domains),
        false => grouping.table(&domains.sliced(slices)?),
    };
    drop(grouping);
    numbers.iter_mut().for_each(|number| *number = rank[*number as usize]);
    Ok((table, numbers))
}

/// Returns the slices of domains that a sample of cells needs.
fn sample_slices(
    survey: &TableSurvey,
    domains: &Domains,
    sample: &HashGrouping,
    memory: &dyn MemoryBudget,
) -> Result<Slices, OutOfCoreError> {
    let mut slices = Slices::new();
    for (column, spilled) in domains.slices().zip(survey.spilled().iter()) {
        let Some(whole) = domains.quasi[column].domain.slice().map(|slice| slice.whole()) else { continue };
        // Positions, keys, values and coordinates.
        reserve(memory, memory.size() + sample.len() * 28, GROUPS)?;
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
