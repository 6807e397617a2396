//! The protection that is left against an intruder who can distinguish borrowed rows from the others.
//!
//! A class that lacks rows borrows some of a cell that can spare them. An intruder who knows the quasi-identifiers of everyone in the
//! table may work out which cells a class covers, and so how many of its rows are its own. Against that intruder the people behind a
//! class's own rows hide only among each other: *effective k* is the minimum number of own rows of a class, *effective p* the minimum
//! number of values among them. Which values belong to the own rows is drawn at random (see `redistribute`), so such an intruder still
//! learns no more about one of them than the shares of values in the class.

use rustc_hash::FxHashSet;

use crate::cluster::{Class, Portion};
use crate::model::{Privacy, Tally};
use crate::table::Table;

/// Statistics of the classes that have borrowed rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BorrowedRows {
    /// Number of classes that have borrowed rows.
    pub classes: u64,
    /// Number of own rows of these classes.
    pub own_rows: u64,
    /// Number of own rows that alone would not satisfy the diversity models.
    pub own_rows_without_diversity: u64,
    /// Minimum number of own rows of a class; `None` if no class has borrowed rows.
    pub effective_k: Option<u64>,
    /// Minimum number of distinct values of a sensitive column among the own rows of a class; `None` if no class has
    /// borrowed rows, or no model counts values.
    pub effective_p: Option<u64>,
}

impl BorrowedRows {
    /// Adds the classes of a table, or of a part of it.
    pub fn add(&mut self, table: &Table, privacy: &Privacy, classes: &[Class]) {
        let cell_of = table.cells_of_groups();
        let cell_of = |portion: &Portion| cell_of[portion.group as usize];
        // If all rows of a class are of one cell, and other classes also have rows of that cell, the cell lends rows.
        let mut lenders: FxHashSet<u32> = FxHashSet::default();
        for class in classes {
            if let (Some(first), Some(last)) = (class.portions.first(), class.portions.last())
                && cell_of(first) == cell_of(last)
                && rows_of(&class.portions) < table.cell_rows(cell_of(first))
            {
                lenders.insert(cell_of(first));
            }
        }
        if lenders.is_empty() {
            return;
        }
        for class in classes {
            let (Some(first), Some(last)) = (class.portions.first(), class.portions.last()) else { continue };
            let is_borrowed = |portion: &Portion| lenders.contains(&cell_of(portion));
            if cell_of(first) == cell_of(last) || !class.portions.iter().any(is_borrowed) {
                continue;
            }
            let mut own = Tally::empty(table.tally_shape());
            for portion in class.portions.iter().filter(|portion| !is_borrowed(portion)) {
                own.add(table.codes(portion.group), u64::from(portion.rows));
            }
            self.add_class(privacy, &own);
        }
    }

    fn add_class(&mut self, privacy: &Privacy, own: &Tally) {
        self.classes += 1;
        self.own_rows += own.rows();
        if !privacy.is_diverse(own) {
            self.own_rows_without_diversity += own.rows();
        }
        lower(&mut self.effective_k, own.units());
        let counted = privacy.counting_models().filter(|model| model.distinct_values().is_some());
        counted.for_each(|model| lower(&mut self.effective_p, model.achieved(own)));
    }

    /// Adds the classes of another part of the table.
    pub fn merge(&mut self, other: &Self) {
        self.classes += other.classes;
        self.own_rows += other.own_rows;
        self.own_rows_without_diversity += other.own_rows_without_diversity;
        other.effective_k.into_iter().for_each(|rows| lower(&mut self.effective_k, rows));
        other.effective_p.into_iter().for_each(|values| lower(&mut self.effective_p, values));
    }
}

fn lower(least: &mut Option<u64>, value: u64) {
    *least = Some(least.map_or(value, |least| least.min(value)));
}

fn rows_of(portions: &[Portion]) -> u64 {
    portions.iter().map(|portion| u64::from(portion.rows)).sum()
}
