//! Exposure by insensitive columns: how many rows of a release they single out, and which of them nearly determine a sensitive
//! column.
//!
//! Insensitive columns are released as they are, so an intruder who knows them can use them like quasi-identifiers. The measures
//! are taken on released rows, which anyone who has the release can repeat:
//!
//! - the share of rows whose insensitive values no other row has: all of them together, each column by itself, and all together
//!   with the released quasi-identifiers;
//! - for an insensitive and a sensitive column, the share of rows whose sensitive value is the most frequent one among the rows
//!   with their insensitive value, against the share of the most frequent sensitive value of these rows. The relative reduction of
//!   wrong guesses is the lambda of [Goodman 1954]. Only insensitive values of at least k rows are used: a value of one row
//!   determines everything, which the first measure already shows.
//!
//! ```text
//!  batches ──► a 64-bit hash per column and row ──┬─► tuples, by column and with quasi-identifiers ─► UniqueTuples
//!                                                 └─► insensitive and sensitive hashes ─► TupleSample
//! ```
//!
//! Memory is bounded. Up to a fixed number of distinct tuples the shares are exact except for hash collisions; beyond that, tuples
//! are sampled by their hash [Gibbons 2001] and shares are estimates.

mod sample;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::row_hash::{RowHasher, avalanche, folded};
use sample::{TupleSample, UniqueTuples};

/// Share of singled-out rows above which there is a warning.
pub const MUCH_SINGLED_OUT: f64 = 0.01;

/// Share of avoided wrong guesses above which a column nearly determines another.
pub const NEARLY_DETERMINED: f64 = 0.8;

/// Minimum share of rows with insensitive values of at least k rows, for a column to be compared with sensitive ones.
const MIN_COVERED: f64 = 0.05;

/// Number of tuples that are counted exactly.
const TUPLES: usize = 1 << 15;

/// Number of values of one column that are counted exactly.
const VALUES: usize = 1 << 12;

/// Number of tuples that are kept to compare columns.
const COMPARED: usize = 1 << 13;

/// Columns of a release by role: released names and types.
#[derive(Clone, Debug, Default)]
pub struct ExposureColumns {
    /// Insensitive columns.
    pub insensitive: Vec<(String, DataType)>,
    /// Sensitive columns.
    pub sensitive: Vec<(String, DataType)>,
    /// Quasi-identifiers; empty for a table that is not released yet.
    pub quasi: Vec<(String, DataType)>,
}

/// Measures the exposure of the rows of one stream.
#[derive(Debug)]
pub struct ExposureSketch {
    columns: ExposureColumns,
    hasher: RowHasher,
    rows: u64,
    alone: UniqueTuples,
    with_quasi: UniqueTuples,
    by_column: Vec<UniqueTuples>,
    compared: TupleSample,
    /// Hashes of the values of a batch, by insensitive and sensitive column, and of its tuples: buffers.
    values: Vec<Vec<u64>>,
    tuples: Vec<u64>,
}

/// Exposure of a release by its insensitive columns.
#[derive(Clone, Debug, PartialEq)]
pub struct InsensitiveExposure {
    /// Whether shares are exact, and not estimated from a sample.
    pub is_exact: bool,
    /// Share of the rows that the insensitive columns single out together.
    pub alone: f64,
    /// Share of the rows that they single out together with the quasi-identifiers; `None` without quasi-identifiers.
    pub with_quasi: Option<f64>,
    /// Share of the rows that each insensitive column singles out by itself.
    pub columns: Vec<(String, f64)>,
    /// Pairs of columns of which the first nearly determines the second.
    pub determined: Vec<DeterminedColumn>,
}

/// An insensitive column that nearly determines a sensitive one.
#[derive(Clone, Debug, PartialEq)]
pub struct DeterminedColumn {
    /// The insensitive column.
    pub insensitive: String,
    /// The sensitive column.
    pub sensitive: String,
    /// Share of rows whose sensitive value is the most frequent one of their insensitive value.
    pub right: f64,
    /// Share of rows with the most frequent sensitive value.
    pub right_without: f64,
}

impl ExposureSketch {
    /// Creates a sketch of no rows. `seed` keys the hashes.
    pub fn new(columns: ExposureColumns, seed: u64) -> Result<Self> {
        let all = columns.insensitive.iter().chain(&columns.sensitive).chain(&columns.quasi);
        let types: Vec<DataType> = all.map(|(_, data_type)| data_type.clone()).collect();
        Ok(Self {
            hasher: RowHasher::new(&types, seed)?,
            rows: 0,
            alone: UniqueTuples::new(TUPLES),
            with_quasi: UniqueTuples::new(TUPLES),
            by_column: vec![UniqueTuples::new(VALUES); columns.insensitive.len()],
            compared: TupleSample::new(COMPARED),
            values: Vec::new(),
            tuples: Vec::new(),
            columns,
        })
    }

