//! Lists of one sensitive column in one class: how many elements different carriers represent, and how many carriers lack each.
//!
//! A carrier is a unit of privacy, or a row if there are no units. See [`crate::model::ListDiversity`] for the promise.

use std::collections::{BTreeMap, BTreeSet};

/// Symbols of a row, ascending and without duplicates.
pub(super) type Elements = Box<[u64]>;

/// Lists of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassLists {
    /// Rows without a unit, by their elements.
    unnamed: BTreeMap<Elements, u64>,
    /// Lists of each unit.
    named: BTreeMap<u64, BTreeSet<Elements>>,
    /// Rows that carry something.
    pub(super) rows: u64,
}

impl ClassLists {
    /// Adds a row with its unit. A row without elements carries nothing.
    pub(super) fn add(&mut self, unit: Option<u64>, elements: &Elements) {
        if elements.is_empty() {
            return;
        }
        self.rows += 1;
        match unit {
            Some(unit) => drop(self.named.entry(unit).or_default().insert(elements.clone())),
            None => *self.unnamed.entry(elements.clone()).or_default() += 1,
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        other.unnamed.into_iter().for_each(|(elements, rows)| *self.unnamed.entry(elements).or_default() += rows);
        other.named.into_iter().for_each(|(unit, lists)| self.named.entry(unit).or_default().extend(lists));
    }

    /// Returns the largest p that the class satisfies; zero if nothing is carried.
    pub(super) fn diversity(&self) -> u64 {
        let elements: BTreeSet<u64> = self.lists().flat_map(|list| list.iter().copied()).collect();
        let fewest_without = elements.iter().map(|element| self.carriers_without(*element)).min();
        fewest_without.map_or(0, |fewest| self.represented(elements.len()).min(fewest + 1))
    }

    fn lists(&self) -> impl Iterator<Item = &Elements> {
        self.unnamed.keys().chain(self.named.values().flatten())
    }

    /// Returns the number of carriers with a list that lacks an element.
    fn carriers_without(&self, element: u64) -> u64 {
        let lacks = |list: &Elements| list.binary_search(&element).is_err();
        let unnamed: u64 = self.unnamed.iter().filter(|(list, _)| lacks(list)).map(|(_, rows)| rows).sum();
        unnamed + self.named.values().filter(|lists| lists.iter().any(lacks)).count() as u64
    }

    /// Returns the largest number of elements with different carriers.
    fn represented(&self, elements: usize) -> u64 {
        let mut carriers: Vec<BTreeSet<u64>> = Vec::new();
        for (list, rows) in &self.unnamed {
            // More carriers of a list than it has elements represent no more of them.
            let count = usize::try_from(*rows).unwrap_or(usize::MAX).min(list.len());
            carriers.extend(std::iter::repeat_n(list.iter().copied().collect(), count));
        }
        carriers.extend(self.named.values().map(|lists| lists.iter().flatten().copied().collect::<BTreeSet<_>>()));
        let mut carrier_of: BTreeMap<u64, usize> = BTreeMap::new();
        for carrier in 0..carriers.len() {
            if carrier_of.len() == elements {
                break;
            }
            assign(carrier, &carriers, &mut carrier_of);
        }
        carrier_of.len() as u64
    }
}

/// Lets a carrier represent one of its elements, if reassigning other carriers frees one: searches the shortest augmenting
/// path to a free element, and reassigns all carriers along it.
fn assign(carrier: usize, carriers: &[BTreeSet<u64>], carrier_of: &mut BTreeMap<u64, usize>) {
    let mut reached_from: BTreeMap<u64, usize> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([carrier]);
    while let Some(next) = queue.pop_front() {
        for element in &carriers[next] {
            if reached_from.contains_key(element) {
                continue;
            }
            reached_from.insert(*element, next);
            match carrier_of.get(element) {
                Some(holder) => queue.push_back(*holder),
                None => {
                    let mut free = *element;
                    loop {
                        let taker = reached_from[&free];
                        let given_up = carrier_of.iter().find(|(_, holder)| **holder == taker).map(|(held, _)| *held);
                        carrier_of.insert(free, taker);
                        match given_up {
                            Some(held) if taker != carrier => free = held,
                            _ => return,
                        }
                    }
                }
            }
        }
    }
}
