//! Weighted choices in constant time: the alias method [Walker 1977], with tables built as Vose describes.

use crate::rng::Rng;

/// A weighted choice among `0..len`: one lookup and one random number per choice.
#[derive(Debug)]
pub(crate) struct Alias {
    slots: Vec<AliasSlot>,
}

/// A slot yields its own index with probability `keep / 2^32`, and `other` otherwise.
#[derive(Debug)]
struct AliasSlot {
    keep: u32,
    other: u16,
}

impl Alias {
    /// Builds the table. Requires between 1 and 65,536 weights, none negative and at least one positive.
    ///
    /// A weight of zero is never chosen: its slot keeps nothing, and the slots that are left over at the end hold
    /// exactly one share each (up to rounding), which a zero never does.
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        debug_assert!(total > 0.0 && weights.len() <= 1 << 16);
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight * weights.len() as f64 / total).collect();
        let mut slots: Vec<AliasSlot> =
            (0..weights.len()).map(|i| AliasSlot { keep: u32::MAX, other: i as u16 }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|i| shares[*i] < 1.0);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            slots[poor] = AliasSlot { keep: (shares[poor] * 2_f64.powi(32)) as u32, other: rich as u16 };
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { slots }
    }

    /// Builds a choice among `len` with weights `1 / (rank + shift)^exponent`.
    pub fn zipf(len: usize, shift: f64, exponent: f64) -> Self {
        Self::new(&zipf_weights(len, shift, exponent))
    }

    /// Draws an index.
    #[inline]
    pub fn pick(&self, rng: &mut Rng) -> usize {
        let bits = rng.bits();
        let index = (((bits >> 32) * self.slots.len() as u64) >> 32) as usize;
        let slot = &self.slots[index];
        if (bits as u32) < slot.keep { index } else { slot.other as usize }
    }
}

/// Returns the weights `1 / (rank + shift)^exponent`; ranks start at one.
pub(crate) fn zipf_weights(len: usize, shift: f64, exponent: f64) -> Vec<f64> {
    (1..=len).map(|rank| (rank as f64 + shift).powf(-exponent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_in_proportion_to_the_weights() {
        let alias = Alias::new(&[1.0, 0.0, 6.0, 3.0]);
        let mut rng = Rng::new(1, 0);
        let mut counts = [0_u32; 4];
        for _ in 0..100_000 {
            counts[alias.pick(&mut rng)] += 1;
        }
        assert_eq!(counts[1], 0);
        for (index, expected) in [(0, 10_000), (2, 60_000), (3, 30_000)] {
            assert!(counts[index].abs_diff(expected) < 600, "choice {index}: {} of {expected}", counts[index]);
        }
    }

    #[test]
    fn a_single_weight_is_always_chosen() {
        let alias = Alias::new(&[0.0, 0.0, 0.25]);
        let mut rng = Rng::new(2, 0);
        assert!((0..1000).all(|_| alias.pick(&mut rng) == 2));
    }

    #[test]
    fn zipf_halves_from_the_first_rank_to_the_second() {
        let weights = zipf_weights(3, 0.0, 1.0);
        assert_eq!(weights[0], 2.0 * weights[1]);
    }
}
