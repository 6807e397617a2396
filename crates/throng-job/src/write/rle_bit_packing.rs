//! The RLE/bit-packing hybrid encoding of Parquet: runs of equal numbers, and all others packed with the bit width of
//! the largest.

/// Numbers are packed eight at a time.
const PACKED: usize = 8;

/// Appends numbers, each of them below 2^`width`.
pub(super) fn encode(numbers: &[u32], width: u32, bytes: &mut Vec<u8>) {
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|number| *number == first).count();
        if run >= PACKED {
            varint((run as u64) << 1, bytes);
            bytes.extend_from_slice(&first.to_le_bytes()[..width.div_ceil(8) as usize]);
            rest = &rest[run..];
            continue;
        }
        let mut end = PACKED;
        while rest.get(end..end + PACKED).is_some_and(|next| next.iter().any(|number| *number != next[0])) {
            end += PACKED;
        }
        // A remainder of fewer than eight is packed with the preceding ones.
        let end = if rest.len() < end + PACKED { rest.len() } else { end };
        let (packed, after) = rest.split_at(end);
        varint((packed.len().div_ceil(PACKED) as u64) << 1 | 1, bytes);
        pack(packed, width, bytes);
        rest = after;
    }
}

/// Returns the bit width of numbers below `count`.
pub(super) fn width(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Packs numbers, lowest bits first. The last group of eight is padded with zeros.
fn pack(numbers: &[u32], width: u32, bytes: &mut Vec<u8>) {
    let length = bytes.len() + numbers.len().div_ceil(PACKED) * width as usize;
    let (mut waiting, mut bits) = (0_u64, 0);
    for number in numbers {
        waiting |= u64::from(*number) << bits;
        bits += width;
        if bits >= u32::BITS {
            bytes.extend_from_slice(&(waiting as u32).to_le_bytes());
            waiting >>= u32::BITS;
            bits -= u32::BITS;
        }
    }
    bytes.extend_from_slice(&waiting.to_le_bytes());
    bytes.resize(length, 0);
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes numbers, as specified by the format.
    fn decode(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let (mut header, mut shift) = (0_u64, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if header & 1 == 0 {
                let (value, after) = bytes.split_at(width.div_ceil(8) as usize);
                let value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                numbers.extend(std::iter::repeat_n(value, (header >> 1) as usize));
                bytes = after;
                continue;
            }
            let packed = (header >> 1) as usize * PACKED;
            let (values, after) = bytes.split_at(packed * width as usize / 8);
            let bit = |at: usize| u32::from(values[at / 8] >> (at % 8) & 1);
            let number = |at: usize| (0..width as usize).map(|b| bit(at * width as usize + b) << b).sum::<u32>();
            numbers.extend((0..packed).map(number));
            bytes = after;
        }
        numbers.truncate(count);
        assert!(bytes.is_empty(), "{} bytes are left over", bytes.len());
        numbers
    }

    #[test]
    fn numbers_of_any_width_come_back() {
        for width in 0..=32 {
            let mask = u32::MAX.checked_shr(32 - width).unwrap_or(0);
            for (length, run) in [(0, 1), (1, 1), (7, 1), (8, 1), (9, 3), (100, 1), (100, 30), (257, 9), (1000, 8)] {
                // Runs of different lengths, from a small generator.
                let mut state = 1_u32;
                let numbers: Vec<u32> = (0..length)
                    .map(|at| {
                        if at % run == 0 || at % 13 == 0 {
                            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        }
                        state.rotate_left(7) & mask
                    })
                    .collect();
                let mut bytes = Vec::new();
                encode(&numbers, width, &mut bytes);
                assert_eq!(decode(&bytes, width, numbers.len()), numbers, "{width} bits, {length} numbers");
            }
        }
    }

    #[test]
    fn a_width_has_room_for_all_numbers_below_a_count() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(width), [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
