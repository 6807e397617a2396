//! Single rows: hashes of unchanged values, and a sample that is consistent between both tables.

use std::hash::{Hash, Hasher};

use arrow::array::{Array, ArrayRef};
use arrow::error::ArrowError;
use rustc_hash::FxHasher;

use crate::extent::{NULL, number_code};
use crate::lexicon::{is_text, numbers_of, plain_type, texts_of};
use crate::random::mix;

/// Largest number of rows that are traced from one table to the other.
pub(crate) const TRACED_ROWS: usize = 40_000;

/// A row with a hash of its unchanged values, by which it can be found in the other table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracedRow {
    /// Hash of the sensitive and insensitive values.
    pub(crate) content: u64,
    /// Number of the row in its table.
    pub(crate) position: u64,
    /// Cell of the original, or class of the release.
    pub(crate) group: u32,
}

/// A sample of rows by their content: the same content is in the samples of both tables, or in neither.
#[derive(Debug, Default)]
pub(super) struct TracedRows {
    rows: Vec<TracedRow>,
    /// Contents below `u64::MAX >> halvings` are kept.
    halvings: u32,
}

impl TracedRows {
    pub(super) fn add(&mut self, row: TracedRow) {
        if row.content > u64::MAX >> self.halvings {
            return;
        }
        self.rows.push(row);
        if self.rows.len() > 2 * TRACED_ROWS && self.halvings < 63 {
            self.halvings += 1;
            let end = u64::MAX >> self.halvings;
            self.rows.retain(|row| row.content <= end);
        }
    }

    /// Returns the rows whose content is unique in the sample, by content.
    pub(super) fn finish(mut self) -> Vec<TracedRow> {
        self.rows.sort_unstable_by_key(|row| row.content);
        let is_unique = |at: usize| {
            let content = self.rows[at].content;
            (at == 0 || self.rows[at - 1].content != content)
                && self.rows.get(at + 1).is_none_or(|next| next.content != content)
        };
        (0..self.rows.len()).filter(|at| is_unique(*at)).map(|at| self.rows[at]).collect()
    }
}

/// Returns a hash of each value of a column. Numbers are equal across types.
pub(super) fn value_hashes(column: &ArrayRef) -> Result<Vec<u64>, ArrowError> {
    let data_type = plain_type(column.data_type());
    if data_type.is_numeric() || data_type.is_temporal() {
        let numbers = numbers_of(column)?;
        return Ok(numbers.iter().map(|number| mix(number.map_or(NULL, number_code))).collect());
    }
    if !is_text(data_type) && data_type.is_nested() {
        // Lists and structs are not compared.
        return Ok(vec![0; column.len()]);
    }
    let texts = texts_of(column)?;
    let hash = |text: Option<&str>| {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        mix(hasher.finish())
    };
    Ok(texts.iter().map(hash).collect())
}

/// Combines the hashes of several values.
pub(super) fn combine(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0x51_7c_c1_b7_27_22_0a_95, |sum, part| mix(sum.rotate_left(5) ^ part))
}
