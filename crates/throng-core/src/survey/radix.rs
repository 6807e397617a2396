//! Sorts groups by their keys, digit by digit.

/// A group on its way into order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: u64,
    /// Its place before.
    pub(super) number: u32,
    pub(super) rows: u32,
}

/// The bits that are sorted by at a time: as many as there are counters in the nearest cache.
const DIGIT_BITS: u32 = 11;

/// Entries in ascending order of keys of so many bits: a radix sort from the lowest digit on, of two halves at the same
/// time. Equal keys stay in the order in which they came.
pub(super) fn by_key(mut entries: Vec<Entry>, bits: u32) -> Vec<Entry> {
    let right = entries.split_off(entries.len() / 2);
    let (left, right) = rayon::join(|| sorted(entries, bits), || sorted(right, bits));
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.as_slice(), right.as_slice());
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        if b.key < a.key {
            merged.push(*b);
            right = right_rest;
        } else {
            merged.push(*a);
            left = left_rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    merged
}

fn sorted(mut entries: Vec<Entry>, bits: u32) -> Vec<Entry> {
    let mut other = vec![Entry::default(); entries.len()];
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut next = vec![0_usize; 1 << DIGIT_BITS];
        entries.iter().for_each(|entry| next[digit(entry.key)] += 1);
        let mut before = 0;
        for place in &mut next {
            before += std::mem::replace(place, before);
        }
        for entry in &entries {
            let place = &mut next[digit(entry.key)];
            other[*place] = *entry;
            *place += 1;
        }
        std::mem::swap(&mut entries, &mut other);
    }
    entries
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
            let entry = |(key, number): (u64, u32)| Entry { key: least(key), number, rows: number + 1 };
            let entries: Vec<Entry> = keys.into_iter().zip(0..).map(entry).collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| entry.key);
            prop_assert_eq!(by_key(entries, bits), expected);
        }
    }
}
