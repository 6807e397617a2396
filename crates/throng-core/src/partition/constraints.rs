//! Feasible regions under generalization constraints (constrained p-sensitive k-anonymity, [Campan 2010]).
//!
//! The maximum allowed microdata (MAM, Def. 7), in which every value is generalized as far as its limit allows, has its
//! own classes. A class of MAM that does not satisfy the model can't be released: its rows are `OUT`, the smallest set
//! that must be suppressed (Properties 3 and 4). Every other class of MAM is partitioned and clustered separately, so
//! that no algorithm generalizes a value beyond its limit.

use rustc_hash::FxHashMap;

use crate::model::Privacy;
use crate::table::Table;

/// Classes of the maximum allowed microdata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeasibleRegions {
    /// Classes that satisfy the model, each a list of cells. Without limits there is one, with all cells.
    pub classes: Vec<Vec<u32>>,
    /// Cells of all other classes.
    pub suppressed_cells: Vec<u32>,
}

impl FeasibleRegions {
    /// Computes the feasible regions of a table.
    pub fn of(table: &Table, privacy: &Privacy) -> Self {
        let cells = 0..table.cell_count() as u32;
        let limited: Vec<usize> =
            (0..table.quasi().len()).filter(|column| table.quasi()[*column].domain.is_limited()).collect();
        let classes: Vec<Vec<u32>> = match (limited.is_empty(), cells.is_empty()) {
            (true, true) => Vec::new(),
            (true, false) => vec![cells.collect()],
            (false, _) => {
                let mut of_key: FxHashMap<Vec<u32>, Vec<u32>> = FxHashMap::default();
                for cell in cells {
                    let block = |column: &usize| table.quasi()[*column].domain.block(table.positions(cell)[*column]);
                    of_key.entry(limited.iter().map(block).collect()).or_default().push(cell);
                }
                let mut classes: Vec<Vec<u32>> = of_key.into_values().collect();
                classes.sort_unstable();
                classes
            }
        };
        let (classes, suppressed_cells): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|cells| privacy.is_satisfied_by(table, cells.iter().copied()));
        let mut suppressed_cells = suppressed_cells.concat();
        suppressed_cells.sort_unstable();
        Self { classes, suppressed_cells }
    }

    /// Returns the number of rows that must be suppressed.
    pub fn suppressed_rows(&self, table: &Table) -> u64 {
        self.suppressed_cells.iter().map(|cell| table.cell_rows(*cell)).sum()
    }
}

#[cfg(test)]
#[path = "constraints_tests.rs"]
mod tests;
