//! Ranges and counts of the columns of a part, in parallel if it has many cells.

use super::PARALLEL_CELLS;
use crate::table::Table;

/// Returns the lowest and the highest position of each column.
pub(super) fn ranges(cells: &[u32], table: &Table) -> Vec<(u32, u32)> {
    if cells.len() > PARALLEL_CELLS {
        let (first, second) = cells.split_at(cells.len() / 2);
        let (mut all, more) = rayon::join(|| ranges(first, table), || ranges(second, table));
        for (range, (lo, hi)) in all.iter_mut().zip(more) {
            *range = (range.0.min(lo), range.1.max(hi));
        }
        return all;
    }
    match table.quasi().len() {
        // Loops of constant width are unrolled.
        2 => ranges_of::<2>(cells, table),
        3 => ranges_of::<3>(cells, table),
        4 => ranges_of::<4>(cells, table),
        5 => ranges_of::<5>(cells, table),
        6 => ranges_of::<6>(cells, table),
        7 => ranges_of::<7>(cells, table),
        8 => ranges_of::<8>(cells, table),
        width => {
            let mut ranges = vec![(u32::MAX, 0); width];
            for cell in cells {
                for ((lo, hi), position) in ranges.iter_mut().zip(table.positions(*cell)) {
                    (*lo, *hi) = ((*lo).min(*position), (*hi).max(*position));
                }
            }
            ranges
        }
    }
}

fn ranges_of<const WIDTH: usize>(cells: &[u32], table: &Table) -> Vec<(u32, u32)> {
    let (mut lo, mut hi) = ([u32::MAX; WIDTH], [0; WIDTH]);
    for at in cells.iter().filter_map(|cell| table.positions(*cell).first_chunk::<WIDTH>()) {
        lo = std::array::from_fn(|column| lo[column].min(at[column]));
        hi = std::array::from_fn(|column| hi[column].max(at[column]));
    }
    lo.into_iter().zip(hi).collect()
}

/// Returns the positions of a column that occur, ascending, with their rows. All positions must be in `range`.
pub(super) fn rows_by_position(cells: &[u32], table: &Table, column: usize, range: (u32, u32)) -> Vec<(u32, u64)> {
    let span = (range.1 - range.0) as usize + 1;
    if span <= cells.len() {
        let rows_at = rows_at(cells, table, column, range.0, span);
        return (range.0..).zip(rows_at).filter(|(_, rows)| *rows > 0).collect();
    }
    let of_cell = |cell: &u32| (table.positions(*cell)[column], table.cell_rows(*cell));
    let mut sorted: Vec<(u32, u64)> = cells.iter().map(of_cell).collect();
    sorted.sort_unstable_by_key(|(position, _)| *position);
    sorted.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0 };
        is_same
    });
    sorted
}

/// Returns the number of rows at each of `span` positions from `lo` on.
fn rows_at(cells: &[u32], table: &Table, column: usize, lo: u32, span: usize) -> Vec<u64> {
    // Splitting pays where the counts are few beside the cells.
    if cells.len() > PARALLEL_CELLS.max(span.saturating_mul(4)) {
        let (first, second) = cells.split_at(cells.len() / 2);
        let count = |cells| rows_at(cells, table, column, lo, span);
        let (mut rows, more) = rayon::join(|| count(first), || count(second));
        rows.iter_mut().zip(more).for_each(|(rows, more)| *rows += more);
        return rows;
    }
    let mut rows = vec![0; span];
    for cell in cells {
        rows[(table.positions(*cell)[column] - lo) as usize] += table.cell_rows(*cell);
    }
    rows
}
