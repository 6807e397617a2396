//! MDAV: classes around the rows farthest from the mean [Solanas 2008, section 3.1].
//!
//! With a model on sensitive values this is H1, Algorithm 1 with the seeds of Algorithm 2: the row farthest from the
//! mean of the remaining rows. With k-anonymity alone it is the classic heuristic [Domingo-Ferrer 2005] from which H1
//! is derived, which works from both ends: while at least `3k` rows remain it forms a class of `k` around the row `r`
//! farthest from their mean, and another one around the row farthest from `r`. Of the last `2k .. 3k - 1` rows it forms
//! a class around the farthest one and a class of the others.

use super::microaggregation::microaggregate;
use super::unassigned_points::{ClassMembers, UnassignedPoints};
use crate::cluster::euclidean_embedding::EuclideanEmbedding;
use crate::cluster::{Class, ClusterMethod};
use crate::model::Privacy;
use crate::table::Table;

/// Microaggregation with seeds far from the mean.
#[derive(Clone, Copy, Debug)]
pub struct Mdav;

impl ClusterMethod for Mdav {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        if privacy.models().all(|model| model.counts_rows()) {
            return classic(leaf, table, privacy);
        }
        microaggregate(leaf, table, privacy, |_, unassigned| unassigned.farthest(&unassigned.mean()))
    }
}

fn classic(leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
    let k = privacy.counting_models().map(|model| model.required()).fold(1, u64::max);
    let space = EuclideanEmbedding::new(leaf, table);
    let mut unassigned = UnassignedPoints::new(&space, privacy);
    let mut classes = Vec::new();
    while unassigned.tally().rows() / 3 >= k {
        let Some(r) = unassigned.farthest(&unassigned.mean()) else { break };
        let Some(s) = unassigned.farthest(&space.point(r)) else { break };
        classes.extend(unassigned.grow(r));
        classes.extend(unassigned.grow(s));
    }
    if unassigned.tally().rows() / 2 >= k {
        let r = unassigned.farthest(&unassigned.mean());
        classes.extend(r.and_then(|r| unassigned.grow(r)));
    }
    classes.push(unassigned.take_rest());
    classes.into_iter().map(ClassMembers::into_class).collect()
}

#[cfg(test)]
#[path = "mdav_tests.rs"]
mod tests;
