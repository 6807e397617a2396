//! The models of a series: every set of rows that releases single out together must satisfy them.

use rustc_hash::FxHashSet;

/// Stands for a sensitive value that is null, or that a model does not count.
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

    /// Whether rows, given as their unit and codes, satisfy every requirement.
    pub fn is_satisfied<'a>(&self, rows: impl IntoIterator<Item = (u128, &'a [u64])>) -> bool {
        let mut units = FxHashSet::default();
        let mut values: Vec<FxHashSet<u64>> = vec![FxHashSet::default(); self.width()];
        for (unit, codes) in rows {
            units.insert(unit);
            for (seen, code) in values.iter_mut().zip(codes).filter(|(_, code)| **code != UNCOUNTED) {
                seen.insert(*code);
            }
            if units.len() >= self.k && values.iter().zip(&self.p).all(|(seen, p)| seen.len() >= *p) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_values_are_counted_once() {
        let crowd = Crowd { k: 2, p: vec![2] };
        assert!(crowd.is_satisfied([(1, &[7][..]), (2, &[8])]));
        assert!(!crowd.is_satisfied([(1, &[7][..]), (1, &[8])]), "one unit");
        assert!(!crowd.is_satisfied([(1, &[7][..]), (2, &[7])]), "one value");
        assert!(!crowd.is_satisfied([(1, &[7][..]), (2, &[UNCOUNTED])]), "null is no value");
        assert!(!Crowd { k: 1, p: vec![] }.is_satisfied([]), "no rows are no crowd");
    }
}
