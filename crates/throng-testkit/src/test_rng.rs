//! Reproducible random numbers: SplitMix64 [Steele 2014].

/// A SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct TestRng(u64);

impl TestRng {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates the generator of a seed and a text.
    pub fn of(seed: u64, text: &str) -> Self {
        text.bytes().fold(Self(seed), |mut draws, byte| {
            draws.0 ^= u64::from(byte);
            Self(draws.any())
        })
    }

    /// Returns 64 random bits.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which must be positive.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.any() % limit
    }

    /// Returns true with a probability of `percent` percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a random element; `among` must not be empty.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }
}
