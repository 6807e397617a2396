//! Parallel LSD radix sort of groups by their keys.

use rayon::prelude::*;

/// A group to be sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RadixEntry {
    pub(super) key: u64,
    /// Index before sorting.
    pub(super) number: u32,
    pub(super) rows: u32,
}

/// Number of bits of a digit; its counters fit into the L1 cache.
const DIGIT_BITS: u32 = 11;

/// Approximate number of keys sampled to estimate the median.
const SAMPLE: usize = 255;

/// Sorts entries by keys of `bits` bits, ascending. The sort is stable.
pub(super) fn by_key(entries: Vec<RadixEntry>, bits: u32) -> Vec<RadixEntry> {
    sorted(entries, bits, |entry| entry.key)
}

/// Sorts entries by keys of `bits` bits, ascending: splits them near the median, then sorts both halves in parallel by
/// an LSD radix sort. The sort is stable.
pub(super) fn sorted<T: Copy + Default + Send + Sync>(
    mut entries: Vec<T>,
    bits: u32,
    key: impl Fn(&T) -> u64 + Copy + Send + Sync,
) -> Vec<T> {
    let middle = middle_key(&entries, key);
    let below = entries.par_iter().filter(|entry| key(entry) < middle).count();
    let mut scattered = vec![T::default(); entries.len()];
    let (first, second) = scattered.split_at_mut(below);
    rayon::join(
        || gather(&entries, |entry| key(entry) < middle, first),
        || gather(&entries, |entry| key(entry) >= middle, second),
    );
    let other = entries.split_at_mut(below);
    rayon::join(|| sort(first, other.0, bits, key), || sort(second, other.1, bits, key));
    // Each pass moves the entries to the other buffer.
    if bits.div_ceil(DIGIT_BITS).is_multiple_of(2) { scattered } else { entries }
}

/// Returns an estimate of the median key.
fn middle_key<T>(entries: &[T], key: impl Fn(&T) -> u64) -> u64 {
    let mut sample: Vec<u64> = entries.iter().step_by(1 + entries.len() / SAMPLE).map(key).collect();
    sample.sort_unstable();
    sample.get(sample.len() / 2).copied().unwrap_or(0)
}

/// Copies the wanted entries into `slots`, whose length must be their number.
fn gather<T: Copy>(entries: &[T], is_wanted: impl Fn(&T) -> bool, slots: &mut [T]) {
    let mut next = 0;
    for entry in entries {
        // Branchless stable partition: write unconditionally, advance only if wanted, so there is no misprediction.
        if let Some(slot) = slots.get_mut(next) {
            *slot = *entry;
        }
        next += usize::from(is_wanted(entry));
    }
}

/// Sorts entries by each digit, alternating between two buffers.
fn sort<'a, T: Copy>(mut entries: &'a mut [T], mut other: &'a mut [T], bits: u32, key: impl Fn(&T) -> u64) {
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let mut next = vec![0_usize; 1 << DIGIT_BITS];
        entries.iter().for_each(|entry| next[digit(key(entry), shift)] += 1);
        let mut before = 0;
        for place in &mut next {
            before += std::mem::replace(place, before);
        }
        for entry in &*entries {
            let place = &mut next[digit(key(entry), shift)];
            other[*place] = *entry;
            *place += 1;
        }
        std::mem::swap(&mut entries, &mut other);
    }
}

fn digit(key: u64, shift: u32) -> usize {
    (key >> shift) as usize & ((1 << DIGIT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_tables::cases;

    proptest! {
        #![proptest_config(cases(80))]

        #[test]
        fn keys_of_any_width_are_sorted_and_equal_ones_stay_in_order(
            bits in 0_u32..=64,
            keys in prop::collection::vec(prop_oneof![0_u64..5, any::<u64>()], 0..300),
        ) {
            let least = |key: u64| key & u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let entry = |(key, number): (u64, u32)| RadixEntry { key: least(key), number, rows: number + 1 };
            let entries: Vec<RadixEntry> = keys.into_iter().zip(0..).map(entry).collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| entry.key);
            prop_assert_eq!(by_key(entries, bits), expected);
        }
    }
}
