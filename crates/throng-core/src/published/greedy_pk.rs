//! GreedyPKClustering, the baseline of [Truta 2007]: one class after the other, each from the row farthest from the
//! last seed.
//!
//! 1. The first seed is the first row of the leaf; every other one is the row with the largest loss together with the
//!    previous seed.
//! 2. The class takes the row that makes it most diverse (Div, Def. 11), then the one with the least increase of
//!    information loss (Def. 9), until it is p-sensitive (Hom = 0, Property 1).
//! 3. It then takes the row with the least increase of information loss until it has k rows.
//! 4. If the remaining rows can't form a class, each joins the class with the least increase of information loss.
//!
//! [Truta 2007] describes it only by reference, and does not state when to stop. Here the first class that can't be
//! completed is the last: no remaining row lowers its deficit, and so the remaining rows, including its own, do not
//! satisfy the model together.

use super::unassigned_groups::{GrowingClass, UnassignedGroups};
use crate::cluster::{Class, ClusterMethod};
use crate::model::Privacy;
use crate::table::Table;

/// GreedyPKClustering [Truta 2007].
#[derive(Clone, Copy, Debug)]
pub struct GreedyPk;

impl ClusterMethod for GreedyPk {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        let mut pool = UnassignedGroups::new(leaf, table, privacy);
        let mut classes = Vec::new();
        let mut next = pool.first();
        while let Some(seed) = next {
            let mut class = pool.empty_class();
            pool.give(seed, 1, &mut class);
            if diversify(&mut pool, &mut class, privacy) {
                pool.complete(&mut class);
            }
            let is_complete = privacy.is_satisfied(class.tally());
            classes.push(class);
            next = if is_complete { pool.farthest(seed) } else { None };
        }
        pool.spread(classes)
    }
}

/// Adds the rows that make a class most diverse until it is p-sensitive. Returns false if no remaining row helps.
fn diversify(pool: &mut UnassignedGroups<'_>, class: &mut GrowingClass, privacy: &Privacy) -> bool {
    while privacy.homogeneity(class.tally()) > 0.0 {
        match pool.best_match(0..pool.kind_count(), class) {
            Some(best) if best.diversity > 0.0 => pool.give(best.group, 1, class),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
#[path = "greedy_pk_tests.rs"]
mod tests;
