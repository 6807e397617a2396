//! The key of a release: every random choice is drawn from it.
//!
//! An intruder who knows all but one of the original rows could otherwise try each candidate for the last one, run the same
//! algorithm and compare the output with the release. So nothing random may depend on public values alone: a [`ReleaseKey`]
//! is derived from a secret and the seed of the policy, and each use derives a separate key from it. The same secret and
//! seed give the same release.

use std::fmt;

use sha2::{Digest, Sha256};

/// A 256-bit key. Its `Debug` output reveals nothing about it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReleaseKey([u8; 32]);

impl fmt::Debug for ReleaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReleaseKey(..)")
    }
}

impl ReleaseKey {
    /// The key of a caller without a secret and with seed 0. A release that is published needs a secret.
    pub const PUBLIC: Self = Self([0; 32]);

    /// Returns the key for a secret and a seed.
    pub fn new(secret: &[u8; 32], seed: u64) -> Self {
        Self(*secret).derive("release", &seed.to_le_bytes())
    }

    /// Restores a key from the bytes that [`to_bytes`](Self::to_bytes) returned in another process.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the key, for another process that works on the same release.
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// Derives the key for one purpose. Purposes are distinct constants; `context` separates uses of one purpose.
    pub fn derive(self, purpose: &'static str, context: &[u8]) -> Self {
        let length = (purpose.len() as u64).to_le_bytes();
        let digest = Sha256::new().chain_update(self.0).chain_update(length);
        Self(digest.chain_update(purpose).chain_update(context).finalize().into())
    }

    /// Derives a 64-bit seed for a generator that need not be cryptographic.
    pub fn seed(self, purpose: &'static str) -> u64 {
        let Self(bytes) = self.derive(purpose, &[]);
        bytes.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }

    /// Returns the keyed hash of a value, as a number.
    pub fn hash(self, value: u128) -> u128 {
        let digest: [u8; 32] = Sha256::new().chain_update(self.0).chain_update(value.to_le_bytes()).finalize().into();
        digest.iter().take(16).fold(0, |hash, byte| hash << 8 | u128::from(*byte))
    }

    /// Returns a generator of random numbers that cannot be predicted without the key (SHA-256 in counter mode).
    pub fn stream(self) -> KeyStream {
        KeyStream { key: self, counter: 0, block: [0; 4], used: 4 }
    }
}

/// Random numbers from a key.
#[derive(Clone, Debug)]
pub struct KeyStream {
    key: ReleaseKey,
    counter: u128,
    block: [u64; 4],
    used: usize,
}

impl KeyStream {
    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        if self.used == self.block.len() {
            let block = Sha256::new().chain_update(self.key.0).chain_update(self.counter.to_le_bytes());
            let bytes: [u8; 32] = block.finalize().into();
            for (word, bytes) in self.block.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            (self.counter, self.used) = (self.counter + 1, 0);
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// Returns a number below `end`, which must be above zero. The bias is below `end / 2^64`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_depend_on_secret_seed_purpose_and_context() {
        let key = ReleaseKey::new(&[1; 32], 7);
        assert_eq!(key, ReleaseKey::new(&[1; 32], 7));
        let others = [
            ReleaseKey::new(&[2; 32], 7),
            ReleaseKey::new(&[1; 32], 8),
            key.derive("a", &[]),
            key.derive("b", &[]),
            key.derive("a", b"b"),
            key.derive("ab", &[]),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != key && others[..at].iter().all(|before| before != other));
        }
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", ReleaseKey::PUBLIC), "ReleaseKey(..)");
    }

    #[test]
    fn numbers_of_a_stream_are_uniform() {
        let mut stream = ReleaseKey::PUBLIC.stream();
        let mut counts = [0_u32; 7];
        (0..70_000).for_each(|_| counts[stream.below(7)] += 1);
        // Six standard deviations of a binomial with 70,000 trials and a chance of 1/7.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 556), "{counts:?}");
    }
}
