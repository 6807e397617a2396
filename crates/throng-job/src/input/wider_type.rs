//! The type of a column that has numbers of several widths in the files of an input.

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::datatypes::DataType::{
    Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
};

/// Signed integers by the logarithm of their width.
const SIGNED: [DataType; 4] = [Int8, Int16, Int32, Int64];

/// Unsigned integers by the logarithm of their width.
const UNSIGNED: [DataType; 4] = [UInt8, UInt16, UInt32, UInt64];

/// Returns the narrowest type that holds all values of two types of numbers exactly; `None` if there is none, or if they are
/// not numbers. The result for many types does not depend on their order.
///
/// Integers are not read as floating-point numbers, which are released in a different format.
pub(super) fn wider_type(a: &DataType, b: &DataType) -> Option<DataType> {
    let width = |of: &[DataType; 4], data_type: &DataType| of.iter().position(|known| known == data_type);
    let (signed, unsigned) = (|of: &DataType| width(&SIGNED, of), |of: &DataType| width(&UNSIGNED, of));
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Float32, Float64) | (Float64, Float32) => Some(Float64),
        _ => match ((signed(a), unsigned(a)), (signed(b), unsigned(b))) {
            ((Some(a), _), (Some(b), _)) => Some(SIGNED[a.max(b)].clone()),
            ((_, Some(a)), (_, Some(b))) => Some(UNSIGNED[a.max(b)].clone()),
            // A signed integer holds an unsigned one of half its width.
            ((Some(signed), _), (_, Some(unsigned))) | ((_, Some(unsigned)), (Some(signed), _)) => {
                SIGNED.get(signed.max(unsigned + 1)).cloned()
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::DataType::{Boolean, Date32, Decimal128, Utf8};

    const NUMBERS: [DataType; 10] = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64];

    /// Returns the minimum and maximum of an integer type.
    fn range(data_type: &DataType) -> (i128, i128) {
        match data_type {
            Int8 => (i8::MIN.into(), i8::MAX.into()),
            Int16 => (i16::MIN.into(), i16::MAX.into()),
            Int32 => (i32::MIN.into(), i32::MAX.into()),
            Int64 => (i64::MIN.into(), i64::MAX.into()),
            UInt8 => (0, u8::MAX.into()),
            UInt16 => (0, u16::MAX.into()),
            UInt32 => (0, u32::MAX.into()),
            UInt64 => (0, u64::MAX.into()),
            other => panic!("{other} is no integer"),
        }
    }

    #[test]
    fn integers_get_the_narrowest_type_that_holds_both() {
        for a in &NUMBERS[..8] {
            for b in &NUMBERS[..8] {
                let ((least_a, most_a), (least_b, most_b)) = (range(a), range(b));
                let (least, most) = (least_a.min(least_b), most_a.max(most_b));
                let holds = |found: &DataType| range(found).0 <= least && range(found).1 >= most;
                let narrowest = NUMBERS[..8]
                    .iter()
                    .filter(|found| holds(found))
                    .min_by_key(|found| range(found).1 - range(found).0);
                assert_eq!(wider_type(a, b).as_ref(), narrowest, "{a} {b}");
            }
        }
    }

    #[test]
    fn the_order_of_types_does_not_matter() {
        let types = [&NUMBERS[..], &[Utf8, Boolean, Date32]].concat();
        let both = |a: Option<DataType>, b: &DataType| wider_type(&a?, b);
        for a in &types {
            for b in &types {
                assert_eq!(wider_type(a, b), wider_type(b, a), "{a} {b}");
                for c in &types {
                    let (of_left, of_right) = (both(wider_type(a, b), c), both(wider_type(b, c), a));
                    assert_eq!(of_left, of_right, "{a} {b} {c}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_exact_or_no_number_is_left_alone() {
        let others =
            [(Int64, UInt64), (Int8, UInt64), (Int32, Float64), (Float32, Int8), (Int64, Utf8), (Date32, Int32)];
        for (a, b) in others {
            assert_eq!(wider_type(&a, &b), None, "{a} {b}");
        }
        assert_eq!(wider_type(&Decimal128(9, 2), &Decimal128(10, 2)), None);
        assert_eq!(wider_type(&Date32, &Date32), Some(Date32));
        assert_eq!(wider_type(&Float32, &Float64), Some(Float64));
    }
}
