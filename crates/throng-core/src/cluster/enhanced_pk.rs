//! EnhancedPKClustering [Truta 2007, section 3.2]: p-sensitivity first, for as many classes as Condition 2 allows.
//!
//! The hardest sensitive column (`>=_h`, Def. 13) sorts the rows into sensitive equivalence classes (SEC), one per value,
//! the most frequent first.
//!
//! 1. *Split* deals the rows of the rare SECs in turn to `maxClusters` classes, `iValue` rows with as many values each.
//! 2. Every class gets one row of each frequent SEC, so that it has p values of the hardest column.
//! 3. Rows that are left over make the other columns diverse, the most diverse class first (`>=_d`, Def. 14). When they
//!    are used up the least diverse class is dissolved, and its rows are left over.
//! 4. Of the classes with fewer than k rows as many are kept as there are rows for; the others are dissolved. The kept
//!    ones take the nearest rows up to k, and what remains goes where the information loss grows least.
//!
//! Whenever a row is chosen it is the one with the highest Div (Def. 11), among equals the one with the least increase of
//! information loss (Def. 9), then the first class and the first row (`BestMatch`).
//!
//! What the paper leaves open or has wrong, and what is done here:
//!
//! - Every column may have a `p` of its own. `maxClusters` is the least of all columns, which is the paper's where all p
//!   are the same; it and `iValue` are computed on the hardest column's own frequencies, and then Property 2 holds.
//! - Property 2 says that a rare SEC has at most `maxClusters` rows. Nothing says that a frequent one has at least as many:
//!   values that occur `m - 1, m - 1, m - 1, 3` times with p = 3 have `maxClusters = m` and `iValue = 2`, and the most frequent
//!   value is one row short. The classes that get none in step 2 are for step 3.
//! - Rows without a value of the hardest column are in no SEC, and are left over from the start.
//! - A model that counts no values (a weight) takes part in Div and Hom, and so in step 3.
//! - In step 3 a class for which no row that is left brings anything takes them all, as printed, before another class is
//!   dissolved for it.
//! - In step 3 the class that is dissolved may be the one that was to become diverse.
//! - In step 4 `v = min(aux, (u - 1) + floor((|T| + |cl_u| + ... + |cl_aux|) / k))`, with `u` the first class that has fewer
//!   than k rows.
//! - When no class remains the leaf is one class. Without a model that asks for two values there is nothing to enhance,
//!   and [`GreedyPk`] does the work.
//!
//! After step 3 all classes that are kept are p-sensitive and from then on only grow; those with k rows are kept, and the
//! others share at least k rows per class. So every class satisfies all models at the end.

mod bottleneck_column;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use self::bottleneck_column::BottleneckColumn;
use super::unassigned_groups::{GroupMatch, GrowingClass, UnassignedGroups};
use super::{Class, ClusterMethod, GreedyPk};
use crate::model::Privacy;
use crate::table::Table;

/// EnhancedPKClustering.
#[derive(Clone, Copy, Debug)]
pub struct EnhancedPk;

impl ClusterMethod for EnhancedPk {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        let mut pool = UnassignedGroups::new(leaf, table, privacy);
        let Some(hardest) = BottleneckColumn::of(&pool, privacy) else {
            return GreedyPk.cluster(leaf, table, privacy);
        };
        let mut classes = vec![pool.empty_class(); hardest.max_classes];
        split(&mut pool, &hardest, &mut classes);
        for kinds in hardest.frequent().rev() {
            deal(&mut pool, kinds, &mut classes);
        }
        diversify(&mut pool, &mut classes, privacy);
        complete(&mut pool, &mut classes, privacy);
        pool.spread(classes)
    }
}

/// Step 1, `Split`: deals the rows of the rare SECs in turn, the rarest first.
///
/// The classes always have the same number of rows when a round begins. There are enough rows for `rare_values` rounds, and
/// no SEC has more rows than there are classes, so that no class gets two of one SEC.
fn split(pool: &mut UnassignedGroups<'_>, hardest: &BottleneckColumn, classes: &mut [GrowingClass]) {
    let in_turn = 0..classes.len();
    let mut turns = (0..hardest.rare_values).flat_map(|_| in_turn.clone()).peekable();
    for kinds in hardest.rare().rev() {
        while let Some(class) = turns.peek() {
            let Some(best) = pool.best_match(kinds.iter().copied(), &classes[*class]) else { break };
            pool.give(best.group, 1, &mut classes[*class]);
            turns.next();
        }
    }
}

/// Step 2: gives every class one row of a frequent SEC, the best pair of class and row first.
///
/// What a row would do to a class changes only when the class takes one, and then it is done. So every class keeps the
/// best row that it knows of, and looks for another one only when that row has gone to a better pair.
fn deal(pool: &mut UnassignedGroups<'_>, kinds: &[usize], classes: &mut [GrowingClass]) {
    let offer = |pool: &mut UnassignedGroups<'_>, class: usize, classes: &[GrowingClass]| {
        pool.best_match(kinds.iter().copied(), &classes[class]).map(|best| Offer { class, best })
    };
    let mut offers: BinaryHeap<Offer> = (0..classes.len()).filter_map(|class| offer(pool, class, classes)).collect();
    while let Some(Offer { class, best }) = offers.pop() {
        if pool.group_rows(best.group) > 0 {
            pool.give(best.group, 1, &mut classes[class]);
        } else {
            offers.extend(offer(pool, class, classes));
        }
    }
}

/// Step 3: makes all classes p-sensitive, the most diverse first, and dissolves the last when no row is left.
fn diversify(pool: &mut UnassignedGroups<'_>, classes: &mut Vec<GrowingClass>, privacy: &Privacy) {
    let homogeneity = |class: &GrowingClass| privacy.homogeneity(class.tally());
    classes.sort_by(|a, b| homogeneity(a).total_cmp(&homogeneity(b)));
    let mut next = classes.partition_point(|class| homogeneity(class) == 0.0);
    while next < classes.len() {
        match pool.best_match(0..pool.kind_count(), &classes[next]) {
            Some(best) => {
                pool.give(best.group, 1, &mut classes[next]);
                if homogeneity(&classes[next]) == 0.0 {
                    next += 1;
                }
            }
            None => classes.pop().into_iter().for_each(|last| pool.dissolve(last)),
        }
    }
}

/// Step 4: keeps as many classes as there are rows for, the largest, and fills them.
fn complete(pool: &mut UnassignedGroups<'_>, classes: &mut Vec<GrowingClass>, privacy: &Privacy) {
    let k = privacy.models().filter(|model| model.counts_rows()).map(|model| model.required()).max();
    let k = k.unwrap_or(0).max(1);
    classes.sort_by_key(|class| Reverse(class.rows()));
    let full = classes.partition_point(|class| class.rows() >= k);
    let rows = pool.rows() + classes[full..].iter().map(GrowingClass::rows).sum::<u64>();
    let kept = full.saturating_add((rows / k) as usize).min(classes.len());
    for class in classes.drain(kept..) {
        pool.dissolve(class);
    }
    for class in classes {
        pool.complete(class);
    }
}

/// A class and the best row for it. The greatest offer is the best pair.
struct Offer {
    class: usize,
    best: GroupMatch,
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        let diversity = self.best.diversity.total_cmp(&other.best.diversity);
        let cost = other.best.cost.total_cmp(&self.best.cost);
        diversity.then(cost).then(other.class.cmp(&self.class))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

#[cfg(test)]
#[path = "enhanced_pk_tests.rs"]
mod tests;
