//! The sensitive column that is hardest to make p-sensitive, and its sensitive equivalence classes.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::domain::NULL;
use crate::feasibility::max_classes;
use crate::model::Privacy;
use crate::published::unassigned_groups::UnassignedGroups;

/// Facts about the hardest column for steps 1 and 2.
#[derive(Debug)]
pub(super) struct BottleneckColumn {
    /// `maxClusters`: maximum number of classes that the column allows, the least of all columns (Condition 2).
    pub(super) max_classes: usize,
    /// `iValue`: number of values that step 1 gives to every class.
    pub(super) rare_values: u64,
    /// Number of values that step 2 gives to every class.
    frequent_values: usize,
    /// Kinds of rows per value (SEC), the most frequent value first, then the lowest code.
    equivalence_classes: Vec<Vec<usize>>,
}

impl BottleneckColumn {
    /// Determines the hardest column of a pool that has all rows of a leaf, the first among equals; `None` if no model
    /// requires two or more values.
    pub(super) fn of(pool: &UnassignedGroups<'_>, privacy: &Privacy) -> Option<Self> {
        let columns = privacy.models().filter_map(|model| model.column().zip(model.distinct_values()));
        let columns: Vec<(usize, u64)> = columns.filter(|(_, p)| *p > 0).collect();
        if columns.iter().all(|(_, p)| *p < 2) {
            return None;
        }
        let with_classes = columns.into_iter().map(|(column, p)| {
            let values = ValueFrequencies::of(pool, column);
            (max_classes(values.counts.clone(), p), p, values)
        });
        let (max_classes, p, values) = with_classes.min_by_key(|(classes, _, _)| *classes)?;
        let rare_values = if max_classes == 0 { 0 } else { rare_values(&values.counts, p, max_classes) };
        Some(Self {
            max_classes: max_classes as usize,
            rare_values,
            frequent_values: (p - rare_values) as usize,
            equivalence_classes: values.kinds,
        })
    }

    /// Returns the kinds of each frequent value, the most frequent first.
    pub(super) fn frequent(&self) -> impl DoubleEndedIterator<Item = &[usize]> {
        self.equivalence_classes.iter().take(self.frequent_values).map(Vec::as_slice)
    }

    /// Returns the kinds of each rare value, the most frequent first.
    pub(super) fn rare(&self) -> impl DoubleEndedIterator<Item = &[usize]> {
        self.equivalence_classes.iter().skip(self.frequent_values).map(Vec::as_slice)
    }
}

/// `iValue`: the least `i` with `floor((n - cf_(p-i)) / i) = maxClusters`, for descending counts of at least `p`
/// values.
fn rare_values(counts: &[u64], p: u64, max_classes: u64) -> u64 {
    let bound = |i: u64| counts.iter().skip((p - i) as usize).sum::<u64>() / i;
    (1..=p).find(|i| bound(*i) == max_classes).unwrap_or(p)
}

/// Values of a column, the most frequent first.
struct ValueFrequencies {
    counts: Vec<u64>,
    kinds: Vec<Vec<usize>>,
}

impl ValueFrequencies {
    fn of(pool: &UnassignedGroups<'_>, column: usize) -> Self {
        let mut of_code: FxHashMap<u32, (u64, Vec<usize>)> = FxHashMap::default();
        for kind in 0..pool.kind_count() {
            let code = pool.codes(kind)[column];
            if code != NULL {
                let (rows, kinds) = of_code.entry(code).or_default();
                *rows += pool.kind_rows(kind);
                kinds.push(kind);
            }
        }
        let mut values: Vec<(u32, (u64, Vec<usize>))> = of_code.into_iter().collect();
        values.sort_unstable_by_key(|(code, (rows, _))| (Reverse(*rows), *code));
        let (counts, kinds) = values.into_iter().map(|(_, value)| value).unzip();
        Self { counts, kinds }
    }
}
