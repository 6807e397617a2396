//! Feasible regions under generalization constraints (constrained p-sensitive k-anonymity, [Campan 2010]).
//!
//! The maximum allowed microdata (MAM, Def. 7), in which every value is generalized as far as its limit allows, has its
//! own classes. A class of MAM that does not satisfy the model can't be released: its rows are `OUT`, the smallest set
//! that must be suppressed (Properties 3 and 4). Every other class of MAM is partitioned and clustered separately, so
//! that no algorithm generalizes a value beyond its limit.

use rustc_hash::FxHashMap;

use crate::feasibility::tally;
use crate::model::Privacy;
use crate::table::Table;

/// Classes of the maximum allowed microdata.
#[derive(Clone, Debug)]
pub struct FeasibleRegions {
    /// Classes that satisfy the model, each a list of cells. Without limits there is one, with all cells.
    pub classes: Vec<Vec<u32>>,
    /// Cells of all other classes.
    pub suppressed_cells: Vec<u32>,
    /// The models, with the rows of `classes` as the release that some of them refer to.
    pub privacy: Privacy,
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
        let mut regions = Self { classes, suppressed_cells: Vec::new(), privacy: privacy.clone() };
        while regions.suppress_unsatisfied(table, privacy) {}
        regions.suppressed_cells.sort_unstable();
        regions
    }

    /// Suppresses the classes that violate the models. Returns whether the release changed in a way that may make
    /// another class violate them: a model may compare classes with all released rows.
    fn suppress_unsatisfied(&mut self, table: &Table, privacy: &Privacy) -> bool {
        if privacy.needs_release() {
            let released = tally(table, self.classes.iter().flatten().copied());
            self.privacy = privacy.for_release(table.sensitive(), &released);
        }
        let models = &self.privacy;
        let (classes, suppressed): (Vec<_>, Vec<_>) = std::mem::take(&mut self.classes)
            .into_iter()
            .partition(|cells| models.is_satisfied_by(table, cells.iter().copied()));
        self.classes = classes;
        self.suppressed_cells.extend(suppressed.concat());
        privacy.needs_release() && !self.classes.is_empty() && !suppressed.is_empty()
    }

    /// Returns the number of rows that must be suppressed.
    pub fn suppressed_rows(&self, table: &Table) -> u64 {
        self.suppressed_cells.iter().map(|cell| table.cell_rows(*cell)).sum()
    }
}

#[cfg(test)]
#[path = "constraints_tests.rs"]
mod tests;
