//! Merges the dictionaries of all batches of a string column into one.
//!
//! Every batch has its own dictionary ([`crate::dictionary_encode`]), or the views of its strings if few of them repeat. Encoded by
//! a global one, a column is a list of small integers, which are fast to permute and need no further access to the strings. A
//! column with too many strings keeps its batches. The choice depends on the set of strings alone, not on batches or their order.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, NullBufferBuilder, StringArray, StringBuilder, StringViewArray, UInt32Array,
};
use arrow::datatypes::UInt32Type;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::error::{Result, kernel};

/// Maximum number of strings that are merged; `MAX_BYTES` limits their total size.
pub const MAX_STRINGS: usize = 1 << 16;
const MAX_BYTES: usize = 16 << 20;

/// The distinct strings of one column.
#[derive(Debug, Default)]
pub struct GlobalDictionary {
    strings: String,
    /// End offset of each string.
    ends: Vec<usize>,
    index: HashTable<u32>,
    is_too_large: bool,
}

impl GlobalDictionary {
    /// Adds the strings of a batch.
    pub fn add(&mut self, column: &dyn Array) {
        match BatchStrings::of(column) {
            Some(BatchStrings::Dictionary(strings)) => self.add_all(strings.iter().flatten()),
            Some(BatchStrings::Views(strings)) => self.add_all(strings.iter().flatten()),
            None => {}
        }
    }

    fn add_all<'a>(&mut self, strings: impl Iterator<Item = &'a str>) {
        for string in strings {
            if self.is_too_large {
                return;
            }
            self.number(string);
            if self.ends.len() > MAX_STRINGS || self.strings.len() > MAX_BYTES {
                *self = Self { is_too_large: true, ..Self::default() };
            }
        }
    }

    /// Returns whether the dictionary holds all strings that were added.
    pub fn is_whole(&self) -> bool {
        !self.is_too_large
    }

    /// Returns all strings in the order of their numbers; `None` if there are too many.
    pub fn values(&self) -> Option<ArrayRef> {
        if self.is_too_large {
            return None;
        }
        let mut values = StringBuilder::with_capacity(self.ends.len(), self.strings.len());
        (0..self.ends.len()).for_each(|number| values.append_value(string(&self.strings, &self.ends, number as u32)));
        Some(Arc::new(values.finish()))
    }

    /// Returns the concatenated numbers of the strings of batches that were added.
    pub fn numbers(&mut self, columns: &[ArrayRef]) -> Result<UInt32Array> {
        let rows = columns.iter().map(|column| column.len()).sum();
        let mut numbers: Vec<u32> = Vec::with_capacity(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        for column in columns {
            let of_batch = match BatchStrings::of(column) {
                Some(BatchStrings::Dictionary(strings)) => {
                    let of_entry: Vec<u32> =
                        (0..strings.len()).map(|entry| self.number(strings.value(entry))).collect();
                    let keys = column.as_dictionary::<UInt32Type>().keys();
                    // Keys of null rows are arbitrary, and the dictionary may be empty.
                    numbers.extend(keys.values().iter().map(|key| of_entry.get(*key as usize).copied().unwrap_or(0)));
                    keys.nulls()
                }
                Some(BatchStrings::Views(strings)) => {
                    numbers.extend(strings.iter().map(|string| string.map_or(0, |string| self.number(string))));
                    strings.nulls()
                }
                None => {
                    numbers.resize(numbers.len() + column.len(), 0);
                    nulls.append_n_nulls(column.len());
                    continue;
                }
            };
            match of_batch {
                Some(of_batch) => nulls.append_buffer(of_batch),
                None => nulls.append_n_non_nulls(column.len()),
            }
        }
        UInt32Array::try_new(numbers.into(), nulls.finish()).map_err(kernel("lexicon"))
    }

    /// Returns the memory of the strings, including their copy as an array.
    pub fn size(&self) -> usize {
        2 * self.strings.capacity() + 3 * size_of::<u32>() * self.ends.capacity() + self.index.allocation_size()
    }

    fn number(&mut self, of: &str) -> u32 {
        let Self { strings, ends, index, .. } = self;
        let hash = |string: &str| FxBuildHasher.hash_one(string);
        if let Some(number) = index.find(hash(of), |number| string(strings, ends, *number) == of) {
            return *number;
        }
        let number = ends.len() as u32;
        strings.push_str(of);
        ends.push(strings.len());
        index.insert_unique(hash(of), number, |number| hash(string(strings, ends, *number)));
        number
    }
}

