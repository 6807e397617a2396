//! The models of a series: every set of rows that releases single out together must satisfy them.

use rustc_hash::{FxHashMap, FxHashSet};

/// Sentinel for a sensitive value that is null, or that a model does not count.
pub const UNCOUNTED: u64 = 0;

/// Requirements on a set of rows, in distinct units and distinct sensitive values.
///
/// Rows carry one code per requirement of distinct values. Equal codes stand for equal values; [`UNCOUNTED`] never counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Least number of distinct units.
    pub k: usize,
    /// Least number of distinct codes, per column of codes.
    pub p: Vec<usize>,
}

impl Crowd {
    /// Creates the requirements of a policy. A `p` of 1 or less requires nothing.
    pub fn new(k: u64, p: impl IntoIterator<Item = u64>) -> Self {
        let required = |p: u64| if p > 1 { usize::try_from(p).unwrap_or(usize::MAX) } else { 0 };
        Self { k: usize::try_from(k).unwrap_or(usize::MAX), p: p.into_iter().map(required).collect() }
    }

    /// Returns the number of codes that a row carries.
    pub fn width(&self) -> usize {
        self.p.len()
    }

    /// Whether rows, given as their unit and codes, satisfy every requirement. The p codes of a column must belong to p different
    /// units: otherwise someone who knows a unit with several rows would know several of the codes.
    pub fn is_satisfied<'a>(&self, rows: impl IntoIterator<Item = (u128, &'a [u64])>) -> bool {
        let mut units: FxHashMap<u128, u32> = FxHashMap::default();
        let mut values: Vec<FxHashSet<u64>> = vec![FxHashSet::default(); self.width()];
        let mut seen_rows: Vec<(u32, &[u64])> = Vec::new();
        for (unit, codes) in rows {
            let next = units.len() as u32;
            let number = *units.entry(unit).or_insert(next);
            seen_rows.push((number, codes));
            if number < next {
                continue;
            }
            for (seen, code) in values.iter_mut().zip(codes).filter(|(_, code)| **code != UNCOUNTED) {
                seen.insert(*code);
            }
            // The first rows of the units suffice, and further rows can't break the condition.
            if units.len() >= self.k && values.iter().zip(&self.p).all(|(seen, p)| seen.len() >= *p) {
                return true;
            }
        }
        let has_repeated = seen_rows.len() > units.len();
        let is_diverse = |(column, p): (usize, &usize)| has_carriers(&seen_rows, column, *p);
        has_repeated && units.len() >= self.k && self.p.iter().enumerate().all(is_diverse)
    }
}

/// Whether `p` units have `p` different codes of a column, one each: a matching of codes and units, found by augmenting paths.
fn has_carriers(rows: &[(u32, &[u64])], column: usize, p: usize) -> bool {
    let mut carriers: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    for (unit, codes) in rows.iter().filter(|(_, codes)| codes[column] != UNCOUNTED) {
        carriers.entry(codes[column]).or_default().push(*unit);
    }
    let mut code_of: FxHashMap<u32, u64> = FxHashMap::default();
    let mut matched = 0;
    for code in carriers.keys() {
        if matched >= p {
            break;
        }
        matched += usize::from(augment(*code, &carriers, &mut code_of, &mut FxHashSet::default()));
    }
    matched >= p
}

/// Assigns a unit to a code, reassigning other codes where needed.
fn augment(
    code: u64,
    carriers: &FxHashMap<u64, Vec<u32>>,
    code_of: &mut FxHashMap<u32, u64>,
    tried: &mut FxHashSet<u32>,
) -> bool {
    for unit in carriers.get(&code).into_iter().flatten() {
        if !tried.insert(*unit) {
            continue;
        }
        let is_free = match code_of.get(unit).copied() {
            None => true,
            Some(other) => augment(other, carriers, code_of, tried),
        };
        if is_free {
            code_of.insert(*unit, code);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_tables::cases;

    #[test]
    fn units_and_values_are_counted_once() {
        let crowd = Crowd { k: 2, p: vec![2] };
        assert!(crowd.is_satisfied([(1, &[7][..]), (2, &[8])]));
        assert!(!crowd.is_satisfied([(1, &[7][..]), (1, &[8])]), "one unit");
        assert!(!crowd.is_satisfied([(1, &[7][..]), (2, &[7])]), "one value");
        assert!(!crowd.is_satisfied([(1, &[7][..]), (2, &[UNCOUNTED])]), "null is no value");
        assert!(!Crowd { k: 1, p: vec![] }.is_satisfied([]), "no rows are no crowd");
    }

    #[test]
    fn values_must_be_those_of_different_units() {
        let crowd = Crowd { k: 3, p: vec![3] };
        assert!(
            !crowd.is_satisfied([(1, &[7][..]), (1, &[8]), (1, &[9]), (2, &[7]), (3, &[7])]),
            "one has three values"
        );
        assert!(crowd.is_satisfied([(1, &[7][..]), (1, &[8]), (2, &[7]), (2, &[9]), (3, &[7])]), "8, 9 and 7");
    }

    proptest! {
        #![proptest_config(cases(512))]

        #[test]
        fn a_crowd_is_what_brute_force_finds(
            rows in prop::collection::vec((0..4_u128, 0..4_u64), 0..8),
            k in 1..4_usize,
            p in 0..4_usize,
        ) {
            let codes: Vec<[u64; 1]> = rows.iter().map(|(_, code)| [*code]).collect();
            let crowd = Crowd { k, p: vec![p] };
            let found = crowd.is_satisfied(rows.iter().zip(&codes).map(|((unit, _), codes)| (*unit, &codes[..])));
            let units: FxHashSet<u128> = rows.iter().map(|(unit, _)| *unit).collect();
            // Some rows, of different units and with different values.
            let is_choice = |chosen: &Vec<(u128, u64)>| {
                let units: FxHashSet<u128> = chosen.iter().map(|(unit, _)| *unit).collect();
                let values: FxHashSet<u64> = chosen.iter().map(|(_, code)| *code).collect();
                units.len() == chosen.len() && values.len() == chosen.len() && !values.contains(&UNCOUNTED)
            };
            let choices = (0_u32..1 << rows.len()).map(|bits| -> Vec<(u128, u64)> {
                rows.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, row)| *row).collect()
            });
            let most = choices.filter(is_choice).map(|chosen| chosen.len()).max().unwrap_or(0);
            prop_assert_eq!(found, !rows.is_empty() && units.len() >= k && most >= p);
        }
    }
}
