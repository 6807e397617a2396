//! Packs tuples of numbers into 64-bit keys.
//!
//! Each column has as many bits as its largest number needs, and the first column has the most significant bits, so
//! keys sort like their tuples. Null is all ones, as in a tuple, and sorts last.

use crate::domain::NULL;

/// Bit layout of the columns of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    columns: Vec<PackedField>,
    bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedField {
    shift: u32,
    mask: u32,
}

impl Packing {
    /// Creates the layout for columns with `sizes` values each; `None` if tuples need more than 64 bits.
    pub(super) fn of(sizes: &[usize]) -> Option<Self> {
        let (mut columns, mut bits) = (vec![PackedField { shift: 0, mask: 0 }; sizes.len()], 0);
        for (field, size) in columns.iter_mut().zip(sizes).rev() {
            // The largest number of these bits is the sentinel for null.
            let width = u32::try_from(*size).ok().filter(|size| *size < NULL)?.checked_ilog2().map_or(1, |log| log + 1);
            if bits + width > u64::BITS {
                return None;
            }
            *field = PackedField { shift: bits, mask: NULL >> (u32::BITS - width) };
            bits += width;
        }
        Some(Self { columns, bits })
    }

    /// Creates the layout of the longest prefix of columns that fits into 64 bits.
    pub(super) fn of_first(sizes: &[usize]) -> Self {
        let packed = (0..=sizes.len()).rev().find_map(|columns| Self::of(&sizes[..columns]));
        packed.unwrap_or(Self { columns: Vec::new(), bits: 0 })
    }

    /// Returns the number of columns.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Returns whether columns with `sizes` values each fit.
    pub(super) fn fits(&self, sizes: &[usize]) -> bool {
        self.columns.iter().zip(sizes).all(|(field, size)| *size <= field.mask as usize)
    }

    /// Returns the number of bits of a key.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the number of bits of the columns from `column` on.
    pub(super) fn bits_from(&self, column: usize) -> u32 {
        column.checked_sub(1).map_or(self.bits, |before| self.columns[before].shift)
    }

    #[inline]
    pub(super) fn key(&self, tuple: &[u32]) -> u64 {
        self.key_of(tuple.iter().copied())
    }

    #[inline]
    pub(super) fn key_of(&self, tuple: impl Iterator<Item = u32>) -> u64 {
        let fields = self.columns.iter().zip(tuple);
        fields.fold(0, |key, (field, number)| key | u64::from(number & field.mask) << field.shift)
    }

    /// Returns the keys of tuples that are given by columns.
    pub(super) fn keys(&self, columns: &[Vec<u32>], rows: usize) -> Vec<u64> {
        let mut keys = vec![0; rows];
        for (field, column) in self.columns.iter().zip(columns) {
            let PackedField { shift, mask } = *field;
            keys.iter_mut().zip(column).for_each(|(key, number)| *key |= u64::from(number & mask) << shift);
        }
        keys
    }

    /// Unpacks the tuple of a key.
    pub(super) fn tuple(&self, key: u64) -> impl Iterator<Item = u32> {
        (0..self.columns.len()).map(move |column| self.number(key, column))
    }

    /// Returns the number of a column of a key.
    #[inline]
    pub(super) fn number(&self, key: u64, column: usize) -> u32 {
        let PackedField { shift, mask } = self.columns[column];
        match (key >> shift) as u32 & mask {
            null if null == mask => NULL,
            number => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_their_tuples_are_and_come_back() {
        let packing = Packing::of(&[3, 1, 0, 4]).unwrap();
        let mut tuples = Vec::new();
        for a in [0, 1, 2, NULL] {
            for b in [0, NULL] {
                for c in [0, 1, 2, 3, NULL] {
                    tuples.push([a, b, NULL, c]);
                }
            }
        }
        let keys: Vec<u64> = tuples.iter().map(|tuple| packing.key(tuple)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        for (tuple, key) in tuples.iter().zip(&keys) {
            assert_eq!(packing.tuple(*key).collect::<Vec<_>>(), tuple);
        }
        let columns: Vec<Vec<u32>> = (0..4).map(|column| tuples.iter().map(|tuple| tuple[column]).collect()).collect();
        assert_eq!(packing.keys(&columns, tuples.len()), keys);
    }

    #[test]
    fn as_many_of_the_first_columns_are_packed_as_there_is_room_for() {
        assert_eq!(Packing::of_first(&[3, 100]).columns(), 2);
        assert_eq!(Packing::of_first(&[1 << 31, 1 << 31, 1]).columns(), 2);
        assert_eq!(Packing::of_first(&[u32::MAX as usize]).columns(), 0);
        assert_eq!(Packing::of_first(&[]), Packing::of(&[]).unwrap());
    }

    #[test]
    fn a_packing_has_room_for_its_sizes_and_for_null() {
        let packing = Packing::of(&[3, 100]).unwrap();
        assert_eq!(packing.bits(), 2 + 7);
        assert_eq!([0, 1, 2].map(|column| packing.bits_from(column)), [9, 7, 0]);
        assert!(packing.fits(&[3, 127]) && !packing.fits(&[4, 100]) && !packing.fits(&[3, 128]));
        assert_eq!(Packing::of(&[0; 64]).unwrap().bits(), 64);
        assert!(Packing::of(&[0; 65]).is_none());
        assert!(Packing::of(&[u32::MAX as usize]).is_none());
        assert!(Packing::of(&[1 << 31, 1 << 31]).is_some());
        assert!(Packing::of(&[1 << 31, 1 << 31, 1]).is_none());
    }
}
