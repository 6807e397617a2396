//! Frequencies of the values of a sensitive column in a class, with or without one of its rows.

use super::histogram::Histogram;
use crate::domain::NULL;

/// Row counts by code, of which one may differ from the class by a row. Nulls are not counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frequencies<'a> {
    histogram: &'a Histogram,
    plus: Option<u32>,
    minus: Option<u32>,
}

impl<'a> Frequencies<'a> {
    pub(super) fn of(histogram: &'a Histogram) -> Self {
        Self { histogram, plus: None, minus: None }
    }

    /// Returns the frequencies after one more row with this code.
    pub(super) fn with(self, code: u32) -> Self {
        Self { plus: (code != NULL).then_some(code), ..self }
    }

    /// Returns the frequencies without one row with this code, which must be present.
    pub(super) fn without(self, code: u32) -> Self {
        Self { minus: (code != NULL).then_some(code), ..self }
    }

    /// Returns the codes that occur, with their row counts, in no particular order.
    pub(super) fn iter(self) -> impl Iterator<Item = (u32, u64)> + Clone {
        let new = self.plus.filter(|code| self.histogram.count(*code) == 0).map(|code| (code, 1));
        let changed = move |(code, rows): (u32, u64)| {
            let rows = rows + u64::from(self.plus == Some(code)) - u64::from(self.minus == Some(code));
            (code, rows)
        };
        self.histogram.iter().map(changed).filter(|(_, rows)| *rows > 0).chain(new)
    }

    /// Returns the row count of a code.
    pub(super) fn count(self, code: u32) -> u64 {
        let changed = |of: Option<u32>| u64::from(of == Some(code));
        self.histogram.count(code) + changed(self.plus) - changed(self.minus)
    }

    /// Returns the codes that occur, with their row counts, if they are those of the class and kept as a list.
    pub(super) fn as_list(self) -> Option<&'a [(u32, u64)]> {
        self.histogram.as_list().filter(|_| self.plus.is_none() && self.minus.is_none())
    }

    /// Returns the number of rows that have a value.
    pub(super) fn rows(self) -> u64 {
        self.histogram.rows() + u64::from(self.plus.is_some()) - u64::from(self.minus.is_some())
    }
}
