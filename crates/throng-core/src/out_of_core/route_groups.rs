//! Routes the groups of a table to the parts that it is cut into.

use rayon::prelude::*;

use super::spilled_values::ChunkValues;
use super::table_survey::counted;
use super::{ListWriter, OutOfCoreError, SharedQuota, StoredLists, TableSurvey, halves};
use crate::partition::RoutingTree;
use crate::survey::{CountedTuples, Domains};

/// Number of groups, over all parts, that are buffered in memory before they are appended to their part.
pub(super) const WAITING_GROUPS: usize = 1 << 17;

/// Groups of parts, and the part of each group of each chunk.
type RoutedGroups = (Vec<Box<dyn StoredLists<u32>>>, Box<dyn StoredLists<u32>>);

/// Appends every group to its part, as a tuple of domain positions and the keys of its spilled values, and returns the
/// groups of each part. Also returns the part of each group, one list per chunk.
pub(super) fn route(
    survey: &TableSurvey,
    domains: &Domains,
    tree: &RoutingTree,
) -> Result<RoutedGroups, OutOfCoreError> {
    let (workspace, quasi) = (survey.workspace(), domains.quasi.len());
    // If rows were spilled, memory is reserved for state that can't be spilled.
    let quota = SharedQuota::new(if survey.are_rows_spilled() { 0 } else { workspace.memory_for_rows() / 2 });
    let mut parts: Vec<_> = (0..tree.len()).map(|_| workspace.numbers("parts", &quota)).collect();
    let slices: Vec<usize> = domains.slices().collect();
    let width = domains.width() + 2 * slices.len();
    let mut waiting: Vec<CountedTuples> = vec![CountedTuples::new(width); tree.len()];
    let most = (WAITING_GROUPS / tree.len()).max(64);
    let mut part_of = workspace.numbers("parts of groups", &quota);
    survey.for_each_chunk(|stream, chunk, ChunkValues { ranks, keys, .. }| {
        let mut placed = vec![0; chunk.len() / (survey.width() + 1) * width];
        let of_group = |(group, placed): (&[u32], &mut [u32])| {
            domains.place_ranked(stream, ranks, group, placed);
            let of_keys = placed[domains.width()..].as_chunks_mut::<2>().0;
            for ((slot, column), keys) in of_keys.iter_mut().zip(&slices).zip(keys) {
                // Null has no key.
                *slot = halves(keys.get(group[*column] as usize).copied().unwrap_or(0));
            }
            tree.part(&placed[..quasi])
        };
        let groups = chunk.par_chunks_exact(survey.width() + 1);
        let of_chunk: Vec<u32> = groups.zip(placed.par_chunks_exact_mut(width)).map(of_group).collect();
        let tuples = placed.chunks_exact(width).zip(counted(chunk, survey.width()));
        for (part, (placed, (_, rows))) in of_chunk.iter().zip(tuples) {
            let part = *part as usize;
            waiting[part].push(placed, rows);
            if waiting[part].len() >= most {
                parts[part].push(waiting[part].to_numbers())?;
                waiting[part] = CountedTuples::new(width);
            }
        }
        part_of.push(of_chunk)
    })?;
    for (part, waiting) in parts.iter_mut().zip(&waiting).filter(|(_, waiting)| !waiting.is_empty()) {
        part.push(waiting.to_numbers())?;
    }
    let parts = parts.into_iter().map(ListWriter::finish).collect::<Result<_, _>>()?;
    Ok((parts, part_of.finish()?))
}
