//! Splits a leaf for which no threshold is allowed: of the cells of each sensitive value, the lower half goes left.
//!
//! The bounding boxes of the two sides overlap, which costs some loss, but both sides keep the mix of sensitive values,
//! which every cut would have destroyed.

use rustc_hash::FxHashMap;

use crate::model::Privacy;
use crate::table::Table;

/// Splits cells along a column within each sensitive value; `None` if a side would not satisfy the model.
pub(super) fn halves(cells: &[u32], table: &Table, privacy: &Privacy, column: usize) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut order: Vec<u32> = cells.to_vec();
    order.sort_by_key(|cell| (table.positions(*cell)[column], *cell));
    let mut index_of: FxHashMap<&[u32], usize> = FxHashMap::default();
    let mut strata: Vec<Vec<u32>> = Vec::new();
    for cell in order {
        let index = *index_of.entry(stratum(table, cell)).or_insert(strata.len());
        if index == strata.len() {
            strata.push(Vec::new());
        }
        strata[index].push(cell);
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (index, members) in strata.iter().enumerate() {
        // Strata of odd size favour the sides alternately.
        let middle = (members.len() + index % 2) / 2;
        left.extend_from_slice(&members[..middle]);
        right.extend_from_slice(&members[middle..]);
    }
    left.sort_unstable();
    right.sort_unstable();
    let is_satisfied = |side: &Vec<u32>| privacy.is_satisfied_by(table, side.iter().copied());
    (is_satisfied(&left) && is_satisfied(&right)).then_some((left, right))
}

/// Returns the most frequent sensitive codes of a cell.
fn stratum(table: &Table, cell: u32) -> &[u32] {
    let groups = table.groups(cell);
    let largest = groups.clone().max_by_key(|group| (table.group_rows(*group), std::cmp::Reverse(*group)));
    table.codes(largest.unwrap_or(groups.start))
}
