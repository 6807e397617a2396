//! Finds the sensitive category of a value: by a list of values, by prefixes of texts, or by bands of numbers and dates.

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use rustc_hash::FxHashMap;

use crate::columns::{Categories, ValueBand};
use crate::error::{CoreError, Result, kernel};
use crate::numeric_view::{labels, linear_numbers};

/// The categories of a sensitive column, ready for lookups.
pub(crate) struct CategoryFinder<'a> {
    of_value: FxHashMap<&'a str, u32>,
    /// The longest first.
    of_prefix: Vec<(&'a str, u32)>,
    of_band: Vec<(ValueBand, u32)>,
}

impl<'a> CategoryFinder<'a> {
    pub(crate) fn new(categories: &'a Categories) -> Self {
        let numbered = || categories.list.iter().zip(0_u32..);
        let of_value = numbered().flat_map(|(one, code)| one.values.iter().map(move |value| (value.as_str(), code)));
        let of_prefix = numbered().flat_map(|(one, code)| one.prefixes.iter().map(move |text| (text.as_str(), code)));
        let of_band = numbered().flat_map(|(one, code)| one.bands.iter().map(move |band| (*band, code)));
        let mut of_prefix: Vec<(&str, u32)> = of_prefix.collect();
        of_prefix.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Self { of_value: of_value.collect(), of_prefix, of_band: of_band.collect() }
    }

    /// Returns the category of each value; `None` for a null and for a value without a category.
    pub(crate) fn find(&self, column: &str, values: &ArrayRef) -> Result<Vec<Option<u32>>> {
        let texts = labels(values).map_err(|_| CoreError::NoText { column: column.to_owned() })?;
        let numbers = match self.of_band.is_empty() {
            true => None,
            false => {
                let numbers = linear_numbers(&plain(values)?);
                Some(numbers.ok_or_else(|| CoreError::NoNumbers { column: column.to_owned() })?)
            }
        };
        let nulls = values.logical_nulls();
        let one = |(row, text): (usize, &String)| {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if is_null { None } else { self.category(text, numbers.as_ref().map(|numbers| numbers[row])) }
        };
        Ok(texts.iter().enumerate().map(one).collect())
    }

    fn category(&self, text: &str, number: Option<f64>) -> Option<u32> {
        let by_prefix = || self.of_prefix.iter().find(|(prefix, _)| text.starts_with(prefix));
        let by_band = || self.of_band.iter().find(|(band, _)| number.is_some_and(|number| band.contains(number)));
        let listed = self.of_value.get(text).copied();
        listed.or_else(|| by_prefix().map(|(_, code)| *code)).or_else(|| by_band().map(|(_, code)| *code))
    }
}

/// Returns the values of a dictionary, row by row.
fn plain(values: &ArrayRef) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::Dictionary(_, of) => cast(values, of).map_err(kernel("cast")),
        _ => Ok(ArrayRef::clone(values)),
    }
}
