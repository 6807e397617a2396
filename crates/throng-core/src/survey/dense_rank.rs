//! Dense ranks: sorts values and gives equal ones the same rank.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, UInt32Array};
use arrow::compute::{SortOptions, partition, sort_to_indices, take};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};

use super::order_keys::{of_real, real, signed, unsigned};
use super::radix::{RadixEntry, by_key, sorted};
use crate::error::{Result, kernel};

/// Dense ranks of values, with the distinct values.
#[derive(Debug)]
pub(crate) struct DenseRanks {
    /// Rank of each value.
    pub(crate) rank: Vec<u32>,
    /// Distinct values, ascending.
    pub(crate) values: ArrayRef,
}

impl DenseRanks {
    /// Ranks values, which must not contain nulls.
    pub(crate) fn of(values: &ArrayRef) -> Result<Self> {
        match values.data_type() {
            DataType::Int8 => Ok(of_keys::<Int8Type>(values, |value| signed(value.into()), |key| unsigned(key) as i8)),
            DataType::Int16 => {
                Ok(of_keys::<Int16Type>(values, |value| signed(value.into()), |key| unsigned(key) as i16))
            }
            DataType::Int32 => {
                Ok(of_keys::<Int32Type>(values, |value| signed(value.into()), |key| unsigned(key) as i32))
            }
            DataType::Int64 => Ok(of_keys::<Int64Type>(values, signed, unsigned)),
            DataType::Date32 => {
                Ok(of_keys::<Date32Type>(values, |value| signed(value.into()), |key| unsigned(key) as i32))
            }
            DataType::Float32 => {
                Ok(of_keys::<Float32Type>(values, |value| of_real(value.into()), |key| real(key) as f32))
            }
            DataType::Float64 => Ok(of_keys::<Float64Type>(values, of_real, real)),
            _ => of_others(values),
        }
    }
}

/// Approximate number of values of a column that are sorted at a time. Sorting takes several times the memory of the
/// values.
pub const SORTED_TOGETHER: usize = 1 << 20;

/// Number of keys sampled per range of keys.
const RANGE_SAMPLE: usize = 64;

/// Ranks numbers of up to 64 bits by order-preserving keys. Values are recovered from the sorted keys, which are
/// sequential in memory, instead of gathered from the input.
fn of_keys<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    key: impl Fn(T::Native) -> u64,
    value: impl Fn(u64) -> T::Native,
) -> DenseRanks {
    of_ranges::<T>(values, key, value, SORTED_TOGETHER)
}

/// Divides keys into consecutive ranges of about `together` keys each.
fn key_ranges(keys: impl ExactSizeIterator<Item = u64>, together: usize) -> Vec<RangeInclusive<u64>> {
    let count = keys.len().div_ceil(together.max(1)).max(1);
    let mut firsts = vec![0];
    if count > 1 {
        let step = (keys.len() / (count * RANGE_SAMPLE)).max(1);
        let mut sample: Vec<u64> = keys.step_by(step).collect();
        sample.sort_unstable();
        firsts.extend((1..count).map(|range| sample[range * sample.len() / count]));
        firsts.dedup();
    }
    let lasts = firsts.iter().skip(1).map(|first| first - 1).chain([u64::MAX]);
    firsts.iter().zip(lasts).map(|(first, last)| *first..=last).collect()
}

/// Same as [`of_keys`], sorting about `sorted_together` numbers at a time.
fn of_ranges<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    key: impl Fn(T::Native) -> u64,
    value: impl Fn(u64) -> T::Native,
    sorted_together: usize,
) -> DenseRanks {
    let keys = || values.as_primitive::<T>().values().iter().map(|value| key(*value));
    let (least, most) = keys().fold((u64::MAX, 0), |(least, most), key| (least.min(key), most.max(key)));
    let least = least.min(most);
    let bits = u64::BITS - (most - least).leading_zeros();
    let place_bits = usize::BITS - values.len().leading_zeros();
    let keys = || keys().map(|key| key - least);
    let mut ranking =
        RankBuilder { rank: vec![0; values.len()], distinct: Vec::with_capacity(values.len()), last: None };
    for range in key_ranges(keys(), sorted_together) {
        let keys = || keys().zip(0_u32..).filter(|(key, _)| range.contains(key));
        let count = if sorted_together < values.len() { keys().count() } else { values.len() };
        if bits + place_bits <= u64::BITS {
            // Pack key and original index into one u64; halves the cache footprint.
            let mut both = Vec::with_capacity(count);
            both.extend(keys().map(|(key, place)| key << place_bits | u64::from(place)));
            for both in sorted(both, bits, |both| both >> place_bits) {
                let place = both & ((1 << place_bits) - 1);
                ranking.push(both >> place_bits, place as usize, |key| value(key + least));
            }
        } else {
            let mut entries = Vec::with_capacity(count);
            entries.extend(keys().map(|(key, number)| RadixEntry { key, number, rows: 0 }));
            for entry in by_key(entries, bits) {
                ranking.push(entry.key, entry.number as usize, |key| value(key + least));
            }
        }
    }
    DenseRanks { rank: ranking.rank, values: Arc::new(PrimitiveArray::<T>::new(ranking.distinct.into(), None)) }
}

