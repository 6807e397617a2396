//! Seeded random numbers [Steele 2014].

/// Generator of random numbers; the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub(crate) struct LabRandom(u64);

impl LabRandom {
    /// Creates a generator for one purpose, so that purposes are independent.
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        let purpose = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Self(mix(seed ^ purpose))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `end`, which must be greater than zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Returns a number from 0 to 1, without 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `count` distinct numbers below `end` in ascending order, or all of them.
    pub(crate) fn sample(&mut self, end: usize, count: usize) -> Vec<usize> {
        if count >= end {
            return (0..end).collect();
        }
        let mut chosen: rustc_hash::FxHashSet<usize> = rustc_hash::FxHashSet::default();
        for last in end - count..end {
            let drawn = self.below(last + 1);
            chosen.insert(if chosen.contains(&drawn) { last } else { drawn });
        }
        let mut chosen: Vec<usize> = chosen.into_iter().collect();
        chosen.sort_unstable();
        chosen
    }
}

/// Mixes the bits of a number.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_purposes_differ() {
        let numbers = |seed, purpose: &str| {
            let mut random = LabRandom::new(seed, purpose);
            [random.next(), random.next()]
        };
        assert_eq!(numbers(1, "a"), numbers(1, "a"));
        assert_ne!(numbers(1, "a"), numbers(1, "b"));
        assert_ne!(numbers(1, "a"), numbers(2, "a"));
    }

    #[test]
    fn samples_are_distinct_and_cover_the_range() {
        let mut random = LabRandom::new(0, "sample");
        let mut seen = [0_u32; 10];
        for _ in 0..1000 {
            let sample = random.sample(10, 3);
            assert_eq!(sample.len(), 3);
            assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
            sample.iter().for_each(|number| seen[*number] += 1);
        }
        assert!(seen.iter().all(|count| (220..380).contains(count)), "{seen:?}");
    }
}