fn string<'a>(strings: &'a str, ends: &[usize], number: u32) -> &'a str {
    let start = (number as usize).checked_sub(1).map_or(0, |before| ends[before]);
    &strings[start..ends[number as usize]]
}

/// The strings of one batch.
enum BatchStrings<'a> {
    /// Those of its dictionary.
    Dictionary(&'a StringArray),
    /// Those of its rows.
    Views(&'a StringViewArray),
}

impl<'a> BatchStrings<'a> {
    fn of(column: &'a dyn Array) -> Option<Self> {
        match column.as_dictionary_opt::<UInt32Type>() {
            Some(encoded) => encoded.values().as_string_opt().map(Self::Dictionary),
            None => column.as_string_view_opt().map(Self::Views),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;
    use arrow::compute::take;

    use super::*;
    use crate::dictionary_encode::DictionaryEncoder;

    fn compact(values: &[Option<&str>]) -> ArrayRef {
        let views: ArrayRef = Arc::new(values.iter().collect::<StringViewArray>());
        DictionaryEncoder::default().compact(&views).unwrap()
    }

    #[test]
    fn numbers_over_batches_stand_for_their_strings() {
        let batches: [&[Option<&str>]; 4] = [
            &[Some("b"), None, Some("")],
            &[],
            &[None],
            &[Some("a long string, longer than a view"), Some("b"), Some("b")],
        ];
        let mut lexicon = GlobalDictionary::default();
        batches.iter().for_each(|batch| lexicon.add(&compact(batch)));
        let values = lexicon.values().unwrap();
        assert_eq!(values.len(), 3);
        for batch in batches {
            let numbers = lexicon.numbers(&[compact(batch)]).unwrap();
            let back = take(&values, &numbers, None).unwrap();
            assert_eq!(back.as_string::<i32>().iter().collect::<Vec<_>>(), batch);
        }
        let numbers = lexicon.numbers(&batches.map(compact)).unwrap();
        let back = take(&values, &numbers, None).unwrap();
        assert_eq!(back.as_string::<i32>().iter().collect::<Vec<_>>(), batches.concat());
        assert_eq!(lexicon.values().unwrap().len(), 3);
    }

    #[test]
    fn views_of_rows_have_the_numbers_of_dictionaries() {
        let texts = [Some("b"), None, Some(""), Some("a long string, longer than a view"), Some("b"), None];
        let views: ArrayRef = Arc::new(texts.iter().collect::<StringViewArray>());
        let (mut of_views, mut of_both) = (GlobalDictionary::default(), GlobalDictionary::default());
        of_views.add(&views);
        of_both.add(&compact(&texts[..2]));
        of_both.add(&views.slice(2, 4));
        assert_eq!((of_views.values().unwrap().len(), &of_views.values()), (3, &of_both.values()));
        let numbers = of_views.numbers(&[Arc::clone(&views)]).unwrap();
        assert_eq!(numbers, of_both.numbers(&[compact(&texts[..2]), views.slice(2, 4)]).unwrap());
        let back = take(&of_views.values().unwrap(), &numbers, None).unwrap();
        assert_eq!(back.as_string::<i32>().iter().collect::<Vec<_>>(), texts);
    }

    #[test]
    fn too_many_strings_are_left_as_they_are_whatever_their_order() {
        let texts: Vec<String> = (0..=MAX_STRINGS).map(|number| format!("text {number}")).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        for (texts, is_whole) in [(&texts[..], false), (&texts[1..], true)] {
            for size in [1000, 100_000] {
                let mut lexicon = GlobalDictionary::default();
                texts.chunks(size).for_each(|batch| lexicon.add(&compact(batch)));
                texts.rchunks(size).for_each(|batch| lexicon.add(&compact(batch)));
                assert_eq!(lexicon.values().is_some(), is_whole);
            }
        }
    }
}
