//! Reproducible random numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A xoshiro256++ generator [Blackman 2021].
#[derive(Debug)]
pub struct SampleRng(Xoshiro256PlusPlus);

impl SampleRng {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below `end`, which must be positive; the bias is below 2^-32 for row counts.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// Returns a number in [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `count` distinct numbers below `end`, in random order.
    pub fn sample(&mut self, end: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..end).collect();
        for at in 0..count.min(end) {
            let other = at + self.below(end - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}
