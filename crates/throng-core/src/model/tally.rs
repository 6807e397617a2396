//! Input of the privacy models: row count and sensitive histograms of a class.

use super::frequencies::Frequencies;
use super::histogram::Histogram;
use crate::domain::NULL;
use crate::table::Table;

/// Which columns a tally counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallyShape {
    /// Number of sensitive columns.
    pub columns: usize,
    /// Index of the column with the units of privacy, if the policy has one.
    pub unit: Option<usize>,
}

impl TallyShape {
    /// Counts `columns` sensitive columns, of which none has units of privacy.
    pub fn without_units(columns: usize) -> Self {
        Self { columns, unit: None }
    }
}

/// Code shared by all units with a single row: each row with this code is a separate unit.
pub(crate) const SINGLE: u32 = 0;

/// Row count and sensitive histograms of a class.
#[derive(Clone, Debug)]
pub struct Tally {
    rows: u64,
    /// Per sensitive column, without nulls.
    histograms: Vec<Histogram>,
    /// Column of units.
    unit: Option<usize>,
    /// Per sensitive column, rows by unit and value; empty without units.
    carriers: Vec<Histogram<u64>>,
}

impl Tally {
    /// Creates the tally of an empty class.
    pub fn empty(shape: TallyShape) -> Self {
        let carriers = if shape.unit.is_some() { vec![Histogram::empty(); shape.columns] } else { Vec::new() };
        Self { rows: 0, histograms: vec![Histogram::empty(); shape.columns], unit: shape.unit, carriers }
    }

    /// Removes all rows, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.histograms.iter_mut().for_each(Histogram::clear);
        self.carriers.iter_mut().for_each(Histogram::clear);
    }

    /// Creates the tally of one cell.
    pub fn of_cell(table: &Table, cell: u32) -> Self {
        Self::of_cells(table, [cell])
    }

    /// Creates the tally of several cells.
    pub fn of_cells(table: &Table, cells: impl IntoIterator<Item = u32>) -> Self {
        let mut tally = Self::empty(table.tally_shape());
        for cell in cells {
            tally.add_cell(table, cell);
        }
        tally
    }

    /// Adds the rows of a cell.
    pub fn add_cell(&mut self, table: &Table, cell: u32) {
        for group in table.groups(cell) {
            self.add(table.codes(group), u64::from(table.group_rows(group)));
        }
    }

    /// Removes the rows of a cell, which must be present.
    pub fn remove_cell(&mut self, table: &Table, cell: u32) {
        for group in table.groups(cell) {
            self.remove(table.codes(group), u64::from(table.group_rows(group)));
        }
    }

    /// Adds rows with these sensitive codes.
    pub fn add(&mut self, codes: &[u32], rows: u64) {
        self.rows += rows;
        for (histogram, code) in self.histograms.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
            histogram.add(*code, rows);
        }
        if let Some(unit) = self.unit.and_then(|unit| codes.get(unit)) {
            for (carriers, code) in self.carriers.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
                carriers.add(pair(*unit, *code), rows);
            }
        }
    }

    /// Removes rows with these sensitive codes, which must be present.
    pub fn remove(&mut self, codes: &[u32], rows: u64) {
        self.rows -= rows;
        for (histogram, code) in self.histograms.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
            histogram.remove(*code, rows);
        }
        if let Some(unit) = self.unit.and_then(|unit| codes.get(unit)) {
            for (carriers, code) in self.carriers.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
                carriers.remove(pair(*unit, *code), rows);
            }
        }
    }

    /// Adds the rows of another class.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        for (histogram, other) in self.histograms.iter_mut().zip(&other.histograms) {
            other.iter().for_each(|(code, rows)| histogram.add(code, rows));
        }
        for (carriers, other) in self.carriers.iter_mut().zip(&other.carriers) {
            other.iter().for_each(|(pair, rows)| carriers.add(pair, rows));
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of distinct values of a sensitive column.
    pub fn distinct(&self, column: usize) -> u64 {
        self.histograms[column].distinct() as u64
    }

    /// Returns the number of rows with this value of a sensitive column.
    pub fn count(&self, column: usize, code: u32) -> u64 {
        self.histograms[column].count(code)
    }

    /// Returns the values of a sensitive column that occur, with their row counts, in no particular order.
    pub fn counts(&self, column: usize) -> impl Iterator<Item = (u32, u64)> {
        self.histograms[column].iter()
    }

    /// Returns the values of a sensitive column and their frequencies.
    pub(super) fn frequencies(&self, column: usize) -> Frequencies<'_> {
        Frequencies::of(&self.histograms[column])
    }

    /// Returns the number of units: as many as there are rows without a column of units.
    pub fn units(&self) -> u64 {
        match self.unit {
            Some(column) => {
                let single = self.histograms[column].count(SINGLE);
                self.distinct(column) - u64::from(single > 0) + single
            }
            None => self.rows,
        }
    }

    /// Returns the number of rows of a unit with a value of a sensitive column.
    pub(super) fn carried(&self, column: usize, unit: u32, value: u32) -> u64 {
        self.carriers[column].count(pair(unit, value))
    }

    /// Returns the pairs of unit and value of a sensitive column that occur, in no particular order.
    pub(super) fn carriers(&self, column: usize) -> impl Iterator<Item = (u32, u32)> + Clone {
        self.carriers[column].iter().map(|(pair, _)| ((pair >> 32) as u32, pair as u32))
    }
}

/// Packs unit and value into one key.
fn pair(unit: u32, value: u32) -> u64 {
    u64::from(unit) << 32 | u64::from(value)
}
