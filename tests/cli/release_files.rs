//! A release as its reader sees it: files, rows, and classes counted with plain maps.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::Hash;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::sandbox::names;
use crate::tables::texts;

/// A value as text; `None` for null.
pub type Cell = Option<String>;

/// Rows as text.
pub struct Rows {
    names: Vec<String>,
    columns: Vec<Vec<Cell>>,
}

/// Figures of a release, by plain counting.
#[derive(Debug)]
pub struct Count {
    pub rows: u64,
    pub classes: u64,
    pub smallest: u64,
    pub sum_of_squares: u64,
    /// Minimum number of distinct values of each sensitive column in a class, without nulls.
    pub fewest: Vec<u64>,
    /// Sizes of all classes in ascending order.
    pub sizes: Vec<u64>,
}

/// Returns the data files of a release: all that are not hidden.
pub fn data_files(folder: &Path) -> Vec<PathBuf> {
    let visible = names(folder).into_iter().filter(|name| !name.starts_with(['_', '.']));
    visible.map(|name| folder.join(name)).collect()
}

/// Returns all rows of a release, in order.
pub fn read(folder: &Path) -> RecordBatch {
    let files = data_files(folder);
    let batches: Vec<RecordBatch> = files.iter().flat_map(|file| read_file(file)).collect();
    concat_batches(&batches.first().expect("a release has rows").schema(), &batches).unwrap()
}

pub fn read_file(file: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

impl Rows {
    pub fn of(batch: &RecordBatch) -> Self {
        let names = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        Self { names, columns: batch.columns().iter().map(|column| texts(column)).collect() }
    }

    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub fn column(&self, name: &str) -> &[Cell] {
        let place = self.names.iter().position(|known| known == name);
        &self.columns[place.unwrap_or_else(|| panic!("no column {name} in {:?}", self.names))]
    }

    /// Returns some columns of every row.
    pub fn tuples(&self, names: &[&str]) -> Vec<Vec<&Cell>> {
        let columns: Vec<&[Cell]> = names.iter().map(|name| self.column(name)).collect();
        (0..self.len()).map(|row| columns.iter().map(|column| &column[row]).collect()).collect()
    }

    /// Returns the row numbers by a column of unique values.
    pub fn by(&self, name: &str) -> HashMap<&str, usize> {
        let rows: HashMap<&str, usize> =
            self.column(name).iter().enumerate().map(|(row, cell)| (cell.as_deref().unwrap(), row)).collect();
        assert_eq!(rows.len(), self.len(), "{name} is not unique");
        rows
    }

    pub fn count(&self, quasi: &[&str], sensitive: &[&str]) -> Count {
        let mut classes: HashMap<Vec<&Cell>, Vec<usize>> = HashMap::new();
        for (row, class) in self.tuples(quasi).into_iter().enumerate() {
            classes.entry(class).or_default().push(row);
        }
        let fewest = sensitive.iter().map(|name| {
            let values = self.column(name);
            let distinct =
                |rows: &Vec<usize>| rows.iter().filter_map(|row| values[*row].as_ref()).collect::<HashSet<_>>();
            classes.values().map(|rows| distinct(rows).len() as u64).min().unwrap_or(0)
        });
        let fewest = fewest.collect();
        let mut sizes: Vec<u64> = classes.values().map(|rows| rows.len() as u64).collect();
        sizes.sort_unstable();
        Count {
            rows: self.len() as u64,
            classes: sizes.len() as u64,
            smallest: sizes.first().copied().unwrap_or(0),
            sum_of_squares: sizes.iter().map(|size| size * size).sum(),
            fewest,
            sizes,
        }
    }
}

/// Counts the occurrences of each item.
pub fn multiset<T: Hash + Eq>(items: impl IntoIterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}
