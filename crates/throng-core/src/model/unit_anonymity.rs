//! k-anonymity of units: every class has rows of at least k different units of privacy, such as people or households.

use super::tally::SINGLE;
use super::{CountingModel, Model, Tally};
use crate::feasibility::Shortfall;

/// Requires at least `k` different units.
#[derive(Clone, Copy, Debug)]
pub struct UnitAnonymity {
    k: u64,
    column: usize,
}

impl UnitAnonymity {
    /// Requires rows of at least `k` units, which are the codes of the sensitive column with this index.
    pub fn new(k: u64, column: usize) -> Self {
        Self { k, column }
    }

    /// Whether one row more or less changes the number of units.
    fn is_alone(&self, class: &Tally, codes: &[u32], rows: u64) -> bool {
        codes[self.column] == SINGLE || class.count(self.column, codes[self.column]) == rows
    }
}

impl Model for UnitAnonymity {
    fn name(&self) -> &'static str {
        "k-anonymity of units"
    }

    fn column(&self) -> Option<usize> {
        None
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        class.units() >= self.k + u64::from(self.is_alone(class, codes, 1))
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        // A unit with several rows may be in as many classes, but in each of them only once.
        let single = class.count(self.column, SINGLE);
        let counts = class.counts(self.column).filter(|(unit, _)| *unit != SINGLE).map(|(_, rows)| rows);
        most_classes(single, counts.collect(), self.k)
    }

    fn shortfall(&self, _column: &str, whole: &Tally) -> Shortfall {
        Shortfall::Units { units: whole.units(), k: self.k }
    }

    fn counting(&self) -> Option<&dyn CountingModel> {
        Some(self)
    }
}

impl CountingModel for UnitAnonymity {
    fn required(&self) -> u64 {
        self.k
    }

    fn achieved(&self, class: &Tally) -> u64 {
        class.units()
    }

    fn gain(&self, class: &Tally, codes: &[u32]) -> u64 {
        u64::from(self.is_alone(class, codes, 0))
    }
}

/// Returns the largest number of classes `m` such that `m * k` slots can be filled: a unit with `n` rows fills at most
/// `min(n, m)` of them.
fn most_classes(single: u64, counts: Vec<u64>, k: u64) -> u64 {
    let fills = |classes: u64| {
        let filled = counts.iter().fold(single, |sum, rows| sum + (*rows).min(classes));
        filled >= classes.saturating_mul(k.max(1))
    };
    let (mut low, mut high) = (0, single + counts.iter().sum::<u64>());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fills(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TallyShape;

    fn class(units: &[u32]) -> Tally {
        let mut tally = Tally::empty(TallyShape { columns: 1, unit: Some(0) });
        units.iter().for_each(|unit| tally.add(&[*unit], 1));
        tally
    }

    #[test]
    fn rows_of_one_unit_count_once_and_rows_of_single_units_each() {
        let model = UnitAnonymity::new(3, 0);
        let two = class(&[1, 1, 1, 1, SINGLE]);
        assert_eq!((model.achieved(&two), model.deficit(&two)), (2, 1));
        assert_eq!([1, 2, SINGLE].map(|unit| model.gain(&two, &[unit])), [0, 1, 1]);
        let three = class(&[1, 1, 2, SINGLE]);
        assert_eq!(model.deficit(&three), 0);
        assert_eq!([1, 2, SINGLE].map(|unit| model.can_lose(&three, &[unit])), [true, false, false]);
    }

    #[test]
    fn classes_are_bounded_by_units_and_not_by_rows() {
        let model = UnitAnonymity::new(2, 0);
        assert_eq!(model.max_classes(&class(&[1, 1, 1, 1, 1, 1, 2])), 1);
        assert_eq!(model.max_classes(&class(&[1, 1, 2, 2])), 2);
        assert_eq!(model.max_classes(&class(&[SINGLE; 6])), 3);
    }
}
