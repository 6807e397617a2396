//! EnhancedPKClustering [Truta 2007, section 3.2]: p-sensitivity first, for as many classes as Condition 2 allows.
//!
//! The hardest sensitive column (`>=_h`, Def. 13) divides the rows into sensitive equivalence classes (SEC), one per
//! value, the most frequent first.
//!
//! 1. *Split* distributes the rows of the rare SECs round-robin to `maxClusters` classes, `iValue` rows with as many
//!    values each.
//! 2. Every class gets one row of each frequent SEC, so that it has p values of the hardest column.
//! 3. Remaining rows diversify the other columns, the most diverse class first (`>=_d`, Def. 14). When they are used up
//!    the least diverse class is dissolved, and its rows become remaining rows.
//! 4. Of the classes with fewer than k rows as many are kept as there are rows for; the others are dissolved. The kept
//!    ones take the nearest rows up to k, and each remaining row joins the class with the least increase of information
//!    loss.
//!
//! Every selected row is the one with the highest Div (Def. 11), then the one with the least increase of information
//! loss (Def. 9), then that of the first class and the first row (`BestMatch`).
//!
//! Where the paper is ambiguous or incorrect, this implementation does the following:
//!
//! - Every column may have its own `p`. `maxClusters` is the minimum over all columns, which is the paper's if all p
//!   are equal; it and `iValue` are computed on the frequencies of the hardest column, so that Property 2 holds.
//! - Property 2 says that a rare SEC has at most `maxClusters` rows. Nothing says that a frequent one has at least as
//!   many: values that occur `m - 1, m - 1, m - 1, 3` times with p = 3 have `maxClusters = m` and `iValue = 2`, and the
//!   most frequent value is one row short. The classes that get none in step 2 are left to step 3.
//! - Rows without a value of the hardest column are in no SEC, and are remaining rows from the start.
//! - A model that counts no values (a weight) takes part in Div and Hom, and so in step 3.
//! - In step 3 a class that no remaining row improves takes them all, as printed, before another class is dissolved for
//!   it.
//! - In step 3 the dissolved class may be the one that was being diversified.
//! - In step 4 `v = min(aux, (u - 1) + floor((|T| + |cl_u| + ... + |cl_aux|) / k))`, with `u` the first class that has
//!   fewer than k rows.
//! - If no class remains the leaf is one class. Without a model that requires two values the leaf is clustered by
//!   [`GreedyPk`].
//!
//! After step 3 all kept classes are p-sensitive and only grow; those with k rows are kept, and the others share at
//! least k rows per class. Every class therefore satisfies all models at the end.

mod bottleneck_column;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use self::bottleneck_column::BottleneckColumn;
use super::GreedyPk;
use super::unassigned_groups::{GroupMatch, GrowingClass, UnassignedGroups};
use crate::cluster::{Class, ClusterMethod};
use crate::model::Privacy;
use crate::table::Table;

/// EnhancedPKClustering [Truta 2007].
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
            give_frequent_rows(&mut pool, kinds, &mut classes);
        }
        diversify(&mut pool, &mut classes, privacy);
        complete(&mut pool, &mut classes, privacy);
        pool.spread(classes)
    }
}

/// Step 1, `Split`: distributes the rows of the rare SECs round-robin, the rarest first.
///
/// All classes have the same number of rows at the start of a round. There are enough rows for `rare_values` rounds,
/// and no SEC has more rows than there are classes, so no class gets two rows of one SEC.
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
/// The effect of a row on a class changes only when the class takes one, and then the class is done. Every class
/// therefore caches its best row, and searches another one only if that row was taken.
fn give_frequent_rows(pool: &mut UnassignedGroups<'_>, kinds: &[usize], classes: &mut [GrowingClass]) {
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

/// Step 3: makes all classes p-sensitive, the most diverse first; dissolves the last class when no row remains.
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
    let k = privacy.least_rows();
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

/// A class and its best row. The greatest offer is the best pair.
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
