//! Look-alikes: sensitive values that differ in bytes, but not for a reader.
//!
//! `HIV`, `hiv` and `HIV ` are one diagnosis, and a class that has nothing else discloses it. The *key* of a text is the text
//! after these steps; texts with equal keys count as one value, and a text with an empty key is not counted:
//!
//! 1. invisible characters are removed: U+00AD, U+034F, U+061C, U+180E, U+200B to U+200F, U+202A to U+202E, U+2060 to U+206F,
//!    U+FE00 to U+FE0F and U+FEFF;
//! 2. Unicode normalization form NFKC, which also merges ligatures, widths and superscripts;
//! 3. case: every character to lower, upper and again lower case by the full mappings of Unicode, so that `ß`, `ẞ` and `ss` are one;
//! 4. NFKC again, since a case mapping may leave a character decomposed;
//! 5. white space and control characters at both ends are removed.
//!
//! The verifier has its own implementation.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::datatypes::DataType;
use icu_normalizer::ComposingNormalizerBorrowed;

use crate::dictionary_encode::is_text;
use crate::error::{Result, kernel};
use crate::numeric_view::{labels, linear_numbers};

/// Which values of a sensitive column count as one, and which are not counted. The released values do not depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAlikeRule {
    /// Whether texts that look alike count as one value, and texts without a visible character are not counted.
    pub merges: bool,
    /// Values that are not counted, as text. Numbers are compared as numbers.
    pub missing: Arc<[String]>,
}

/// Look-alikes are merged, and no value is missing.
impl Default for LookAlikeRule {
    fn default() -> Self {
        Self { merges: true, missing: Arc::new([]) }
    }
}

impl LookAlikeRule {
    /// A rule under which every value counts by itself.
    pub fn distinct() -> Self {
        Self { merges: false, ..Self::default() }
    }

    /// Returns whether the rule affects how values of this type are counted.
    pub fn applies_to(&self, data_type: &DataType) -> bool {
        !self.missing.is_empty() || self.merges && is_text_type(data_type)
    }

    /// Returns the key of a text: texts with equal keys count as one value, and `None` means that it is not counted.
    pub(crate) fn key(&self, text: &str) -> Option<String> {
        if !self.merges {
            return (!self.missing.iter().any(|missing| missing == text)).then(|| text.to_owned());
        }
        let key = look_alike_key(text);
        let is_missing = key.is_empty() || self.missing.iter().any(|missing| look_alike_key(missing) == key);
        (!is_missing).then_some(key)
    }

    /// Returns for each value whether it is not counted.
    pub(crate) fn are_missing(&self, values: &ArrayRef) -> Result<Vec<bool>> {
        if !self.applies_to(values.data_type()) {
            return Ok(vec![false; values.len()]);
        }
        let texts = labels(values).map_err(kernel("labels"))?;
        if is_text_type(values.data_type()) {
            return Ok(texts.iter().map(|text| self.key(text).is_none()).collect());
        }
        let listed: Vec<f64> = self.missing.iter().filter_map(|missing| missing.trim().parse().ok()).collect();
        let numbers = linear_numbers(values).filter(|_| values.data_type().is_numeric());
        let is_missing = |(row, text): (usize, &String)| {
            let is_number = numbers.as_ref().is_some_and(|numbers| listed.contains(&numbers[row]));
            is_number || self.missing.iter().any(|missing| missing == text)
        };
        Ok(texts.iter().enumerate().map(is_missing).collect())
    }

    /// Returns a column in which every text is replaced by its key, and values that are not counted are null.
    pub fn keys_of(&self, column: &ArrayRef) -> Result<ArrayRef> {
        if !self.applies_to(column.data_type()) {
            return Ok(Arc::clone(column));
        }
        let nulls = column.logical_nulls();
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let texts = labels(column).map_err(kernel("labels"))?;
        let keys: StringArray = match is_text_type(column.data_type()) {
            true => {
                texts.iter().enumerate().map(|(row, text)| if is_null(row) { None } else { self.key(text) }).collect()
            }
            false => {
                let missing = self.are_missing(column)?;
                let key = |(row, text): (usize, String)| (!is_null(row) && !missing[row]).then_some(text);
                texts.into_iter().enumerate().map(key).collect()
            }
        };
        Ok(Arc::new(keys))
    }
}

/// Whether values are text, plain or dictionary-encoded.
pub(crate) fn is_text_type(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text_type(values),
        plain => is_text(plain),
    }
}

/// Returns the key of a text; see the documentation of the module.
pub fn look_alike_key(text: &str) -> String {
    let is_end = |mark: char| mark.is_whitespace() || mark.is_control();
    if text.is_ascii() {
        return text.trim_matches(is_end).to_ascii_lowercase();
    }
    let normalizer = ComposingNormalizerBorrowed::new_nfkc();
    let visible: String = text.chars().filter(|mark| !is_invisible(*mark)).collect();
    let mut key = String::with_capacity(visible.len());
    for mark in normalizer.normalize(&visible).chars() {
        for upper in mark.to_lowercase().flat_map(char::to_uppercase) {
            key.extend(upper.to_lowercase());
        }
    }
    normalizer.normalize(&key).trim_matches(is_end).to_owned()
}

/// Whether a character has no width and no meaning by itself.
fn is_invisible(mark: char) -> bool {
    matches!(
        mark,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
    )
}

#[cfg(test)]
#[path = "look_alikes_tests.rs"]
mod tests;
