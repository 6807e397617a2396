//! p-sensitivity of units: a class has p values that p different units carry, one each.
//!
//! A unit with fifty rows and fifty values would satisfy [p-sensitivity](super::PSensitive) alone, and hide no one. Here p
//! values count only if they have a *system of distinct representatives*: p units of which each carries one of them. That
//! is a matching of size p between the values and the units of the class. A value with a row of a single-row unit can
//! always be matched with that unit; the others are matched along augmenting paths.

use rustc_hash::{FxHashMap, FxHashSet};

use super::tally::SINGLE;
use super::{CodeMeaning, CountingModel, Model, PSensitive, Tally};
use crate::domain::NULL;
use crate::feasibility::Shortfall;

/// Requires `p` values of one sensitive column that `p` different units carry.
#[derive(Clone, Copy, Debug)]
pub struct UnitDiversity {
    values: PSensitive,
    p: u64,
    column: usize,
    unit: usize,
}

impl UnitDiversity {
    /// Requires `p` codes of the sensitive column `column`, carried by different codes of the column `unit`.
    pub fn new(p: u64, column: usize, unit: usize, counted: CodeMeaning) -> Self {
        Self { values: PSensitive::new(p, column, counted), p, column, unit }
    }

    /// Sets the weight of the column in the diversity that algorithms maximize; greater than zero.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { values: self.values.with_weight(weight), ..self }
    }

    /// Returns the largest number of values that different units carry, at most p.
    fn matched(&self, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> u64 {
        let enough = usize::try_from(self.p).unwrap_or(usize::MAX);
        // Fast path: in most classes p values of p units are found immediately.
        let (mut values, mut units) = (FxHashSet::default(), FxHashSet::default());
        for (unit, value) in pairs.clone() {
            if !values.contains(&value) && (unit == SINGLE || units.insert(unit)) {
                values.insert(value);
            }
            if values.len() >= enough {
                return self.p;
            }
        }
        let mut units_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut of_single: FxHashSet<u32> = FxHashSet::default();
        for (unit, value) in pairs {
            match unit {
                SINGLE => drop(of_single.insert(value)),
                _ => units_of.entry(value).or_default().push(unit),
            }
        }
        let mut value_of: FxHashMap<u32, u32> = FxHashMap::default();
        let mut found = of_single.len();
        for value in units_of.keys().filter(|value| !of_single.contains(value)) {
            if found >= enough {
                break;
            }
            found += usize::from(augment(*value, &units_of, &mut value_of, &mut FxHashSet::default()));
        }
        self.p.min(found as u64)
    }
}

/// Finds a unit for a value, reassigning other values to other units where needed. Returns whether there is one.
fn augment(
    value: u32,
    units_of: &FxHashMap<u32, Vec<u32>>,
    value_of: &mut FxHashMap<u32, u32>,
    tried: &mut FxHashSet<u32>,
) -> bool {
    for unit in units_of.get(&value).into_iter().flatten() {
        if tried.insert(*unit) {
            let other = value_of.get(unit).copied();
            if other.is_none_or(|other| augment(other, units_of, value_of, tried)) {
                value_of.insert(*unit, value);
                return true;
            }
        }
    }
    false
}

impl Model for UnitDiversity {
    fn name(&self) -> &'static str {
        self.values.name()
    }

    fn weight_in_diversity(&self) -> f64 {
        self.values.weight_in_diversity()
    }

    fn column(&self) -> Option<usize> {
        Some(self.column)
    }

    fn helps(&self, class: &Tally, codes: &[u32]) -> bool {
        self.gain(class, codes) > 0
    }

    fn can_lose(&self, class: &Tally, codes: &[u32]) -> bool {
        let (unit, value) = (codes[self.unit], codes[self.column]);
        if value == NULL || class.carried(self.column, unit, value) > 1 {
            return self.shortage(class) == 0;
        }
        self.matched(class.carriers(self.column).filter(|pair| *pair != (unit, value))) >= self.p
    }

    fn max_classes(&self, class: &Tally) -> u64 {
        self.values.max_classes(class)
    }

    fn shortfall(&self, column: &str, whole: &Tally) -> Shortfall {
        match whole.distinct(self.column) < self.p {
            true => self.values.shortfall(column, whole),
            false => Shortfall::Carriers { column: column.to_owned(), carried: self.achieved(whole), p: self.p },
        }
    }

    fn counting(&self) -> Option<&dyn CountingModel> {
        Some(self)
    }

    fn distinct_values(&self) -> Option<u64> {
        Some(self.p)
    }

    fn is_p_plus_alpha(&self) -> bool {
        self.values.is_p_plus_alpha()
    }
}

