//! What a model may know of a class: how many rows it has, and how often each sensitive value occurs.

use crate::domain::NULL;
use crate::table::Table;

/// Row count and sensitive histograms of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    rows: u64,
    /// Per sensitive column: the codes that occur, ascending, with their counts. Nulls are not in it.
    histograms: Vec<Vec<(u32, u64)>>,
}

impl Tally {
    /// A class without rows.
    pub fn empty(sensitive_columns: usize) -> Self {
        Self { rows: 0, histograms: vec![Vec::new(); sensitive_columns] }
    }

    /// The rows of one cell.
    pub fn of_cell(table: &Table, cell: u32) -> Self {
        let mut tally = Self::empty(table.sensitive().len());
        tally.add_cell(table, cell);
        tally
    }

    /// The rows of many cells.
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

    /// Adds rows with these sensitive codes.
    pub fn add(&mut self, codes: &[u32], rows: u64) {
        self.rows += rows;
        for (histogram, code) in self.histograms.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
            match histogram.binary_search_by_key(code, |entry| entry.0) {
                Ok(at) => histogram[at].1 += rows,
                Err(at) => histogram.insert(at, (*code, rows)),
            }
        }
    }

    /// Takes away rows with these sensitive codes, which must be there.
    pub fn remove(&mut self, codes: &[u32], rows: u64) {
        self.rows -= rows;
        for (histogram, code) in self.histograms.iter_mut().zip(codes).filter(|(_, code)| **code != NULL) {
            if let Ok(at) = histogram.binary_search_by_key(code, |entry| entry.0) {
                histogram[at].1 -= rows;
                if histogram[at].1 == 0 {
                    histogram.remove(at);
                }
            }
        }
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many distinct values of a sensitive column.
    pub fn distinct(&self, column: usize) -> u64 {
        self.histograms[column].len() as u64
    }

    /// How many rows have this value of a sensitive column.
    pub fn count(&self, column: usize, code: u32) -> u64 {
        let histogram = &self.histograms[column];
        histogram.binary_search_by_key(&code, |entry| entry.0).map_or(0, |at| histogram[at].1)
    }

    /// The counts of the values of a sensitive column.
    pub fn counts(&self, column: usize) -> impl Iterator<Item = u64> {
        self.histograms[column].iter().map(|entry| entry.1)
    }
}
