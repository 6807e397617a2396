//! Random seeds: classes around rows near random points of the domain (H2, [Solanas 2008, section 3.2]).
//!
//! MDAV takes the rows at the rim first, and what is left over lies in the middle, far from all classes. Random points
//! spread the classes over the whole box of the leaf (Algorithm 3). A point is drawn for every class; its seed is the
//! row left that is nearest to it.
//!
//! This tends to pay where many rows are left over, as when most rows share one sensitive value and the others are
//! rare. The paper finds H2 ahead of H1 in nearly all of its cases, and does not say how its sensitive columns are
//! distributed. Where values are evenly spread fewer rows are left over, and MDAV loses less in what we measured.
//!
//! Nothing is left to chance: the numbers are hashes of the seed, the leaf and a counter, the same in every run.

use twox_hash::XxHash3_64;

use super::microaggregation::microaggregate;
use super::{Class, ClusterMethod};
use crate::model::Privacy;
use crate::table::Table;

/// Microaggregation with random seeds.
#[derive(Clone, Copy, Debug)]
pub struct RandomSeed {
    /// Another seed draws other points.
    pub seed: u64,
}

impl ClusterMethod for RandomSeed {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        let mut numbers = LeafRng::new(self.seed, leaf);
        microaggregate(leaf, table, privacy, |space, unassigned| unassigned.nearest(&space.draw(|| numbers.uniform())))
    }
}

/// A sequence of numbers for one leaf.
#[derive(Debug)]
struct LeafRng {
    seed: u64,
    /// The first cell, which no other leaf has.
    leaf: u32,
    counter: u64,
}

impl LeafRng {
    fn new(seed: u64, leaf: &[u32]) -> Self {
        Self { seed, leaf: leaf.first().copied().unwrap_or(0), counter: 0 }
    }

    /// The next number, at least 0 and below 1.
    fn uniform(&mut self) -> f64 {
        let mut input = [0; 12];
        input[..4].copy_from_slice(&self.leaf.to_le_bytes());
        input[4..].copy_from_slice(&self.counter.to_le_bytes());
        self.counter += 1;
        // The upper 53 bits are as many as a double can hold.
        let bits = XxHash3_64::oneshot_with_seed(self.seed, &input) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
#[path = "random_seed_tests.rs"]
mod tests;
