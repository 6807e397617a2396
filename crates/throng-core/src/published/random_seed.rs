//! Microaggregation around rows near random points of the domain (H2, [Solanas 2008, section 3.2]).
//!
//! MDAV takes the outermost rows first, so that the remaining ones are in the middle, far from all classes. Random
//! points spread the classes over the bounding box of the leaf (Algorithm 3). A point is drawn for every class; its
//! seed is the nearest unassigned row.
//!
//! [Solanas 2008] finds H2 better than H1 in nearly all of its cases, and does not state the distribution of its
//! sensitive columns. Measured (`benches/papers/RESULTS.md`), random seeds lose less than those of MDAV where most rows share one sensitive
//! value: seeds at the rim must reach far for another value. They lose more where values are equally frequent.
//!
//! The algorithm is deterministic: random numbers are hashes of the seed, the leaf and a counter.

use twox_hash::XxHash3_64;

use super::microaggregation::microaggregate;
use crate::cluster::{Class, ClusterMethod};
use crate::model::Privacy;
use crate::table::Table;

/// Microaggregation with random seeds.
#[derive(Clone, Copy, Debug)]
pub struct RandomSeed {
    /// Seed of the random points.
    pub seed: u64,
}

impl ClusterMethod for RandomSeed {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        let mut numbers = LeafRng::new(self.seed, leaf);
        microaggregate(leaf, table, privacy, |space, unassigned| unassigned.nearest(&space.draw(|| numbers.uniform())))
    }
}

/// Random numbers of one leaf.
#[derive(Debug)]
struct LeafRng {
    seed: u64,
    /// First cell, which is unique to the leaf.
    leaf: u32,
    counter: u64,
}

impl LeafRng {
    fn new(seed: u64, leaf: &[u32]) -> Self {
        Self { seed, leaf: leaf.first().copied().unwrap_or(0), counter: 0 }
    }

    /// Returns the next number in [0, 1).
    fn uniform(&mut self) -> f64 {
        let mut input = [0; 12];
        input[..4].copy_from_slice(&self.leaf.to_le_bytes());
        input[4..].copy_from_slice(&self.counter.to_le_bytes());
        self.counter += 1;
        // The upper 53 bits fill the mantissa of a double.
        let bits = XxHash3_64::oneshot_with_seed(self.seed, &input) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
#[path = "random_seed_tests.rs"]
mod tests;
