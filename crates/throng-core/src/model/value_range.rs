//! Value range: the largest and the smallest value of a class differ by at least a given amount, so that values which are
//! different but nearly equal disclose no more than one of them would.

use std::sync::Arc;

use super::{ClosedUnder, FrequencyRequirement, Model, Tally};
use crate::domain::NULL;
use crate::feasibility::Shortfall;
use crate::table::SensitiveColumn;

/// Requires a range of the numbers or dates of one sensitive column.
#[derive(Clone, Debug)]
pub(super) struct LeastRange {
    pub(super) least: f64,
    pub(super) column: usize,
    /// Number behind each code; `None` before a release is known.
    pub(super) numbers: Option<Arc<[f64]>>,
}

impl LeastRange {
    /// Whether the values of the codes span the required range. Codes are ordered by value.
    fn spans(&self, codes: impl Iterator<Item = u32>) -> bool {
        let Some(numbers) = &self.numbers else { return true };
        let (lo, hi) = codes.fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
        lo <= hi && numbers[hi as usize] - numbers[lo as usize] >= self.least
    }

    fn codes(&self, class: &Tally) -> impl Iterator<Item = u32> {
        class.counts(self.column).map(|(code, _)| code)
    }
}

impl Model for LeastRange {
    fn name(&self) -> &'static str {
        FrequencyRequirement::ValueRange(self.least).name()
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn closed_under(&self) -> ClosedUnder {
        ClosedUnder::AddingRows
    }

    fn deficit(&self, class: &Tally) -> u64 {
        u64::from(!self.spans(self.codes(class)))
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        let code = codes[self.column];
        if code == NULL || self.spans(self.codes(class)) {
            return false;
        }
        let (lo, hi) = self.codes(class).fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
        code < lo || code > hi
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        let gone = codes[self.column];
        gone == NULL || class.count(self.column, gone) > 1 || self.spans(self.codes(class).filter(|code| *code != gone))
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        class.rows() / 2
    }

    fn shortfall(&self, column: &str, _whole: &Tally) -> Shortfall {
        Shortfall::Frequency { column: column.to_owned(), model: self.name() }
    }

    fn needs_release(&self) -> bool {
        true
    }

    fn for_release(&self, columns: &[SensitiveColumn], _released: &Tally) -> Option<Arc<dyn Model>> {
        let numbers = columns[self.column].numbers.clone()?;
        Some(Arc::new(Self { numbers: Some(numbers), ..self.clone() }))
    }
}
