//! Profiles of columns in bounded memory: number of distinct and unique values, text shapes and spread. The draft of a
//! policy is based on them.
//!
//! ```text
//!  batches ──► Profile::push ──► counts of rows and nulls
//!                  └─► DistinctSample: row counts of the values whose hash has enough trailing zeros
//! ```
//!
//! Up to [`CAPACITY`] distinct values all figures are exact. Beyond that, values are sampled by their hash alone, so
//! figures do not depend on the order of rows. A profile stores no value as text: it keeps the shape of a text, and
//! exposes numbers only as the distance of two quantiles.

mod sample;
mod shape;

pub use sample::CAPACITY;
pub use shape::TextShape;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use twox_hash::XxHash3_64;

use crate::dictionary_encode::is_text;
use crate::numeric_view::{coordinates, integers, labels};
use sample::{DistinctSample, ValueSummary};

/// Kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Texts of any length and encoding.
    Text,
    /// True or false.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers that are not integers by type.
    Fraction,
    /// Dates without a time of day.
    Date,
    /// Dates with a time of day.
    Timestamp,
    /// Times of day.
    Time,
    /// Nested or binary values, which have no label.
    Other,
}

impl ValueKind {
    /// Returns the kind of a type; that of the values for dictionaries.
    pub fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Dictionary(_, values) => Self::of(values),
            text if is_text(text) => Self::Text,
            DataType::Boolean => Self::Boolean,
            number if number.is_integer() => Self::Integer,
            number if number.is_numeric() => Self::Fraction,
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Timestamp(_, _) => Self::Timestamp,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            _ => Self::Other,
        }
    }
}

/// Profile of one column.
#[derive(Clone, Debug)]
pub struct Profile {
    kind: ValueKind,
    rows: u64,
    nulls: u64,
    not_finite: u64,
    sample: DistinctSample,
}

impl Profile {
    /// Creates an empty profile of a column of this type.
    pub fn new(data_type: &DataType) -> Self {
        Self { kind: ValueKind::of(data_type), rows: 0, nulls: 0, not_finite: 0, sample: DistinctSample::default() }
    }

    /// Adds rows of the column.
    pub fn push(&mut self, column: &ArrayRef) {
        let nulls = column.logical_null_count() as u64;
        self.rows += column.len() as u64;
        self.nulls += nulls;
        let plain = match column.data_type() {
            DataType::Dictionary(_, values) => cast(column, values).ok(),
            _ => Some(ArrayRef::clone(column)),
        };
        let Some(plain) = plain.filter(|_| self.kind != ValueKind::Other) else { return };
        match self.kind {
            ValueKind::Text => self.push_text(&plain),
            ValueKind::Fraction if plain.data_type().is_floating() => self.push_floats(&plain),
            _ => match integers(&plain) {
                Some(numbers) => self.push_integers(&plain, &numbers),
                None => self.push_labels(&plain),
            },
        }
    }

    fn push_text(&mut self, column: &ArrayRef) {
        let Ok(text) = cast(column, &DataType::LargeUtf8) else { return };
        for value in text.as_string::<i64>().iter().flatten() {
            self.sample.add(hashed(value.as_bytes()), || ValueSummary { number: 0.0, shape: TextShape::of(value) });
        }
    }

    fn push_floats(&mut self, column: &ArrayRef) {
        let Ok(numbers) = cast(column, &DataType::Float64) else { return };
        for number in numbers.as_primitive::<Float64Type>().iter().flatten() {
            if number.is_finite() {
                // Normalize negative zero.
                let number = number + 0.0;
                self.sample.add(hashed(&number.to_le_bytes()), || ValueSummary { number, shape: TextShape::default() });
            } else {
                self.not_finite += 1;
            }
        }
    }

    fn push_integers(&mut self, column: &ArrayRef, numbers: &[i128]) {
        let sizes = coordinates(column);
        let is_valid = |row: usize| column.is_valid(row);
        for (row, number) in numbers.iter().enumerate().filter(|(row, _)| is_valid(*row)) {
            let size = sizes.as_ref().map_or(*number as f64, |sizes| sizes[row]);
            self.sample
                .add(hashed(&number.to_le_bytes()), || ValueSummary { number: size, shape: TextShape::default() });
        }
    }

    /// Adds booleans, and numbers too wide for `i128`.
    fn push_labels(&mut self, column: &ArrayRef) {
        let Ok(labels) = labels(column) else { return };
        for label in labels.iter().enumerate().filter(|(row, _)| column.is_valid(*row)).map(|(_, label)| label) {
            let number = label.parse().unwrap_or(0.0);
            self.sample.add(hashed(label.as_bytes()), || ValueSummary { number, shape: TextShape::default() });
        }
    }

    /// Returns the kind of the values.
    pub fn kind(&self) -> ValueKind {
        self.kind
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of nulls.
    pub fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Returns the number of rows that are NaN or infinite.
    pub fn not_finite(&self) -> u64 {
        self.not_finite
    }

    /// Returns the number of rows that are neither null, NaN nor infinite.
    pub fn valued(&self) -> u64 {
        self.rows - self.nulls - self.not_finite
    }

    /// Returns the estimated number of distinct values.
    pub fn distinct(&self) -> u64 {
        self.sample.distinct().min(self.valued())
    }

    /// Returns the estimated number of values that occur in one row only.
    pub fn uniques(&self) -> u64 {
        self.sample.uniques().min(self.valued())
    }

    /// Returns whether the numbers of distinct and unique values are exact.
    pub fn is_exact(&self) -> bool {
        self.sample.is_exact()
    }

    /// Returns the share of rows whose value no other row has.
    pub fn unique_share(&self) -> f64 {
        if self.valued() == 0 { 0.0 } else { (self.uniques() as f64 / self.valued() as f64).min(1.0) }
    }

    /// Returns the share of distinct texts that have this shape.
    pub fn shape_share(&self, shape: TextShape) -> f64 {
        self.sample.shape_share(shape)
    }

    /// Returns the number of characters of the longest text, at most 255.
    pub fn longest(&self) -> usize {
        self.sample.longest()
    }

    /// Returns the distance between the 1 % and the 99 % quantile; `None` for text, or without values. In days for
    /// dates and timestamps.
    pub fn spread(&self, data_type: &DataType) -> Option<f64> {
        let spread = self.sample.quantile(0.99)? - self.sample.quantile(0.01)?;
        match self.kind {
            ValueKind::Integer | ValueKind::Fraction => Some(spread),
            ValueKind::Date | ValueKind::Timestamp => Some(spread / per_day(data_type)),
            _ => None,
        }
    }
}

/// Returns the number of units of a type per day.
fn per_day(data_type: &DataType) -> f64 {
    use arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match data_type {
        DataType::Dictionary(_, values) => per_day(values),
        DataType::Timestamp(Second, _) => 86_400.0,
        DataType::Timestamp(Millisecond, _) | DataType::Date64 => 86_400e3,
        DataType::Timestamp(Microsecond, _) => 86_400e6,
        DataType::Timestamp(Nanosecond, _) => 86_400e9,
        _ => 1.0,
    }
}

fn hashed(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
