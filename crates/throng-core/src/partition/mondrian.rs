//! Mondrian [LeFevre 2006]: recursively cuts the widest column near its median as long as both sides satisfy the model.
//! If a clustering follows, the column is the one that is worth most (`cut_order.rs`).
//!
//! Works on cells. The width of a column is its weighted NCP over the leaf. For models that are closed under adding rows,
//! the left side is satisfied from some threshold on and the right side up to some threshold: the allowed thresholds are
//! a range, found by one sweep from each end that stops as soon as the models are satisfied. The threshold of that range
//! nearest to the median of the rows is used. Models that are closed under merging only are checked threshold by
//! threshold, from the median outwards. A category is cut between children of the lowest common ancestor of the
//! leaf; only if no column allows that, between any two of its values.
//!
//! There may be no allowed threshold: if a sensitive value is correlated with one end of every column, each cut leaves
//! a side without it. A leaf that is too large to be clustered is then split within each sensitive value
//! ([`stratified`]).

mod cut_order;
mod stratified;

use crate::error::Result;
use crate::model::{Privacy, Tally};
use crate::partition::{Leaf, PartitionMethod};
use crate::table::{QuasiColumn, Table};

/// Maximum number of cells of a leaf that a clustering refines.
pub const DEFAULT_LEAF_CELLS: usize = 256;

/// For small classes leaves are smaller: as many cells as `LEAF_CLASSES` classes have rows, but at least
/// `MIN_LEAF_CELLS`.
const MIN_LEAF_CELLS: usize = 64;
const LEAF_CLASSES: u64 = 4;

/// Maximum number of thresholds of a column that are checked for models which are closed under merging only.
const MAX_THRESHOLDS: usize = 16;

/// Mondrian partition.
#[derive(Clone, Copy, Debug)]
pub struct Mondrian {
    /// Leaves with at most this many cells are not cut; with 1, cutting continues as long as a cut is allowed.
    leaf_cells: usize,
}

impl Mondrian {
    /// Partition into leaves that a clustering refines. Their size grows with the number of rows that a class needs.
    pub fn for_clustering(privacy: &Privacy) -> Self {
        let cells = privacy.least_rows().saturating_mul(LEAF_CLASSES);
        Self { leaf_cells: usize::try_from(cells).unwrap_or(usize::MAX).clamp(MIN_LEAF_CELLS, DEFAULT_LEAF_CELLS) }
    }

    /// Partition whose leaves are the classes: cutting continues as long as a cut is allowed (strict Mondrian).
    pub fn strict() -> Self {
        Self { leaf_cells: 1 }
    }

    /// Sets the number of cells below which leaves are not cut.
    pub fn with_leaf_cells(self, leaf_cells: usize) -> Self {
        Self { leaf_cells: leaf_cells.max(1) }
    }
}

impl PartitionMethod for Mondrian {
    fn partition(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        Ok(self.split(cells, table, privacy).into_iter().map(Leaf::of).collect())
    }
}

impl Mondrian {
    fn split(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Vec<Vec<u32>> {
        if cells.len() <= self.leaf_cells {
            return vec![cells];
        }
        let Some((left, right)) = self.halves(&cells, table, privacy) else { return vec![cells] };
        let (mut leaves, more) = rayon::join(|| self.split(left, table, privacy), || self.split(right, table, privacy));
        leaves.extend(more);
        leaves
    }

    /// Returns the best split of cells such that both sides satisfy the model.
    fn halves(&self, cells: &[u32], table: &Table, privacy: &Privacy) -> Option<(Vec<u32>, Vec<u32>)> {
        let mut spreads = spreads(cells, table);
        if self.leaf_cells > 1 {
            cut_order::by_savings(cells, table, privacy.least_rows(), &mut spreads);
        }
        let cut = [CategoryCuts::BetweenChildren, CategoryCuts::Any].iter().find_map(|borders| {
            spreads.iter().find_map(|spread| cut_near_median(cells, table, privacy, spread, *borders))
        });
        match cut {
            Some(cut) => Some(cells.iter().partition(|cell| table.positions(**cell)[cut.column] <= cut.position)),
            None if self.leaf_cells > 1 => stratified::halves(cells, table, privacy, spreads.first()?.column),
            None => None,
        }
    }
}

/// Positions up to `position` of `column` go left, the others right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) column: usize,
    pub(super) position: u32,
}

/// Range of a column in a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnRange {
    column: usize,
    range: (u32, u32),
    width: f64,
}

/// Allowed cuts of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CategoryCuts {
    /// Between children of the lowest common ancestor of the leaf, so that no cut divides a subtree.
    BetweenChildren,
    /// Anywhere. One side may keep the ancestor while the other gets a lower one.
    Any,
}

