//! Checks that released values are not generalized beyond their constraints [Campan 2010, Def. 5].
//!
//! A label must be one of the allowed texts. Released numbers of a class must lie in one band, which holds if the
//! smallest and the largest do; a border is the inclusive start of a band. A mean or median is a single number and does
//! not show the width of a class, so it is always within one band.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use super::VerifyError;
use super::promise::{AllowedValues, LimitPromise};
use super::reader::{ColumnReader, Meaning, TextMeaning};

/// Finds the rows that violate a constraint.
#[derive(Debug)]
pub(super) enum LimitReader {
    /// From texts; violations have a symbol.
    Texts(Box<ColumnReader>),
    /// From the numbers of some columns, which must all be in one band.
    Numbers { columns: Vec<(usize, String)>, borders: Arc<[f64]> },
}

impl LimitReader {
    /// Creates a reader for releases with this schema; `find` looks up columns.
    pub(super) fn new(
        limit: &LimitPromise,
        schema: &Schema,
        find: impl Fn(&str) -> Result<usize, VerifyError>,
    ) -> Result<Self, VerifyError> {
        let texts = |name: &str, meaning: TextMeaning| {
            let index = find(name)?;
            Ok(Self::Texts(Box::new(ColumnReader::new(index, schema.field(index), Meaning::Text(meaning))?)))
        };
        let (columns, borders) = match &limit.allowed {
            AllowedValues::Labels(allowed) => {
                return texts(&limit.column, TextMeaning::Allowed(Arc::clone(allowed)));
            }
            AllowedValues::Bands { columns, borders } => (columns, borders),
        };
        let places = columns.iter().map(|name| Ok((find(name)?, name.clone()))).collect::<Result<Vec<_>, _>>()?;
        match (places.as_slice(), columns.as_slice()) {
            ([], _) => Err(VerifyError::NoColumn(limit.column.clone())),
            ([(index, _)], [name]) if is_text(schema.field(*index).data_type()) => {
                texts(name, TextMeaning::OneBand(Arc::clone(borders)))
            }
            _ => match places.iter().find(|(index, _)| !is_number(schema.field(*index).data_type())) {
                Some((_, name)) => Err(VerifyError::Type(name.clone())),
                None => Ok(Self::Numbers { columns: places, borders: Arc::clone(borders) }),
            },
        }
    }

    /// Returns whether each row violates the constraint.
    pub(super) fn is_beyond(&mut self, batch: &RecordBatch) -> Result<Vec<bool>, VerifyError> {
        match self {
            Self::Texts(reader) => Ok(reader.read(batch)?.iter().map(Option::is_some).collect()),
            Self::Numbers { columns, borders } => {
                let numbers = columns.iter().map(|(index, name)| {
                    let numbers = as_written(batch.column(*index));
                    Ok(numbers.map_err(|_| VerifyError::Type(name.clone()))?.as_primitive::<Float64Type>().clone())
                });
                let numbers = numbers.collect::<Result<Vec<Float64Array>, VerifyError>>()?;
                let bands = |row: usize| {
                    let shown = numbers.iter().map(move |column| column.is_valid(row).then(|| column.value(row)));
                    shown.map(|number| number.map(|number| band(number, borders)))
                };
                // A bound next to a null is an unbounded interval.
                let is_beyond = |row: usize| bands(row).any(|other| Some(other) != bands(row).next());
                Ok((0..batch.num_rows()).map(is_beyond).collect())
            }
        }
    }
}

/// Converts to f64 by decimal text: 0.7 in single precision becomes 0.7, not the double just below it.
fn as_written(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::Float16 | DataType::Float32 => cast(&cast(column, &DataType::Utf8)?, &DataType::Float64),
        _ => cast(column, &DataType::Float64),
    }
}

pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_text(value),
        other => other.is_string(),
    }
}

fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_number(value),
        other => other.is_numeric() || other.is_null(),
    }
}

/// Returns the band of a number, 0 for numbers below all borders; `None` for NaN.
fn band(number: f64, borders: &[f64]) -> Option<usize> {
    (!number.is_nan()).then(|| borders.partition_point(|border| *border <= number))
}

/// Whether a text is a number, or an interval that crosses no border. `*` is neither: it covers null and numbers.
pub(super) fn is_in_one_band(text: &str, borders: &[f64]) -> bool {
    ends(text).is_some_and(|(lower, upper)| band(lower, borders) == band(upper, borders))
}

/// Parses `25` or `[25-39]`. Numbers may have a sign and a signed exponent, so the separator is the hyphen with a
/// number on either side.
fn ends(text: &str) -> Option<(f64, f64)> {
    if let Some(value) = number(text) {
        return Some((value, value));
    }
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    let range = |(at, hyphen): (usize, &str)| Some((number(&inside[..at])?, number(&inside[at + hyphen.len()..])?));
    inside.match_indices('-').filter_map(range).find(|(lower, upper)| lower <= upper)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
