//! The verifier: recomputes every promise from released values alone.
//!
//! It shares no code with the algorithms. It looks at a release as an intruder would: rows with the same values in the
//! quasi-identifier columns are a class, and it counts. Classes are told apart by their full values, so that no two are
//! ever taken for one. Sensitive values are told apart by a 64-bit hash: should two of them collide, a class looks less
//! diverse than it is, and the verifier errs on the side of refusing.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type, Schema};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;
use twox_hash::XxHash3_64;

/// What a release promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The quasi-identifier columns, by their names in the release.
    pub quasi: Vec<String>,
    /// The sensitive columns.
    pub sensitive: Vec<String>,
    /// At least so many rows in each class.
    pub k: u64,
    /// At least so many distinct values of each sensitive column in each class.
    pub p: u64,
}

/// Why a release can't be examined.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// A column of the promise is not there.
    #[error("the release has no column `{0}`; name the columns as they are in the release")]
    NoColumn(String),
    /// Two columns share the name.
    #[error("the release has more than one column `{0}`; rename one of them")]
    TwoColumns(String),
    /// A column can't be compared.
    #[error("column `{0}` has a type whose values can't be compared")]
    Type(String),
}

/// Counts the classes of a release, batch after batch.
#[derive(Debug)]
pub struct Verifier {
    promise: Promise,
    quasi: Vec<usize>,
    sensitive: Vec<usize>,
    quasi_rows: Option<RowConverter>,
    sensitive_rows: Vec<RowConverter>,
    classes: FxHashMap<Box<[u8]>, Facts>,
    rows: u64,
}

/// What was seen of one class.
#[derive(Debug)]
struct Facts {
    rows: u64,
    /// Per sensitive column, hashes of the distinct values.
    values: Vec<FxHashSet<u64>>,
}

/// What the verifier found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Rows of the release.
    pub rows: u64,
    /// Classes of the release.
    pub classes: u64,
    /// The size of the smallest class; zero for a release without rows.
    pub smallest_class: u64,
    /// The sum of squared class sizes.
    pub sum_of_squares: u64,
    /// Classes with fewer than k rows.
    pub classes_below_k: u64,
    /// What was found of each sensitive column.
    pub sensitive: Vec<SensitiveFindings>,
}

/// What the verifier found of one sensitive column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensitiveFindings {
    /// The column.
    pub column: String,
    /// The fewest distinct values in a class; zero for a release without rows.
    pub fewest: u64,
    /// Classes with fewer than p distinct values.
    pub classes_below_p: u64,
}

impl Findings {
    /// Whether the promise holds. A release without rows keeps no promise.
    pub fn holds(&self) -> bool {
        self.rows > 0 && self.classes_below_k == 0 && self.sensitive.iter().all(|column| column.classes_below_p == 0)
    }
}

