//! The cells of one limit block, prepared for the bound.

use crate::model::{Privacy, Tally};
use crate::table::Table;

/// The parts of the privacy models that the bound uses: sizes and numbers of distinct values.
#[derive(Debug)]
pub(super) struct CountedModels {
    /// Minimum number of rows of a class.
    pub(super) rows: u64,
    /// Sensitive columns, with the required number of distinct values.
    pub(super) distinct: Vec<(usize, usize)>,
}

/// Cells of a block, as far as the bound of their loss depends on them.
#[derive(Debug)]
pub(super) struct BlockCells {
    /// The cells in the table.
    pub(super) cells: Vec<u32>,
    pub(super) rows: Vec<u64>,
    /// Whether a class of rows of this cell alone satisfies the counted models.
    pub(super) is_rich: Vec<bool>,
    /// Distinct codes of each cell and each model of [`CountedModels::distinct`].
    codes: Vec<u32>,
    /// Model-major within a cell: end of each list in `codes`.
    ends: Vec<u32>,
}

impl CountedModels {
    pub(super) fn of(privacy: &Privacy) -> Self {
        let distinct = privacy.models().filter_map(|model| Some((model.column()?, model.distinct_values()? as usize)));
        let distinct: Vec<(usize, usize)> = distinct.filter(|(_, p)| *p > 1).collect();
        let most = distinct.iter().map(|(_, p)| *p as u64).fold(1, u64::max);
        Self { rows: privacy.least_rows().max(most), distinct }
    }

    fn is_satisfied(&self, tally: &Tally) -> bool {
        tally.rows() >= self.rows && self.distinct.iter().all(|(column, p)| tally.distinct(*column) >= *p as u64)
    }
}

impl BlockCells {
    pub(super) fn new(table: &Table, models: &CountedModels, cells: Vec<u32>) -> Self {
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        for cell in &cells {
            for (column, _) in &models.distinct {
                let start = codes.len();
                let known = table.groups(*cell).map(|group| table.codes(group)[*column]);
                codes.extend(known.filter(|code| *code != crate::domain::NULL));
                codes[start..].sort_unstable();
                let mut last = start;
                for at in start..codes.len() {
                    if at == start || codes[at] != codes[last - 1] {
                        codes[last] = codes[at];
                        last += 1;
                    }
                }
                codes.truncate(last);
                ends.push(codes.len() as u32);
            }
        }
        let rows = cells.iter().map(|cell| table.cell_rows(*cell)).collect();
        let is_rich = cells.iter().map(|cell| models.is_satisfied(&Tally::of_cell(table, *cell))).collect();
        Self { cells, rows, is_rich, codes, ends }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns the distinct codes of a cell for a model of [`CountedModels::distinct`].
    fn codes(&self, models: &CountedModels, cell: u32, model: usize) -> &[u32] {
        let at = cell as usize * models.distinct.len() + model;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[start as usize..self.ends[at] as usize]
    }
}

/// Tracks whether cells that are added one by one satisfy the models together.
#[derive(Debug)]
pub(super) struct ModelCounter<'a> {
    models: &'a CountedModels,
    block: &'a BlockCells,
    rows: u64,
    /// Codes seen of each model, up to the required number.
    seen: Vec<Vec<u32>>,
    is_satisfied: bool,
}

impl<'a> ModelCounter<'a> {
    pub(super) fn new(models: &'a CountedModels, block: &'a BlockCells) -> Self {
        Self { models, block, rows: 0, seen: vec![Vec::new(); models.distinct.len()], is_satisfied: false }
    }

    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.seen.iter_mut().for_each(Vec::clear);
        self.is_satisfied = false;
    }

    /// Adds a cell and returns whether the models are satisfied.
    pub(super) fn add(&mut self, cell: u32) -> bool {
        if self.is_satisfied || self.block.is_rich[cell as usize] {
            self.is_satisfied = true;
            return true;
        }
        self.rows += self.block.rows[cell as usize];
        let mut is_satisfied = self.rows >= self.models.rows;
        for (model, (seen, (_, p))) in self.seen.iter_mut().zip(&self.models.distinct).enumerate() {
            for code in self.block.codes(self.models, cell, model) {
                if seen.len() < *p && !seen.contains(code) {
                    seen.push(*code);
                }
            }
            is_satisfied &= seen.len() >= *p;
        }
        self.is_satisfied = is_satisfied;
        is_satisfied
    }

    /// Returns whether these cells satisfy the models. Stops as soon as they do.
    pub(super) fn is_satisfied_by(&mut self, cells: &[u32]) -> bool {
        self.clear();
        cells.iter().any(|cell| self.add(*cell))
    }
}