impl CountingModel for UnitDiversity {
    fn required(&self) -> u64 {
        self.p
    }

    /// Returns the number of values that different units carry, at most p: more are not counted.
    fn achieved(&self, class: &Tally) -> u64 {
        self.matched(class.carriers(self.column))
    }

    fn gain(&self, class: &Tally, codes: &[u32]) -> u64 {
        let (unit, value) = (codes[self.unit], codes[self.column]);
        if value == NULL || class.carried(self.column, unit, value) > 0 {
            return 0;
        }
        let before = self.achieved(class);
        if before >= self.p {
            return 0;
        }
        self.matched(class.carriers(self.column).chain([(unit, value)])) - before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::TallyShape;
    use crate::test_tables::cases;

    const SHAPE: TallyShape = TallyShape { columns: 2, unit: Some(1) };

    fn class(rows: &[(u32, u32)]) -> Tally {
        let mut tally = Tally::empty(SHAPE);
        rows.iter().for_each(|(unit, value)| tally.add(&[*value, *unit], 1));
        tally
    }

    /// Returns the size of a maximum matching, by trying every choice for every value.
    fn by_force(values: &[u32], rows: &[(u32, u32)], used: &mut Vec<(usize, u32)>) -> u64 {
        let Some((value, rest)) = values.split_first() else { return 0 };
        let mut best = by_force(rest, rows, used);
        for (row, (unit, of)) in rows.iter().enumerate() {
            let is_used = used.iter().any(|(other, known)| if *unit == SINGLE { *other == row } else { known == unit });
            if of == value && !is_used {
                used.push((row, *unit));
                best = best.max(1 + by_force(rest, rows, used));
                used.pop();
            }
        }
        best
    }

    #[test]
    fn many_values_of_one_unit_count_once() {
        let model = UnitDiversity::new(3, 0, 1, CodeMeaning::Values);
        assert_eq!(model.achieved(&class(&[(1, 0), (1, 1), (1, 2), (1, 3)])), 1);
        assert_eq!(model.achieved(&class(&[(1, 0), (1, 1), (2, 0), (SINGLE, 0)])), 2);
        assert_eq!(model.deficit(&class(&[(1, 0), (2, 1), (SINGLE, 2)])), 0);
    }

    proptest! {
        #![proptest_config(cases(200))]

        #[test]
        fn the_matching_is_a_largest_one(
            rows in prop::collection::vec((0_u32..4, 0_u32..4), 1..9),
            p in 1_u64..5,
            next in (0_u32..4, 0_u32..4),
        ) {
            let model = UnitDiversity::new(p, 0, 1, CodeMeaning::Values);
            let largest = |rows: &[(u32, u32)]| {
                let mut values: Vec<u32> = rows.iter().map(|(_, value)| *value).collect();
                values.sort_unstable();
                values.dedup();
                by_force(&values, rows, &mut Vec::new()).min(p)
            };
            let tally = class(&rows);
            prop_assert_eq!(model.achieved(&tally), largest(&rows));
            let more: Vec<(u32, u32)> = rows.iter().copied().chain([next]).collect();
            prop_assert_eq!(model.gain(&tally, &[next.1, next.0]), largest(&more) - largest(&rows));
            if model.deficit(&tally) == 0 {
                let (unit, value) = rows[0];
                prop_assert_eq!(model.can_lose(&tally, &[value, unit]), largest(&rows[1..]) >= p);
            }
        }
    }
}
