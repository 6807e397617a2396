//! Orders the columns of a leaf such that its cuts save most.
//!
//! A leaf of n rows can be halved about log2(n / k) times. Each halving of a number saves half of its width. A category
//! saves nothing until its values are separated: from the lowest common ancestor of a leaf to the children takes as many
//! halvings as the children have bits of entropy. Ordered by width alone, a flat category with hundreds of values would
//! use up all cuts, save nothing because its classes still mix values, and leave the other columns uncut. So the set of
//! categories is found that leaves least loss if they are cut to their children and the remaining halvings go to the
//! widest numbers. Its categories are cut first, those that save most per bit before the others.

use super::ColumnRange;
use crate::loss_tables::LossForm;
use crate::table::Table;

/// Number of cells from which the entropy of a category is estimated.
const SAMPLE: usize = 256;

/// Number of categories of which all sets are tried; beyond it, the widest ones.
const MAX_CATEGORIES: usize = 6;

/// A sample whose positions differ by no more than this is counted by position; others are sorted.
const MAX_SPAN: usize = 511;

/// What a cut from the common ancestor of a leaf to its children costs and saves.
#[derive(Clone, Copy, Debug)]
struct CategoryCut {
    column: usize,
    width: f64,
    /// Mean width of the children.
    left: f64,
    /// Entropy of the children.
    bits: f64,
}

/// Sorts columns, those to be cut first in front. `spreads` must be sorted by width.
pub(super) fn by_savings(cells: &[u32], table: &Table, least_rows: u64, spreads: &mut [ColumnRange]) {
    let is_line = |spread: &&ColumnRange| LossForm::is_line(&table.quasi()[spread.column]);
    let numbers: Vec<f64> = spreads.iter().filter(is_line).map(|spread| spread.width).collect();
    let categories = spreads.iter().filter(|spread| !is_line(spread));
    let categories: Vec<CategoryCut> =
        categories.take(MAX_CATEGORIES).map(|spread| CategoryCut::of(cells, table, spread)).collect();
    if spreads.len() < 2 || categories.is_empty() {
        return;
    }
    let rows: u64 = cells.iter().map(|cell| table.cell_rows(*cell)).sum();
    let halvings = (rows as f64 / least_rows.max(1) as f64).max(1.0).log2();
    let mut best = (f64::INFINITY, 0);
    let mut widths = Vec::with_capacity(spreads.len());
    for chosen in 0_u32..1 << categories.len() {
        let is_chosen = |at: usize| chosen >> at & 1 == 1;
        widths.clone_from(&numbers);
        let (mut left, mut loss) = (halvings, 0.0);
        for (at, category) in categories.iter().enumerate() {
            if is_chosen(at) {
                left -= category.bits;
                widths.push(category.left);
            } else {
                loss += category.width;
            }
        }
        if left < 0.0 {
            continue;
        }
        loss += halved(&mut widths, left);
        if loss < best.0 {
            best = (loss, chosen);
        }
    }
    // Chosen categories in front by savings per bit, then numbers, then the other categories, both by width.
    let rank = |spread: &ColumnRange| {
        let at = categories.iter().position(|category| category.column == spread.column);
        match at {
            Some(at) if best.1 >> at & 1 == 1 => {
                let category = &categories[at];
                (0, -(category.width - category.left) / category.bits.max(f64::MIN_POSITIVE))
            }
            None if is_line(&spread) => (1, -spread.width),
            _ => (2, -spread.width),
        }
    };
    spreads.sort_by(|a, b| {
        let (a_rank, b_rank) = (rank(a), rank(b));
        a_rank.0.cmp(&b_rank.0).then(a_rank.1.total_cmp(&b_rank.1)).then(a.column.cmp(&b.column))
    });
}

impl CategoryCut {
    fn of(cells: &[u32], table: &Table, spread: &ColumnRange) -> Self {
        let quasi = &table.quasi()[spread.column];
        let step = cells.len().div_ceil(SAMPLE);
        let sample = cells.iter().step_by(step);
        let sample = sample.map(|cell| (table.positions(*cell)[spread.column], table.cell_rows(*cell)));
        let sample = sample_by_position(sample, spread.range);
        let total: u64 = sample.iter().map(|(_, rows)| rows).sum();
        let (mut left, mut bits) = (0.0, 0.0);
        let is_one = |a: &(u32, u64), b: &(u32, u64)| a.0 == b.0 || !quasi.domain.is_border(spread.range, (a.0, b.0));
        for child in sample.chunk_by(is_one) {
            let rows: u64 = child.iter().map(|(_, rows)| rows).sum();
            let share = rows as f64 / total as f64;
            left += share * quasi.domain.loss(child[0].0, child[child.len() - 1].0) * quasi.spec.weight;
            bits -= share * share.log2();
        }
        Self { column: spread.column, width: spread.width, left, bits }
    }
}

/// Returns the positions that occur, ascending, with the sum of their rows; or each pair by itself where positions are far
/// apart.
fn sample_by_position(sample: impl ExactSizeIterator<Item = (u32, u64)>, (lo, hi): (u32, u32)) -> Vec<(u32, u64)> {
    if (hi - lo) as usize > MAX_SPAN {
        let mut sorted: Vec<(u32, u64)> = sample.collect();
        sorted.sort_unstable();
        return sorted;
    }
    let mut rows_at = [0; MAX_SPAN + 1];
    sample.for_each(|(position, rows)| rows_at[(position - lo) as usize] += rows);
    let counted = (lo..=hi).zip(&rows_at).filter(|(_, rows)| **rows > 0);
    counted.map(|(position, rows)| (position, *rows)).collect()
}

/// Returns the sum of widths once the widest of them was halved `halvings` times.
fn halved(widths: &mut [f64], halvings: f64) -> f64 {
    for _ in 0..halvings as u32 {
        let Some(widest) = widths.iter_mut().max_by(|a, b| a.total_cmp(b)) else { return 0.0 };
        *widest /= 2.0;
    }
    widths.iter().sum()
}
