//! Merges classes that violate a model with their neighbours until every class satisfies all models.
//!
//! Growing a class row by row ends with classes that satisfy what is closed under adding rows. A further row may break a
//! model of frequencies, and leftover rows have to go somewhere. Since every model is closed under merging, a violating
//! class can always be repaired by merging, as long as the rows of all classes together satisfy the models.

use crate::cluster::Class;
use crate::model::{Privacy, Tally};
use crate::table::Table;

/// A class with its tally and bounding box.
struct MergingClass {
    class: Class,
    tally: Tally,
    ranges: Vec<(u32, u32)>,
    /// Loss per row.
    loss: f64,
}

impl MergingClass {
    fn new(class: Class, table: &Table) -> Self {
        let mut ranges = vec![(u32::MAX, 0); table.quasi().len()];
        for portion in &class.portions {
            for ((lo, hi), position) in ranges.iter_mut().zip(table.positions(table.cell_of(portion.group))) {
                (*lo, *hi) = ((*lo).min(*position), (*hi).max(*position));
            }
        }
        let (tally, loss) = (class.tally(table), loss(&ranges, table));
        Self { class, tally, ranges, loss }
    }

    /// Returns the increase of the total loss if two classes merge.
    fn cost_of_merging(&self, other: &Self, table: &Table) -> f64 {
        let (own, others) = (self.tally.rows() as f64, other.tally.rows() as f64);
        (own + others) * loss(&union(&self.ranges, &other.ranges), table) - own * self.loss - others * other.loss
    }

    fn merge(&mut self, other: Self, table: &Table) {
        self.tally.merge(&other.tally);
        self.ranges = union(&self.ranges, &other.ranges);
        self.loss = loss(&self.ranges, table);
        let portions = [std::mem::take(&mut self.class.portions), other.class.portions].concat();
        self.class = Class::of_portions(portions);
    }
}

fn union(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
    a.iter().zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
}

fn loss(ranges: &[(u32, u32)], table: &Table) -> f64 {
    let of_column = ranges.iter().zip(table.quasi());
    of_column.map(|((lo, hi), quasi)| quasi.domain.loss(*lo, *hi) * quasi.spec.weight).sum()
}

/// Merges every class that violates a model with the class that is nearest to it, preferring those with which it
/// satisfies all models at once. If all rows together satisfy the models, so does every returned class.
pub(crate) fn merge_unsatisfied(table: &Table, privacy: &Privacy, classes: Vec<Class>) -> Vec<Class> {
    let mut classes: Vec<MergingClass> = classes.into_iter().map(|class| MergingClass::new(class, table)).collect();
    while classes.len() > 1 {
        let Some(failing) = classes.iter().position(|class| !privacy.is_satisfied(&class.tally)) else { break };
        let failed = classes.remove(failing);
        let repairs = |other: &MergingClass| {
            let mut together = other.tally.clone();
            together.merge(&failed.tally);
            privacy.is_satisfied(&together)
        };
        let mut costs: Vec<(f64, usize)> =
            classes.iter().enumerate().map(|(at, other)| (failed.cost_of_merging(other, table), at)).collect();
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let near = costs.iter().take(CANDIDATES).map(|(_, at)| *at);
        let best = near.clone().find(|at| repairs(&classes[*at])).or(near.clone().next());
        if let Some(best) = best {
            classes[best].merge(failed, table);
        }
    }
    classes.into_iter().map(|merged| merged.class).collect()
}

/// Number of nearest classes among which one is preferred that repairs the violation at once.
const CANDIDATES: usize = 8;

#[cfg(test)]
#[path = "merge_unsatisfied_tests.rs"]
mod tests;
