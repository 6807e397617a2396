//! Levels of one quasi-identifier: the range that each value shows at each level, and its loss.
//!
//! At level `l`, a value of a category shows its highest ancestor of height at most `l`. If all leaves are equally
//! deep, this is its `l`-th ancestor. Null and the tails of an MDR tree are direct children of the root, next to deeper
//! branches: they stay unchanged up to the last level, so that the nodes shown at one level never overlap.
//!
//! A column without a hierarchy has two levels, the value and everything. Under a limit no level exceeds the block of
//! the cells, and the last one shows the block.

use crate::domain::{Domain, DomainKind};
use crate::hierarchy::{Node, Tree};
use crate::table::Table;

/// Levels of a column for a list of cells.
#[derive(Debug)]
pub(super) struct CellLevels {
    /// For each cell, in the order given, the index of its value among the distinct values of the cells.
    value_of_cell: Vec<u32>,
    list: Vec<CellLevel>,
}

/// One level.
#[derive(Debug)]
struct CellLevel {
    /// For each distinct value of the cells, the first and last position it shows.
    shown: Vec<(u32, u32)>,
    /// Dense ids of the ranges in `shown`.
    codes: Vec<u32>,
    /// Number of distinct codes.
    distinct: u64,
    /// Weighted loss of all rows of the cells.
    loss: f64,
}

impl CellLevels {
    /// Computes the levels of a column for cells that share their block.
    pub(super) fn of(column: usize, cells: &[u32], table: &Table) -> Self {
        let position = |cell: u32| table.positions(cell)[column];
        let mut values: Vec<u32> = cells.iter().map(|cell| position(*cell)).collect();
        values.sort_unstable();
        values.dedup();
        // `values` holds every position, so the search always hits.
        let place = |cell: &u32| values.partition_point(|value| *value < position(*cell)) as u32;
        let value_of_cell: Vec<u32> = cells.iter().map(place).collect();
        let mut rows = vec![0_u64; values.len()];
        for (cell, value) in cells.iter().zip(&value_of_cell) {
            rows[*value as usize] += table.cell_rows(*cell);
        }
        let quasi = &table.quasi()[column];
        let list = shown(&quasi.domain, &values).into_iter().map(|shown| {
            let loss = |((lo, hi), rows): (&(u32, u32), &u64)| quasi.domain.information_loss(*lo, *hi) * *rows as f64;
            let loss = quasi.spec.weight * shown.iter().zip(&rows).map(loss).sum::<f64>();
            // Values ascend and the ranges never overlap, so equal ranges are adjacent.
            let mut codes = Vec::with_capacity(shown.len());
            for (index, range) in shown.iter().enumerate() {
                let last = codes.last().copied();
                codes.push(last.map_or(0, |code| if shown[index - 1] == *range { code } else { code + 1 }));
            }
            CellLevel { distinct: codes.last().map_or(0, |code| u64::from(*code) + 1), shown, codes, loss }
        });
        Self { value_of_cell, list: list.collect() }
    }

    /// Returns the number of levels; at least one.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the weighted loss of all rows at a level.
    pub(super) fn loss(&self, level: usize) -> f64 {
        self.list[level].loss
    }

    /// Returns the number of distinct ranges at a level.
    pub(super) fn distinct(&self, level: usize) -> u64 {
        self.list[level].distinct
    }

    /// Returns the code of each cell at a level, below [`Self::distinct`], in the order of the cells.
    pub(super) fn codes(&self, level: usize) -> impl Iterator<Item = u32> {
        self.value_of_cell.iter().map(move |value| self.list[level].codes[*value as usize])
    }

    /// Returns the first and last position that a cell shows at a level. `cell` is an index into the list of cells.
    pub(super) fn shown(&self, level: usize, cell: usize) -> (u32, u32) {
        self.list[level].shown[self.value_of_cell[cell] as usize]
    }
}

/// Returns for each level the range that each value shows. Values are ascending positions of one block.
fn shown(domain: &Domain, values: &[u32]) -> Vec<Vec<(u32, u32)>> {
    match domain.kind() {
        DomainKind::Ordered { .. } => {
            let alone = values.iter().map(|value| (*value, *value)).collect();
            match everything(domain, values) {
                Some((lo, hi)) if lo < hi => vec![alone, vec![(lo, hi); values.len()]],
                _ => vec![alone],
            }
        }
        DomainKind::Category(tree) => {
            let node = |value: u32, level: u32| highest(domain, tree, value, level);
            let top = values.iter().map(|value| tree.height(node(*value, u32::MAX))).max().unwrap_or(0);
            let at = |level: u32| values.iter().map(|value| tree.leaf_range(node(*value, level))).collect();
            (0..=top).map(at).collect()
        }
    }
}

/// Returns all positions of the block of these values. Includes null only if one of them is null.
fn everything(domain: &Domain, values: &[u32]) -> Option<(u32, u32)> {
    let (first, last) = (*values.first()?, *values.last()?);
    // The id of a block is its first position, which is 0 without a limit.
    let block = domain.block(first);
    let is_foreign_null = Some(block) == domain.null_position() && first != block;
    let end = (last..domain.len() as u32).take_while(|position| domain.block(*position) == block).last();
    Some((block + u32::from(is_foreign_null), end?))
}

/// Returns the highest ancestor of a position that is no higher than `level` and inside the block of the position.
fn highest(domain: &Domain, tree: &Tree, position: u32, level: u32) -> Node {
    let is_inside = |node: &Node| {
        let (lo, hi) = tree.leaf_range(*node);
        tree.height(*node) <= level && domain.block(lo) == domain.block(hi)
    };
    let mut node = tree.leaf_node(position);
    while let Some(parent) = tree.parent(node).filter(is_inside) {
        node = parent;
    }
    node
}
