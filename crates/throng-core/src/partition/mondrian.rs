//! Mondrian [LeFevre 2006]: recursively cuts the widest column near its median as long as both sides satisfy the model.
//! If a clustering follows, the column is the one that is worth most (`cut_order.rs`).
//!
//! Works on cells. The width of a column is its weighted NCP over the leaf. For models that are closed under adding rows,
//! the left side is satisfied from some threshold on and the right side up to some threshold: the allowed thresholds are
//! a range, found from the rows at each position; only if the shortest sides with enough rows violate another model, by
//! one sweep of the sorted cells from each end. The threshold of that range nearest to the median of the rows is used. Models that are closed under merging only are checked threshold by
//! threshold, from the median outwards. A category is cut between children of the lowest common ancestor of the
//! leaf; only if no column allows that, between any two of its values.
//!
//! There may be no allowed threshold: if a sensitive value is correlated with one end of every column, each cut leaves
//! a side without it. A leaf that is too large to be clustered is then split within each sensitive value
//! ([`stratified`]).

mod column_counts;
mod cut_order;
mod stratified;

use column_counts::{ranges, rows_by_position};

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

/// Number of cells above which each pass over them is made in parallel.
const PARALLEL_CELLS: usize = 1 << 15;

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
            Some(cut) => Some(divided(cells, table, cut)),
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
    let ranges = ranges(cells, table);
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
    let runs = rows_by_position(cells, table, column, spread.range);
    let (first, end) = allowed_range(cells, table, &privacy.closed_under_adding_rows(), spread, &runs)?;
    let domain = &table.quasi()[column].domain;
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
        let satisfied = |position: u32| satisfies_both_sides(cells, Cut { column, position }, table, privacy);
        allowed.iter().take(MAX_THRESHOLDS).copied().find(|(_, position)| satisfied(*position))
    };
    nearest.map(|(_, position)| Cut { column, position })
}

/// Divides cells along a cut, in parallel if they are many.
fn divided(cells: &[u32], table: &Table, cut: Cut) -> (Vec<u32>, Vec<u32>) {
    if cells.len() <= PARALLEL_CELLS {
        return cells.iter().partition(|cell| table.positions(**cell)[cut.column] <= cut.position);
    }
    let (first, second) = cells.split_at(cells.len() / 2);
    let ((mut left, mut right), (more_left, more_right)) =
        rayon::join(|| divided(first, table, cut), || divided(second, table, cut));
    left.extend(more_left);
    right.extend(more_right);
    (left, right)
}

/// Whether the cells on each side of a cut satisfy the models.
fn satisfies_both_sides(cells: &[u32], cut: Cut, table: &Table, privacy: &Privacy) -> bool {
    let is_left = |cell: &u32| table.positions(*cell)[cut.column] <= cut.position;
    privacy.is_satisfied_by(table, cells.iter().copied().filter(is_left))
        && privacy.is_satisfied_by(table, cells.iter().copied().filter(|cell| !is_left(cell)))
}

/// Returns the range of positions after which a cut leaves both sides satisfied, given the rows of each position. The
/// models must be closed under adding rows.
fn allowed_range(
    cells: &[u32],
    table: &Table,
    privacy: &Privacy,
    spread: &ColumnRange,
    runs: &[(u32, u64)],
) -> Option<(u32, u32)> {
    // The shortest prefix and the shortest suffix with enough rows usually satisfy the other models too.
    let first = enough_rows_after(runs.iter(), privacy.least_rows())?;
    let end = enough_rows_after(runs.iter().rev(), privacy.least_rows())?;
    let position = |cell: &u32| table.positions(*cell)[spread.column];
    if privacy.is_satisfied_by(table, cells.iter().copied().filter(|cell| position(cell) <= first))
        && privacy.is_satisfied_by(table, cells.iter().copied().filter(|cell| position(cell) >= end))
    {
        return Some((first, end));
    }
    let by_position = by_position(cells, table, spread);
    let first = satisfied_after(by_position.iter(), table, privacy)?;
    // The cut must precede the first position of the shortest suffix that satisfies the models.
    Some((first, satisfied_after(by_position.iter().rev(), table, privacy)?))
}

/// Returns the position after which there are enough rows.
fn enough_rows_after<'a>(mut runs: impl Iterator<Item = &'a (u32, u64)>, enough: u64) -> Option<u32> {
    let mut sum = 0;
    let found = runs.find(|(_, rows)| {
        sum += rows;
        sum >= enough
    });
    found.map(|(position, _)| *position)
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