/// Assigns ranks to ascending keys.
struct RankBuilder<T> {
    rank: Vec<u32>,
    distinct: Vec<T>,
    last: Option<u64>,
}

impl<T> RankBuilder<T> {
    /// Adds the next key and assigns its rank to the value at index `place`.
    fn push(&mut self, key: u64, place: usize, value: impl Fn(u64) -> T) {
        if self.last.replace(key) != Some(key) {
            self.distinct.push(value(key));
        }
        self.rank[place] = self.distinct.len() as u32 - 1;
    }
}

fn of_others(values: &ArrayRef) -> Result<DenseRanks> {
    let order = sort_to_indices(values, Some(SortOptions::default()), None).map_err(kernel("sort"))?;
    let sorted = take(values, &order, None).map_err(kernel("take"))?;
    let (mut rank, mut first) = (vec![0; values.len()], Vec::new());
    if !sorted.is_empty() {
        let alike = partition(std::slice::from_ref(&sorted)).map_err(kernel("partition"))?;
        for (place, equal) in alike.ranges().into_iter().enumerate() {
            first.push(order.value(equal.start));
            order.values()[equal].iter().for_each(|index| rank[*index as usize] = place as u32);
        }
    }
    let values = take(values, &UInt32Array::from(first), None).map_err(kernel("take"))?;
    Ok(DenseRanks { rank, values })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::test_tables::{cases, floats, ints, texts};

    /// Ranks of values in the set of all of them.
    fn expected<T: Ord + Clone>(values: &[T]) -> (Vec<u32>, Vec<T>) {
        let distinct: Vec<T> = values.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let rank = values.iter().map(|value| distinct.partition_point(|known| known < value) as u32);
        (rank.collect(), distinct)
    }

    proptest! {
        #![proptest_config(cases(80))]

        #[test]
        fn numbers_and_texts_are_ranked_as_a_set_ranks_them(
            numbers in prop::collection::vec(prop_oneof![-3_i64..3, any::<i64>(), Just(i64::MIN), Just(i64::MAX)], 0..80),
        ) {
            let DenseRanks { rank, values } = DenseRanks::of(&ints(&numbers)).unwrap();
            let (expected_rank, distinct) = expected(&numbers);
            prop_assert_eq!(&rank, &expected_rank);
            prop_assert_eq!(values.as_primitive::<Int64Type>().values(), &distinct[..]);
            let names: Vec<String> = numbers.iter().map(i64::to_string).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let DenseRanks { rank, values } = DenseRanks::of(&texts(&names)).unwrap();
            let (expected_rank, distinct) = expected(&names);
            prop_assert_eq!(rank, expected_rank);
            prop_assert!(values.as_string::<i32>().iter().flatten().eq(distinct));
        }
    }

    proptest! {
        #![proptest_config(cases(80))]

        #[test]
        fn ranks_do_not_depend_on_how_many_numbers_are_sorted_at_a_time(
            numbers in prop::collection::vec(prop_oneof![-3_i64..3, any::<i64>(), Just(i64::MIN)], 0..80),
            together in 0_usize..90,
        ) {
            let ranks = of_ranges::<Int64Type>(&ints(&numbers), signed, unsigned, together);
            let (expected_rank, distinct) = expected(&numbers);
            prop_assert_eq!(&ranks.rank, &expected_rank);
            prop_assert_eq!(ranks.values.as_primitive::<Int64Type>().values(), &distinct[..]);
        }
    }

    #[test]
    fn real_numbers_come_back_as_they_were() {
        let numbers = [1.5, -0.1, f64::MAX, 0.0, f64::MIN, 1.5, f64::MIN_POSITIVE, -1e-300];
        let DenseRanks { rank, values } = DenseRanks::of(&floats(&numbers)).unwrap();
        assert_eq!(rank, [5, 1, 6, 3, 0, 5, 4, 2]);
        let sorted = [f64::MIN, -0.1, -1e-300, 0.0, f64::MIN_POSITIVE, 1.5, f64::MAX];
        assert_eq!(values.as_primitive::<Float64Type>().values(), &sorted);
    }
}
