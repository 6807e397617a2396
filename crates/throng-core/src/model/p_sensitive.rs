//! p-sensitivity (Def. 3): every class has at least p distinct values of a sensitive column. Null is no value.

use super::{Model, Tally};
use crate::domain::NULL;

/// At least `p` distinct values of one sensitive column.
#[derive(Clone, Copy, Debug)]
pub struct PSensitive {
    p: u64,
    column: usize,
}

impl PSensitive {
    /// At least `p` distinct values of the sensitive column with this index.
    pub fn new(p: u64, column: usize) -> Self {
        Self { p, column }
    }
}

impl Model for PSensitive {
    fn name(&self) -> &'static str {
        "p-sensitivity"
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn required(&self) -> u64 {
        self.p
    }

    fn achieved(&self, class: &Tally) -> u64 {
        class.distinct(self.column)
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        codes[self.column] != NULL && class.count(self.column, codes[self.column]) == 0
    }

    fn spares(&self, class: &Tally, codes: &[u32]) -> bool {
        let is_last = codes[self.column] != NULL && class.count(self.column, codes[self.column]) == 1;
        class.distinct(self.column) >= self.p + u64::from(is_last)
    }
}
