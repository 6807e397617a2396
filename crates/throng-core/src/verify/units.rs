//! Units of privacy in one class: how many there are, and how many values different units carry.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

/// Units of one class. A row without a unit is a unit of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassUnits {
    named: FxHashSet<u64>,
    unnamed: u64,
    /// Per sensitive promise.
    carried: Vec<Carried>,
}

/// Which units carry which symbols of one sensitive column.
#[derive(Clone, Debug, Default)]
struct Carried {
    pairs: BTreeSet<(u64, u64)>,
    /// Symbols of rows without a unit.
    unnamed: BTreeSet<u64>,
}

impl ClassUnits {
    pub(super) fn new(sensitive: usize) -> Self {
        Self { carried: vec![Carried::default(); sensitive], ..Self::default() }
    }

    /// Adds a row with its unit and its symbol in each sensitive column.
    pub(super) fn add(&mut self, unit: Option<u64>, symbols: impl Iterator<Item = Option<u64>>) {
        match unit {
            Some(unit) => drop(self.named.insert(unit)),
            None => self.unnamed += 1,
        }
        for (carried, symbol) in self.carried.iter_mut().zip(symbols) {
            match (unit, symbol) {
                (Some(unit), Some(symbol)) => drop(carried.pairs.insert((unit, symbol))),
                (None, Some(symbol)) => drop(carried.unnamed.insert(symbol)),
                (_, None) => {}
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.named.extend(other.named);
        self.unnamed += other.unnamed;
        for (carried, other) in self.carried.iter_mut().zip(other.carried) {
            carried.pairs.extend(other.pairs);
            carried.unnamed.extend(other.unnamed);
        }
    }

    /// Returns the number of units.
    pub(super) fn count(&self) -> u64 {
        self.named.len() as u64 + self.unnamed
    }

    /// Returns the largest number of symbols of a sensitive column that as many different units carry.
    pub(super) fn carried_values(&self, sensitive: usize) -> u64 {
        let carried = &self.carried[sensitive];
        let mut symbols_of: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (unit, symbol) in carried.pairs.iter().filter(|(_, symbol)| !carried.unnamed.contains(symbol)) {
            symbols_of.entry(*unit).or_default().push(*symbol);
        }
        let mut unit_of: BTreeMap<u64, u64> = BTreeMap::new();
        let found = symbols_of.keys().filter(|unit| place(**unit, &symbols_of, &mut unit_of, &mut BTreeSet::new()));
        carried.unnamed.len() as u64 + found.count() as u64
    }
}

/// Gives a unit a symbol that it carries, moving other units to other symbols of theirs where needed. Returns whether that
/// is possible.
fn place(
    unit: u64,
    symbols_of: &BTreeMap<u64, Vec<u64>>,
    unit_of: &mut BTreeMap<u64, u64>,
    seen: &mut BTreeSet<u64>,
) -> bool {
    for symbol in &symbols_of[&unit] {
        if !seen.insert(*symbol) {
            continue;
        }
        let holder = unit_of.get(symbol).copied();
        if holder.is_none_or(|holder| place(holder, symbols_of, unit_of, seen)) {
            unit_of.insert(*symbol, unit);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_as_often_as_different_units_carry_them() {
        let mut units = ClassUnits::new(1);
        for (unit, symbol) in [(Some(1), 10), (Some(1), 11), (Some(1), 12), (Some(2), 10)] {
            units.add(unit, std::iter::once(Some(symbol)));
        }
        assert_eq!((units.count(), units.carried_values(0)), (2, 2));
        units.add(None, std::iter::once(Some(11)));
        units.add(None, std::iter::once(Some(11)));
        units.add(Some(3), std::iter::once(None));
        assert_eq!((units.count(), units.carried_values(0)), (5, 3));
    }

    #[test]
    fn units_move_to_other_values_of_theirs() {
        let mut units = ClassUnits::new(1);
        for (unit, symbol) in [(1, 10), (1, 11), (2, 10), (2, 12), (3, 10)] {
            units.add(Some(unit), std::iter::once(Some(symbol)));
        }
        assert_eq!(units.carried_values(0), 3);
    }
}
