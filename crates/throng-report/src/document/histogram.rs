//! Histograms over classes. All counts are of the release, where every class has at least k rows.

use serde::{Deserialize, Serialize};

/// A bin of a histogram over classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower bound, inclusive.
    pub from: u64,
    /// Upper bound, inclusive.
    pub to: u64,
    /// Number of classes whose size is in the bin.
    pub classes: u64,
    /// Number of rows in these classes.
    pub rows: u64,
}

/// Lower bounds of class size bins as multiples of k: narrow where most classes are, and wide where few are.
const SIZE_STEPS: [f64; 5] = [1.0, 1.5, 2.0, 3.0, 5.0];

/// Maximum number of bins.
const MAX_VALUES: u64 = 16;

/// Bins class sizes. Bins start at 1, 1.5, 2, 3 and 5 times k, and at 10, 100, ... times these.
pub(super) fn size_bins(sizes: impl Iterator<Item = (u64, u64)>, k: u64) -> Vec<Bin> {
    let mut starts = vec![k.max(1)];
    let mut bins: Vec<Bin> = Vec::new();
    let (mut power, mut step) = (1.0, 0);
    for (size, classes) in sizes {
        while starts.last().is_some_and(|last| *last <= size) {
            step += 1;
            if step == SIZE_STEPS.len() {
                (step, power) = (0, power * 10.0);
            }
            let start = (k.max(1) as f64 * power * SIZE_STEPS[step]).ceil() as u64;
            if starts.last().is_some_and(|last| start > *last) {
                starts.push(start);
            }
        }
        let at = starts.partition_point(|start| *start <= size);
        let from = at.checked_sub(1).map_or(1, |at| starts[at]);
        add(&mut bins, Bin { from, to: starts[at] - 1, classes, rows: size * classes });
    }
    bins
}

/// Bins numbers of distinct values: one bin each, or at most sixteen bins of equal width.
pub(super) fn value_bins(counts: impl Iterator<Item = (u64, (u64, u64))> + Clone) -> Vec<Bin> {
    let ends = counts.clone().map(|(values, _)| (values, values)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((least, most)) = ends else { return Vec::new() };
    let width = (most - least + 1).div_ceil(MAX_VALUES);
    let mut bins: Vec<Bin> = Vec::new();
    for (values, (classes, rows)) in counts {
        let from = least + (values - least) / width * width;
        add(&mut bins, Bin { from, to: from + width - 1, classes, rows });
    }
    bins
}

/// Adds to the last bin, or appends one. Bins must arrive in ascending order.
fn add(bins: &mut Vec<Bin>, more: Bin) {
    match bins.last_mut().filter(|last| last.from == more.from) {
        Some(last) => (last.classes, last.rows) = (last.classes + more.classes, last.rows + more.rows),
        None => bins.push(more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(bins: &[Bin]) -> Vec<(u64, u64, u64, u64)> {
        bins.iter().map(|bin| (bin.from, bin.to, bin.classes, bin.rows)).collect()
    }

    #[test]
    fn sizes_fall_into_bins_that_grow_with_them() {
        let sizes = [(10, 4), (14, 1), (15, 2), (49, 1), (50, 1), (99, 1), (100, 1), (3000, 1)];
        let bins = size_bins(sizes.into_iter(), 10);
        assert_eq!(
            ends(&bins),
            [
                (10, 14, 5, 54),
                (15, 19, 2, 30),
                (30, 49, 1, 49),
                (50, 99, 2, 149),
                (100, 149, 1, 100),
                (3000, 4999, 1, 3000)
            ]
        );
        assert_eq!(
            ends(&size_bins([(2, 1), (3, 1), (5, 1)].into_iter(), 2)),
            [(2, 2, 1, 2), (3, 3, 1, 3), (4, 5, 1, 5)]
        );
        assert!(size_bins(std::iter::empty(), 5).is_empty());
    }

    #[test]
    fn values_have_a_bin_each_as_long_as_there_are_few() {
        let few = value_bins([(3, (1, 10)), (4, (2, 25)), (9, (1, 11))].into_iter());
        assert_eq!(ends(&few), [(3, 3, 1, 10), (4, 4, 2, 25), (9, 9, 1, 11)]);
        let many = value_bins((1..=40).map(|values| (values, (1, 50))));
        assert_eq!(many.len(), 14);
        assert_eq!((many[0].from, many[0].to, many[0].classes), (1, 3, 3));
        assert_eq!(many.iter().map(|bin| bin.classes).sum::<u64>(), 40);
        assert!(value_bins(std::iter::empty()).is_empty());
    }
}
