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

/// Entries in ascending order of keys of so many bits: parted at the middle by their highest digit, and then sorted from
/// the lowest digit on, both parts at the same time. Equal keys stay in the order in which they came.
pub(super) fn by_key(entries: Vec<Entry>, bits: u32) -> Vec<Entry> {
    let highest = bits.saturating_sub(DIGIT_BITS);
    let mut counts = vec![0_usize; 1 << DIGIT_BITS];
    entries.iter().for_each(|entry| counts[digit(entry.key, highest)] += 1);
    let (mut middle, mut below) = (0, 0);
    while below < entries.len() / 2 {
        below += counts[middle];
        middle += 1;
    }
    let mut parted = Vec::with_capacity(entries.len());
    parted.extend(entries.iter().filter(|entry| digit(entry.key, highest) < middle));
    parted.extend(entries.iter().filter(|entry| digit(entry.key, highest) >= middle));
    let (mut entries, mut other) = (parted, entries);
    let (first, second) = (entries.split_at_mut(below), other.split_at_mut(below));
    rayon::join(|| sort(first.0, second.0, bits), || sort(first.1, second.1, bits));
    // Each digit moves the entries to the other place.
    if bits.div_ceil(DIGIT_BITS).is_multiple_of(2) { entries } else { other }
}

/// Sorts entries by each digit, back and forth between two places.
fn sort<'a>(mut entries: &'a mut [Entry], mut other: &'a mut [Entry], bits: u32) {
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let mut next = vec![0_usize; 1 << DIGIT_BITS];
        entries.iter().for_each(|entry| next[digit(entry.key, shift)] += 1);
        let mut before = 0;
        for place in &mut next {
            before += std::mem::replace(place, before);
        }
        for entry in &*entries {
            let place = &mut next[digit(entry.key, shift)];
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
            let entry = |(key, number): (u64, u32)| Entry { key: least(key), number, rows: number + 1 };
            let entries: Vec<Entry> = keys.into_iter().zip(0..).map(entry).collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| entry.key);
            prop_assert_eq!(by_key(entries, bits), expected);
        }
    }
}