    /// Returns the names of the columns in the order in which [`ExposureSketch::push`] takes them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let ExposureColumns { insensitive, sensitive, quasi } = &self.columns;
        insensitive.iter().chain(sensitive).chain(quasi).map(|(name, _)| name.as_str())
    }

    /// Adds rows: the insensitive, the sensitive and the quasi-identifying columns.
    pub fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        let Self { columns: roles, hasher, alone, with_quasi, by_column, compared, values, tuples, .. } = self;
        let kept = roles.insensitive.len() + roles.sensitive.len();
        values.resize_with(kept, Vec::new);
        tuples.clear();
        tuples.resize(rows, 1);
        let mut columns = columns.iter().enumerate();
        for ((place, column), values) in columns.by_ref().take(kept).zip(&mut *values) {
            values.resize(rows, 0);
            hasher.for_each_value((place, column), values, |value, hash| *value = hash)?;
        }
        let (insensitive, sensitive) = values.split_at(roles.insensitive.len());
        for (counts, values) in by_column.iter_mut().zip(insensitive) {
            values.iter().for_each(|value| counts.add(*value));
            tuples.iter_mut().zip(values).for_each(|(tuple, value)| *tuple = mixed(*tuple, *value));
        }
        for (row, tuple) in tuples.iter().enumerate() {
            alone.add(avalanche(*tuple));
            let key = avalanche(sensitive.iter().fold(*tuple, |tuple, values| mixed(tuple, values[row])));
            if compared.takes(key) {
                compared.add(key, values.iter().map(|values| values[row]));
            }
        }
        if !roles.quasi.is_empty() {
            for (place, column) in columns {
                hasher.for_each_value((place, column), tuples, |tuple, value| *tuple = mixed(*tuple, value))?;
            }
            tuples.iter().for_each(|tuple| with_quasi.add(avalanche(*tuple)));
        }
        self.rows += rows as u64;
        Ok(())
    }

    /// Adds the rows of another sketch of the same columns and seed.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.alone.merge(other.alone);
        self.with_quasi.merge(other.with_quasi);
        self.by_column.iter_mut().zip(other.by_column).for_each(|(known, seen)| known.merge(seen));
        self.compared.merge(other.compared);
    }

    /// Returns the sketch as numbers, to be merged by [`ExposureSketch::merge_numbers`] elsewhere.
    pub fn to_numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.rows];
        [&self.alone, &self.with_quasi]
            .into_iter()
            .chain(&self.by_column)
            .for_each(|counts| counts.write(&mut numbers));
        self.compared.write(&mut numbers);
        numbers
    }

    /// Adds the rows of another sketch of the same columns and seed, as [`ExposureSketch::to_numbers`] wrote it. Returns `None`
    /// if the numbers are not those of such a sketch.
    #[must_use]
    pub fn merge_numbers(&mut self, numbers: &[u64]) -> Option<()> {
        let mut numbers = numbers.iter().copied();
        let width = self.columns.insensitive.len() + self.columns.sensitive.len();
        let rows = numbers.next()?;
        let alone = UniqueTuples::read(TUPLES, &mut numbers)?;
        let with_quasi = UniqueTuples::read(TUPLES, &mut numbers)?;
        let by_column =
            self.by_column.iter().map(|_| UniqueTuples::read(VALUES, &mut numbers)).collect::<Option<Vec<_>>>()?;
        let compared = TupleSample::read(COMPARED, width, &mut numbers)?;
        numbers.next().is_none().then_some(())?;
        self.rows += rows;
        self.alone.merge(alone);
        self.with_quasi.merge(with_quasi);
        self.by_column.iter_mut().zip(by_column).for_each(|(known, seen)| known.merge(seen));
        self.compared.merge(compared);
        Some(())
    }

    /// Returns the approximate memory of the sketch in bytes.
    pub fn size(&self) -> usize {
        let counts = self.by_column.iter().map(UniqueTuples::size).sum::<usize>();
        let buffers = self.values.iter().chain([&self.tuples]).map(|buffer| buffer.capacity() * size_of::<u64>());
        counts + self.alone.size() + self.with_quasi.size() + self.compared.size() + buffers.sum::<usize>()
    }

    /// Returns the exposure of all rows; `k` is that of the policy.
    pub fn finish(&self, k: u64) -> InsensitiveExposure {
        let share = |counts: &UniqueTuples| match self.rows {
            0 => 0.0,
            rows => (counts.count() as f64 / rows as f64).min(1.0),
        };
        let names = self.columns.insensitive.iter().map(|(name, _)| name.clone());
        let has_quasi = !self.columns.quasi.is_empty();
        InsensitiveExposure {
            is_exact: self.alone.is_exact()
                && self.with_quasi.is_exact()
                && self.by_column.iter().all(UniqueTuples::is_exact),
            alone: share(&self.alone),
            with_quasi: has_quasi.then(|| share(&self.with_quasi)),
            columns: names.zip(self.by_column.iter().map(share)).collect(),
            determined: self.determined(k),
        }
    }

    fn determined(&self, k: u64) -> Vec<DeterminedColumn> {
        let (width, mut found) = (self.columns.insensitive.len(), Vec::new());
        for (insensitive, (insensitive_name, _)) in self.columns.insensitive.iter().enumerate() {
            for (sensitive, (sensitive_name, _)) in self.columns.sensitive.iter().enumerate() {
                let pairs =
                    self.compared.iter().map(|(tuple, rows)| (tuple[insensitive], tuple[width + sensitive], rows));
                let Some(guesses) = GuessedRows::of(pairs, k) else { continue };
                if guesses.lambda() >= NEARLY_DETERMINED {
                    found.push(DeterminedColumn {
                        insensitive: insensitive_name.clone(),
                        sensitive: sensitive_name.clone(),
                        right: guesses.right as f64 / guesses.rows as f64,
                        right_without: guesses.right_without as f64 / guesses.rows as f64,
                    });
                }
            }
        }
        found
    }
}

