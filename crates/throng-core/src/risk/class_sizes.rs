//! Histogram of class sizes, and the risks that follow from it.
//!
//! ```
//! use throng_core::risk::ClassSizes;
//!
//! // One person alone, and two classes of four.
//! let sizes: ClassSizes = [1, 4, 4].into_iter().collect();
//! assert_eq!((sizes.rows(), sizes.classes()), (9, 3));
//! assert_eq!(sizes.highest_risk(), 1.0);
//! assert_eq!(sizes.average_risk(), 3.0 / 9.0);
//! assert_eq!((sizes.unique_rows(), sizes.rows_above(0.2)), (1, 9));
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::table::Table;

/// Common thresholds of re-identification risk: 0.2 and 0.09 correspond to minimum class sizes of five and twelve rows.
pub const COMMON_THRESHOLDS: [f64; 2] = [0.2, 0.09];

/// Sizes below this are counted in a vector, which is faster than a map.
const SMALL: usize = 64;

/// Histogram of class sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>"))]
pub struct ClassSizes {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

impl Default for ClassSizes {
    fn default() -> Self {
        Self { small: vec![0; SMALL], large: BTreeMap::new() }
    }
}

/// From sizes, each with its number of classes.
impl From<Vec<(u64, u64)>> for ClassSizes {
    fn from(sizes: Vec<(u64, u64)>) -> Self {
        let mut counted = Self::default();
        sizes.into_iter().for_each(|(size, classes)| counted.add(size, classes));
        counted
    }
}

impl From<ClassSizes> for Vec<(u64, u64)> {
    fn from(sizes: ClassSizes) -> Self {
        sizes.iter().collect()
    }
}

impl FromIterator<u64> for ClassSizes {
    fn from_iter<T: IntoIterator<Item = u64>>(sizes: T) -> Self {
        let mut counted = Self::default();
        sizes.into_iter().for_each(|size| counted.add(size, 1));
        counted
    }
}

impl ClassSizes {
    /// Adds classes of a size; size zero is ignored.
    pub fn add(&mut self, size: u64, classes: u64) {
        match usize::try_from(size).ok().filter(|size| *size < SMALL) {
            Some(0) => {}
            Some(small) => self.small[small] += classes,
            None => *self.large.entry(size).or_default() += classes,
        }
    }

    /// Adds the cells of a table, or of a part that contains its cells completely.
    pub fn add_cells(&mut self, table: &Table) {
        let cells = 0..table.cell_count() as u32;
        let shown = table.quasi().iter().filter(|quasi| !quasi.spec.is_hidden()).count();
        if shown == table.quasi().len() {
            return cells.for_each(|cell| self.add(table.cell_rows(cell), 1));
        }
        // Cells that differ only in a hidden column count as one: an intruder does not know that column.
        let mut rows_of: FxHashMap<&[u32], u64> = FxHashMap::default();
        for cell in cells {
            *rows_of.entry(&table.positions(cell)[..shown]).or_default() += table.cell_rows(cell);
        }
        rows_of.into_values().for_each(|rows| self.add(rows, 1));
    }

    /// Returns each size that occurs, ascending, with its number of classes.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = self.small.iter().zip(0..).filter(|(classes, _)| **classes > 0);
        small.map(|(classes, size)| (size, *classes)).chain(self.large.iter().map(|(size, classes)| (*size, *classes)))
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> u64 {
        self.iter().map(|(_, classes)| classes).sum()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.iter().map(|(size, classes)| size * classes).sum()
    }

    /// Returns the size of the smallest class; zero without rows.
    pub fn smallest(&self) -> u64 {
        self.iter().next().map_or(0, |(size, _)| size)
    }

    /// Returns the highest prosecutor risk of a row; zero without rows.
    pub fn highest_risk(&self) -> f64 {
        match self.smallest() {
            0 => 0.0,
            smallest => 1.0 / smallest as f64,
        }
    }

    /// Returns the mean prosecutor risk over rows, which is also the marketer risk; zero without rows.
    pub fn average_risk(&self) -> f64 {
        share(self.classes(), self.rows())
    }

    /// Returns the number of rows whose risk is above a threshold.
    pub fn rows_above(&self, threshold: f64) -> u64 {
        let above = self.iter().filter(|(size, _)| 1.0 / *size as f64 > threshold);
        above.map(|(size, classes)| size * classes).sum()
    }

    /// Returns the number of rows that are alone in their class: the sample uniques.
    pub fn unique_rows(&self) -> u64 {
        self.small[1]
    }
}

/// Returns `part / whole`; zero if `whole` is zero.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
#[path = "class_sizes_tests.rs"]
mod tests;
