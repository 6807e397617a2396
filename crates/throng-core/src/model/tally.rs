//! Input of the privacy models: row count and sensitive histograms of a class.

use super::histogram::Histogram;
use crate::domain::NULL;
use crate::table::Table;

/// Row count and sensitive histograms of a class.
#[derive(Clone, Debug)]
pub struct Tally {
    rows: u64,
    /// Per sensitive column, without nulls.
    histograms: Vec<Histogram>,
}

impl Tally {
    /// Creates the tally of an empty class.
    pub fn empty(sensitive_columns: usize) -> Self {
        Self { rows: 0, histograms: vec![Histogram::empty(); sensitive_columns] }
    }

    /// Creates the tally of one cell.
    pub fn of_cell(table: &Table, cell: u32) -> Self {
        let mut tally = Self::empty(table.sensitive().len());
        tally.add_cell(table, cell);
        tally
    }

    /// Creates the tally of several cells.
    pub fn of_cells(table: &Table, cells: impl IntoIterator<Item = u32>) -> Self {
        let mut tally = Self::empty(table.sensitive().len());
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
    }

    /// Removes rows with these sensitive codes, which must be present.
    pub fn remove(&mut self, codes: &[u32], rows: u64) {
        self.rows -= rows;
        for (histogram, code) in self.histograms.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
            histogram.remove(*code, rows);
        }
    }

    /// Adds the rows of another class.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        for (histogram, other) in self.histograms.iter_mut().zip(&other.histograms) {
            other.iter().for_each(|(code, rows)| histogram.add(code, rows));
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
}
