//! Random numbers: xoshiro256++ [Blackman 2021].

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A random stream, identified by a seed and a stream number.
#[derive(Debug)]
pub(crate) struct Rng {
    source: Xoshiro256PlusPlus,
}

impl Rng {
    /// Creates stream `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { source: Xoshiro256PlusPlus::seed_from_u64(scramble(scramble(seed) ^ stream)) }
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.source.next_u64()
    }

    /// Returns a number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with probability `chance`.
    #[inline]
    pub fn chance(&mut self, chance: f64) -> bool {
        self.unit() < chance
    }

    /// Returns an approximately normal number with mean 0 and variance 1, within ±3.47.
    ///
    /// Computed as the sum of four uniform 16-bit numbers. The bounded tail keeps incomes plausible.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let bits = self.bits();
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        (sum as f64 / 65_535.0 - 2.0) * 3_f64.sqrt()
    }
}

/// SplitMix64 step [Steele 2014]: a bijection in which every input bit affects every output bit.
pub(crate) fn scramble(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_and_seeds_of_one_stream_differ() {
        let first = |seed, stream| Rng::new(seed, stream).bits();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 2));
        assert_ne!(first(1, 2), first(2, 1));
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut rng = Rng::new(7, 0);
        let values: Vec<f64> = (0..100_000).map(|_| rng.normal()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64 - mean * mean;
        assert!(mean.abs() < 0.015, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.02, "variance {variance}");
    }

    #[test]
    fn a_chance_of_zero_never_happens_and_of_one_always() {
        let mut rng = Rng::new(3, 0);
        assert!((0..1000).all(|_| !rng.chance(0.0) && rng.chance(1.0)));
    }
}