/// Returns the columns with more than one position, the widest first.
pub(super) fn spreads(cells: &[u32], table: &Table) -> Vec<ColumnRange> {
    let mut ranges = vec![(u32::MAX, 0); table.quasi().len()];
    for cell in cells {
        for ((lo, hi), position) in ranges.iter_mut().zip(table.positions(*cell)) {
            (*lo, *hi) = ((*lo).min(*position), (*hi).max(*position));
        }
    }
    let columns = table.quasi().iter().zip(&ranges).enumerate().filter(|(_, (_, (lo, hi)))| lo < hi);
    let spread = |(column, (quasi, (lo, hi))): (usize, (&QuasiColumn, &(u32, u32)))| {
        let width = quasi.domain.loss(*lo, *hi) * quasi.spec.weight;
        ColumnRange { column, range: (*lo, *hi), width }
    };
    let mut spreads: Vec<ColumnRange> = columns.map(spread).collect();
    spreads.sort_by(|a, b| b.width.total_cmp(&a.width).then(a.column.cmp(&b.column)));
    spreads
}

pub(super) fn cut_near_median(
    cells: &[u32],
    table: &Table,
    privacy: &Privacy,
    spread: &ColumnRange,
    borders: CategoryCuts,
) -> Option<Cut> {
    let column = spread.column;
    let by_position = by_position(cells, table, spread);
    let counting = privacy.closed_under_adding_rows();
    let first = satisfied_after(by_position.iter(), table, &counting)?;
    // The cut must precede the first position of the shortest suffix that satisfies the models.
    let end = satisfied_after(by_position.iter().rev(), table, &counting)?;
    let domain = &table.quasi()[column].domain;
    let rows_of = |run: &[(u32, u32)]| run.iter().map(|(_, cell)| table.cell_rows(*cell)).sum::<u64>();
    let runs: Vec<(u32, u64)> = by_position.chunk_by(|a, b| a.0 == b.0).map(|run| (run[0].0, rows_of(run))).collect();
    let total: u64 = runs.iter().map(|(_, rows)| rows).sum();
    let mut left = 0;
    let mut allowed: Vec<(u64, u32)> = Vec::new();
    for pair in runs.windows(2) {
        let (position, rows) = pair[0];
        left += rows;
        let is_border = borders == CategoryCuts::Any || domain.is_border(spread.range, (position, pair[1].0));
        if (first..end).contains(&position) && is_border {
            allowed.push(((2 * left).abs_diff(total), position));
        }
    }
    let nearest = if privacy.is_closed_under_adding_rows() {
        allowed.iter().copied().min()
    } else {
        allowed.sort_unstable();
        let satisfied = |position: u32| satisfies_both_sides(&by_position, position, table, privacy);
        allowed.iter().take(MAX_THRESHOLDS).copied().find(|(_, position)| satisfied(*position))
    };
    nearest.map(|(_, position)| Cut { column, position })
}

/// Whether the cells up to a position and those after it each satisfy the models.
fn satisfies_both_sides(by_position: &[(u32, u32)], position: u32, table: &Table, privacy: &Privacy) -> bool {
    let (left, right) = by_position.split_at(by_position.partition_point(|(at, _)| *at <= position));
    let is_satisfied = |side: &[(u32, u32)]| privacy.is_satisfied_by(table, side.iter().map(|(_, cell)| *cell));
    is_satisfied(left) && is_satisfied(right)
}

/// Sorts cells by their positions in a column; returns pairs of position and cell.
fn by_position(cells: &[u32], table: &Table, spread: &ColumnRange) -> Vec<(u32, u32)> {
    let of_cell = |cell: &u32| (table.positions(*cell)[spread.column], *cell);
    let (lo, hi) = spread.range;
    let positions = (hi - lo) as usize + 1;
    if positions > cells.len() {
        let mut sorted: Vec<(u32, u32)> = cells.iter().map(of_cell).collect();
        sorted.sort_unstable();
        return sorted;
    }
    let mut ends = vec![0_u32; positions];
    cells.iter().for_each(|cell| ends[(of_cell(cell).0 - lo) as usize] += 1);
    let mut before = 0;
    for end in &mut ends {
        (*end, before) = (before, before + *end);
    }
    let mut sorted = vec![(0, 0); cells.len()];
    for (position, cell) in cells.iter().map(of_cell) {
        let next = &mut ends[(position - lo) as usize];
        sorted[*next as usize] = (position, cell);
        *next += 1;
    }
    sorted
}

/// Returns the position at which the prefix of rows first satisfies the model.
fn satisfied_after<'a>(
    by_position: impl Iterator<Item = &'a (u32, u32)>,
    table: &Table,
    privacy: &Privacy,
) -> Option<u32> {
    let mut tally = Tally::empty(table.tally_shape());
    for (position, cell) in by_position {
        tally.add_cell(table, *cell);
        if privacy.is_satisfied(&tally) {
            return Some(*position);
        }
    }
    None
}

#[cfg(test)]
#[path = "mondrian_tests.rs"]
mod tests;