/// Rows whose sensitive value is guessed right.
struct GuessedRows {
    rows: u64,
    right: u64,
    right_without: u64,
}

impl GuessedRows {
    /// Counts pairs of an insensitive and a sensitive value; `None` if too few rows have insensitive values of k rows.
    fn of(pairs: impl Iterator<Item = (u64, u64, u64)>, k: u64) -> Option<Self> {
        let (mut by_value, mut all): (FxHashMap<u64, FxHashMap<u64, u64>>, u64) = Default::default();
        for (insensitive, sensitive, rows) in pairs {
            *by_value.entry(insensitive).or_default().entry(sensitive).or_default() += rows;
            all += rows;
        }
        by_value.retain(|_, of| of.values().sum::<u64>() >= k.max(2));
        let mut totals: FxHashMap<u64, u64> = FxHashMap::default();
        for (sensitive, rows) in by_value.values().flatten() {
            *totals.entry(*sensitive).or_default() += rows;
        }
        let right = by_value.values().filter_map(|of| of.values().max()).sum();
        let rows = totals.values().sum::<u64>();
        let is_covered = rows > 0 && rows as f64 >= MIN_COVERED * all as f64;
        is_covered.then(|| Self { rows, right, right_without: totals.values().copied().max().unwrap_or(0) })
    }

    /// Returns the share of wrong guesses that are avoided if the insensitive value is known [Goodman 1954].
    fn lambda(&self) -> f64 {
        match self.rows - self.right_without {
            // The column has one value, which everyone knows.
            0 => 0.0,
            wrong => (self.right - self.right_without) as f64 / wrong as f64,
        }
    }
}

impl InsensitiveExposure {
    /// Returns the larger of the shares of singled out rows.
    pub fn singled_out(&self) -> f64 {
        self.with_quasi.unwrap_or(0.0).max(self.alone)
    }

    /// Returns warnings for users, without a value of the data.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let about = if self.is_exact { "" } else { "about " };
        let percent = |share: f64| format!("{about}{:.1} %", 100.0 * share);
        if self.singled_out() > MUCH_SINGLED_OUT {
            let mut columns: Vec<&(String, f64)> = self.columns.iter().collect();
            columns.sort_by(|a, b| b.1.total_cmp(&a.1));
            let columns: Vec<String> =
                columns.iter().map(|(name, share)| format!("`{name}` {:.1} %", 100.0 * share)).collect();
            let with_quasi = match self.with_quasi {
                Some(share) => format!(", and {} together with the quasi-identifiers", percent(share)),
                None => String::new(),
            };
            warnings.push(format!(
                "insensitive columns single out {} of the rows{with_quasi} (by itself: {}); a column that others may know is \
                 `quasi`, one that is not needed is `identifier`; `insensitive_uniqueness` under [privacy] refuses such releases",
                percent(self.alone),
                columns.join(", ")
            ));
        }
        warnings.extend(self.determined.iter().map(|pair| {
            format!(
                "insensitive `{}` nearly determines the sensitive `{}`: guesses are right for {} of the rows with it, and for {} \
                 without it; call it `sensitive` too, or leave it out as `identifier`",
                pair.insensitive,
                pair.sensitive,
                percent(pair.right),
                percent(pair.right_without)
            )
        }));
        warnings
    }
}

/// Mixes the hash of a value into that of a tuple. The order of values matters; [`avalanche`] makes all bits of the result usable.
#[inline]
fn mixed(tuple: u64, value: u64) -> u64 {
    folded(tuple ^ value, 0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
#[path = "exposure_tests.rs"]
mod tests;
