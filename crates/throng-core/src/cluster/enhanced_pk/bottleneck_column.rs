//! The sensitive column that is hardest to make p-sensitive, and its sensitive equivalence classes.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::cluster::unassigned_groups::UnassignedGroups;
use crate::domain::NULL;
use crate::feasibility::max_classes;
use crate::model::Privacy;

/// What steps 1 and 2 know of the hardest column.
#[derive(Debug)]
pub(super) struct BottleneckColumn {
    /// `maxClusters`: the most classes that the column allows, which is no more than any other allows (Condition 2).
    pub(super) max_classes: usize,
    /// `iValue`: how many values step 1 gives to every class.
    pub(super) rare_values: u64,
    /// How many values step 2 gives to every class.
    frequent_values: usize,
    /// Per value its kinds of rows (SEC), the most frequent value first, the lowest code first among equals.
    equivalence_classes: Vec<Vec<usize>>,
}

impl BottleneckColumn {
    /// The hardest column of a pool that has all rows of a leaf, the first among equals; none when no model asks for two
    /// values or more.
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

    /// The kinds of each frequent value, the most frequent first.
    pub(super) fn frequent(&self) -> impl DoubleEndedIterator<Item = &[usize]> {
        self.equivalence_classes.iter().take(self.frequent_values).map(Vec::as_slice)
    }

    /// The kinds of each rare value, the most frequent first.
    pub(super) fn rare(&self) -> impl DoubleEndedIterator<Item = &[usize]> {
        self.equivalence_classes.iter().skip(self.frequent_values).map(Vec::as_slice)
    }
}

/// `iValue`: the least `i` with `floor((n - cf_(p-i)) / i) = maxClusters`, for descending counts of at least `p` values.
fn rare_values(counts: &[u64], p: u64, max_classes: u64) -> u64 {
    let bound = |i: u64| counts.iter().skip((p - i) as usize).sum::<u64>() / i;
    (1..=p).find(|i| bound(*i) == max_classes).unwrap_or(p)
}

/// The values of a column, the most frequent first.
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