impl Verifier {
    /// A verifier for releases with this schema.
    pub fn new(promise: Promise, schema: &Schema) -> Result<Self, VerifyError> {
        let find = |name: &String| {
            let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
            match (found.next(), found.next()) {
                (Some((index, _)), None) => Ok(index),
                (None, _) => Err(VerifyError::NoColumn(name.clone())),
                _ => Err(VerifyError::TwoColumns(name.clone())),
            }
        };
        let quasi = promise.quasi.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let sensitive = promise.sensitive.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let data_type = |index: usize| schema.field(index).data_type();
        let quasi_types: Vec<&DataType> = quasi.iter().map(|index| data_type(*index)).collect();
        let quasi_rows = match quasi_types.is_empty() {
            true => None,
            false => Some(converter(&quasi_types).ok_or_else(|| VerifyError::Type(promise.quasi.join("`, `")))?),
        };
        let sensitive_rows = sensitive
            .iter()
            .map(|i| converter(&[data_type(*i)]).ok_or_else(|| VerifyError::Type(schema.field(*i).name().clone())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { promise, quasi, sensitive, quasi_rows, sensitive_rows, classes: FxHashMap::default(), rows: 0 })
    }

    /// Examines a batch.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), VerifyError> {
        let columns: Vec<ArrayRef> = self.quasi.iter().map(|index| batch.column(*index).clone()).collect();
        let keys = match &self.quasi_rows {
            Some(rows) => Some(convert(rows, &columns, || self.promise.quasi.join("`, `"))?),
            None => None,
        };
        let values = self
            .sensitive
            .iter()
            .zip(&self.sensitive_rows)
            .map(|(index, rows)| {
                let column = as_read(batch.column(*index));
                let hashes =
                    convert(rows, std::slice::from_ref(&column), || batch.schema().field(*index).name().clone())?;
                let valid = column.logical_nulls();
                let is_valid = move |row: usize| valid.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let hash = |row: usize| is_valid(row).then(|| XxHash3_64::oneshot(hashes.row(row).data()));
                Ok((0..batch.num_rows()).map(hash).collect::<Vec<Option<u64>>>())
            })
            .collect::<Result<Vec<_>, VerifyError>>()?;
        let key = |row: usize| keys.as_ref().map_or(&[][..], |keys| keys.row(row).data());
        let mut row = 0;
        while row < batch.num_rows() {
            let mut end = row + 1;
            while end < batch.num_rows() && key(end) == key(row) {
                end += 1;
            }
            self.count(key(row), row..end, &values);
            row = end;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Counts a run of rows that are in one class.
    fn count(&mut self, key: &[u8], run: std::ops::Range<usize>, values: &[Vec<Option<u64>>]) {
        if !self.classes.contains_key(key) {
            let facts = Facts { rows: 0, values: vec![FxHashSet::default(); values.len()] };
            self.classes.insert(key.into(), facts);
        }
        if let Some(facts) = self.classes.get_mut(key) {
            facts.rows += run.len() as u64;
            for (seen, column) in facts.values.iter_mut().zip(values) {
                seen.extend(column[run.clone()].iter().flatten());
            }
        }
    }

    /// Adds what another verifier of the same promise has seen of other rows.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        for (key, facts) in other.classes {
            match self.classes.get_mut(&key) {
                Some(known) => {
                    known.rows += facts.rows;
                    for (known, seen) in known.values.iter_mut().zip(facts.values) {
                        known.extend(seen);
                    }
                }
                None => {
                    self.classes.insert(key, facts);
                }
            }
        }
    }

    /// What was found.
    pub fn finish(self) -> Findings {
        let sizes = || self.classes.values().map(|facts| facts.rows);
        let distinct = |column: usize| self.classes.values().map(move |facts| facts.values[column].len() as u64);
        let sensitive = self.promise.sensitive.iter().enumerate().map(|(index, column)| SensitiveFindings {
            column: column.clone(),
            fewest: distinct(index).min().unwrap_or(0),
            classes_below_p: distinct(index).filter(|count| self.promise.p > 1 && *count < self.promise.p).count()
                as u64,
        });
        Findings {
            rows: self.rows,
            classes: self.classes.len() as u64,
            smallest_class: sizes().min().unwrap_or(0),
            sum_of_squares: sizes().fold(0, |sum: u64, size| sum.saturating_add(size.saturating_mul(size))),
            classes_below_k: sizes().filter(|size| *size < self.promise.k).count() as u64,
            sensitive: sensitive.collect(),
        }
    }
}

fn converter(types: &[&DataType]) -> Option<RowConverter> {
    let fields: Vec<SortField> = types.iter().map(|data_type| SortField::new((*data_type).clone())).collect();
    RowConverter::new(fields).ok()
}

/// Zeros of either sign read the same, and so do all NaNs: told apart, they would make a class look more diverse.
fn as_read(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float16 => {
            let one = |value: half::f16| if value.is_nan() { half::f16::NAN } else { value + half::f16::ZERO };
            Arc::new(column.as_primitive::<Float16Type>().unary::<_, Float16Type>(one))
        }
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            dictionary.with_values(as_read(dictionary.values()))
        }
        _ => Arc::clone(column),
    }
}

fn convert(rows: &RowConverter, columns: &[ArrayRef], name: impl FnOnce() -> String) -> Result<Rows, VerifyError> {
    rows.convert_columns(columns).map_err(|_| VerifyError::Type(name()))
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
