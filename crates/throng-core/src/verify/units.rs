//! Units of privacy in one class: how many there are, and how many values different units carry.

/// Units of one class. A row without a unit counts as a separate unit.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassUnits {
    named: DistinctItems<u64>,
    unnamed: u64,
    /// Per sensitive promise.
    carried: Vec<CarriedSymbols>,
}

/// Which units carry which symbols of one sensitive column.
#[derive(Clone, Debug, Default)]
struct CarriedSymbols {
    /// Pairs of symbol and unit.
    pairs: DistinctItems<(u64, u64)>,
    /// Symbols of rows without a unit.
    unnamed: DistinctItems<u64>,
}

/// A set that is filled before it is read. Most classes are small, so items are sorted rather than hashed.
#[derive(Clone, Debug)]
struct DistinctItems<T> {
    items: Vec<T>,
    /// Number of items at which duplicates are removed.
    limit: usize,
}

impl<T> Default for DistinctItems<T> {
    fn default() -> Self {
        Self { items: Vec::new(), limit: 64 }
    }
}

impl<T: Ord + Copy> DistinctItems<T> {
    fn insert(&mut self, item: T) {
        self.items.push(item);
        if self.items.len() >= self.limit {
            self.items.sort_unstable();
            self.items.dedup();
            self.limit = self.limit.max(2 * self.items.len());
        }
    }

    fn extend(&mut self, other: Self) {
        other.items.into_iter().for_each(|item| self.insert(item));
    }

    /// Returns the items in order, each once.
    fn sorted(&self) -> Vec<T> {
        let mut items = self.items.clone();
        items.sort_unstable();
        items.dedup();
        items
    }
}

impl ClassUnits {
    pub(super) fn new(sensitive: usize) -> Self {
        Self { carried: vec![CarriedSymbols::default(); sensitive], ..Self::default() }
    }

    /// Adds a row with its unit and its symbol in each sensitive column.
    pub(super) fn add(&mut self, unit: Option<u64>, symbols: impl Iterator<Item = Option<u64>>) {
        match unit {
            Some(unit) => self.named.insert(unit),
            None => self.unnamed += 1,
        }
        for (carried, symbol) in self.carried.iter_mut().zip(symbols) {
            match (unit, symbol) {
                (Some(unit), Some(symbol)) => carried.pairs.insert((symbol, unit)),
                (None, Some(symbol)) => carried.unnamed.insert(symbol),
                (_, None) => {}
            }
        }
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let carried = |carried: &CarriedSymbols| {
            size_of::<CarriedSymbols>()
                + carried.pairs.items.capacity() * size_of::<(u64, u64)>()
                + carried.unnamed.items.capacity() * size_of::<u64>()
        };
        self.named.items.capacity() * size_of::<u64>() + self.carried.iter().map(carried).sum::<usize>()
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
        self.named.sorted().len() as u64 + self.unnamed
    }

    /// Returns the largest number of symbols of a sensitive column that as many different units carry.
    pub(super) fn carried_values(&self, sensitive: usize) -> u64 {
        let CarriedSymbols { pairs, unnamed } = &self.carried[sensitive];
        let unnamed = unnamed.sorted();
        let mut pairs = pairs.sorted();
        pairs.retain(|(symbol, _)| unnamed.binary_search(symbol).is_err());
        let mut units: Vec<u64> = pairs.iter().map(|(_, unit)| *unit).collect();
        units.sort_unstable();
        units.dedup();
        let number = |unit: &u64| units.partition_point(|other| other < unit);
        let units_of: Vec<Vec<usize>> =
            pairs.chunk_by(|a, b| a.0 == b.0).map(|of| of.iter().map(|(_, unit)| number(unit)).collect()).collect();
        let mut matching = Matching { units_of: &units_of, symbol_of: vec![None; units.len()], is_seen: Vec::new() };
        unnamed.len() as u64 + matching.size()
    }
}

/// A matching of symbols with units that carry them.
struct Matching<'a> {
    /// Units that carry each symbol.
    units_of: &'a [Vec<usize>],
    /// The symbol that each unit is matched with.
    symbol_of: Vec<Option<usize>>,
    /// Units that the current augmenting path has visited.
    is_seen: Vec<bool>,
}

impl Matching<'_> {
    /// Returns the size of a maximum matching.
    fn size(&mut self) -> u64 {
        let mut size = 0;
        for symbol in 0..self.units_of.len() {
            self.is_seen.clear();
            self.is_seen.resize(self.symbol_of.len(), false);
            size += u64::from(self.place(symbol));
        }
        size
    }

    /// Assigns a symbol to a unit that carries it, reassigning other symbols where needed. Returns whether that is
    /// possible.
    fn place(&mut self, symbol: usize) -> bool {
        let units_of = self.units_of;
        // Free units first: most symbols find one, and augmenting paths stay short.
        let free = units_of[symbol].iter().find(|unit| self.symbol_of[**unit].is_none());
        if let Some(unit) = free {
            self.symbol_of[*unit] = Some(symbol);
            return true;
        }
        for unit in &units_of[symbol] {
            if std::mem::replace(&mut self.is_seen[*unit], true) {
                continue;
            }
            if self.symbol_of[*unit].is_some_and(|holder| self.place(holder)) {
                self.symbol_of[*unit] = Some(symbol);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_tables::cases;

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

    /// Tries all ways to give a symbol to each unit, or none.
    fn most_carried(pairs: &[(u64, u64)], units: &[u64], taken: u64) -> u64 {
        let Some((unit, others)) = units.split_first() else { return taken.count_ones().into() };
        let of_unit = pairs.iter().filter(|(carrier, symbol)| carrier == unit && taken >> symbol & 1 == 0);
        let with_symbol = of_unit.map(|(_, symbol)| most_carried(pairs, others, taken | 1 << symbol)).max();
        with_symbol.unwrap_or(0).max(most_carried(pairs, others, taken))
    }

    proptest! {
        #![proptest_config(cases(400))]

        #[test]
        fn a_matching_is_as_large_as_any(pairs in prop::collection::vec((0_u64..5, 0_u64..5), 1..10)) {
            let mut class = ClassUnits::new(1);
            pairs.iter().for_each(|(unit, symbol)| class.add(Some(*unit), std::iter::once(Some(*symbol))));
            prop_assert_eq!(class.carried_values(0), most_carried(&pairs, &[0, 1, 2, 3, 4], 0));
        }
    }
}
