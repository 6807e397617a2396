use std::sync::Arc;

use arrow::array::{Array, DictionaryArray, Int32Array, LargeStringArray, StringArray, StringViewArray};
use arrow::compute::concat;
use arrow::datatypes::Int32Type;
use proptest::prelude::*;

use super::*;
use crate::test_tables::{cases, ints, maybe_ints, maybe_texts, texts};

fn hashes(columns: &[ArrayRef], seed: u64) -> Vec<u128> {
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    RowHasher::new(&types, seed).unwrap().hash(columns, columns[0].len()).unwrap()
}

fn checksum(hashes: &[u128]) -> Checksum {
    let mut sum = Checksum::default();
    sum.add(hashes.iter().copied());
    sum
}

#[test]
fn equal_rows_have_equal_hashes_and_others_do_not() {
    let found = hashes(&[ints(&[1, 2, 1, 1]), texts(&["a", "a", "a", "b"])], 7);
    assert_eq!(found[0], found[2]);
    assert_ne!(found[0], found[1]);
    assert_ne!(found[0], found[3]);
}

#[test]
fn the_seed_is_a_key() {
    let columns = [ints(&[1, 2, 3])];
    assert_eq!(hashes(&columns, 1), hashes(&columns, 1));
    assert!(hashes(&columns, 1).iter().zip(hashes(&columns, 2)).all(|(one, two)| *one != two));
}

#[test]
fn values_do_not_run_into_the_next_column() {
    let one = hashes(&[texts(&["ab"]), texts(&["c"])], 0);
    let other = hashes(&[texts(&["a"]), texts(&["bc"])], 0);
    assert_ne!(one, other);
}

#[test]
fn null_is_not_the_empty_text_nor_zero() {
    let found = hashes(&[maybe_texts(&[None, Some("")])], 0);
    assert_ne!(found[0], found[1]);
    let found = hashes(&[maybe_ints(&[None, Some(0)])], 0);
    assert_ne!(found[0], found[1]);
}

#[test]
fn the_encoding_of_a_text_does_not_matter() {
    let values = vec![Some("b"), None, Some("a"), Some("b")];
    let plain: ArrayRef = Arc::new(StringArray::from(values.clone()));
    let dictionary = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(2), None, Some(0), Some(2)]),
        Arc::new(StringArray::from(vec!["a", "unused", "b"])),
    );
    let others: [ArrayRef; 3] = [
        Arc::new(LargeStringArray::from(values.clone())),
        Arc::new(StringViewArray::from(values)),
        Arc::new(dictionary),
    ];
    for other in others {
        let (one, two) = (std::slice::from_ref(&plain), std::slice::from_ref(&other));
        assert_eq!(hashes(one, 3), hashes(two, 3), "{}", other.data_type());
    }
}

#[test]
fn rows_without_columns_are_counted_all_the_same() {
    let mut hasher = RowHasher::new(&[], 5).unwrap();
    let mut sum = Checksum::default();
    sum.add(hasher.hash(&[], 4).unwrap());
    assert_eq!(sum.rows(), 4);
}

#[test]
fn a_row_lost_doubled_or_changed_changes_the_checksum() {
    let all = hashes(&[ints(&[1, 2, 3, 4])], 0);
    let whole = checksum(&all);
    assert_ne!(whole, checksum(&all[..3]));
    assert_ne!(whole, checksum(&[all.as_slice(), &all[..1]].concat()));
    assert_ne!(whole, checksum(&hashes(&[ints(&[1, 2, 3, 5])], 0)));
    assert_ne!(whole, checksum(&[all[0], all[0], all[2], all[3]]));
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn neither_batches_nor_order_matter_to_the_checksum(
        rows in prop::collection::vec((0_i64..5, prop::option::of("[ab]{0,2}")), 1..40),
        at in any::<prop::sample::Index>(),
        seed: u64,
    ) {
        let columns = |rows: &[(i64, Option<String>)]| -> Vec<ArrayRef> {
            let text: StringArray = rows.iter().map(|(_, text)| text.as_deref()).collect();
            vec![ints(&rows.iter().map(|(number, _)| *number).collect::<Vec<_>>()), Arc::new(text)]
        };
        let whole = hashes(&columns(&rows), seed);
        let (left, right) = rows.split_at(at.index(rows.len()));
        let (left, right) = (hashes(&columns(left), seed), hashes(&columns(right), seed));
        prop_assert_eq!(&whole, &[left.clone(), right.clone()].concat());
        let mut merged = checksum(&right);
        merged.merge(checksum(&left));
        prop_assert_eq!(checksum(&whole), merged);
        prop_assert_eq!(merged.rows(), rows.len() as u64);
    }
}

#[test]
fn a_slice_hashes_as_its_rows() {
    let whole = ints(&[1, 2, 3, 4]);
    let pieces = concat(&[whole.slice(2, 2).as_ref()]).unwrap();
    assert_eq!(hashes(&[whole.slice(2, 2)], 0), hashes(&[pieces], 0));
}

#[test]
fn rows_that_have_exchanged_a_value_change_the_checksum() {
    let before = hashes(&[ints(&[1, 2]), texts(&["a", "b"]), ints(&[7, 7])], 0);
    let after = hashes(&[ints(&[1, 2]), texts(&["b", "a"]), ints(&[7, 7])], 0);
    assert_ne!(checksum(&before), checksum(&after));
    // Exchanging the values of two columns must change the hash.
    assert_ne!(hashes(&[ints(&[1]), ints(&[2])], 0), hashes(&[ints(&[2]), ints(&[1])], 0));
}

#[test]
fn every_type_has_hashes_that_tell_its_values_apart() {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(arrow::array::BooleanArray::from(vec![Some(true), Some(false), None])),
        Arc::new(arrow::array::Int8Array::from(vec![Some(-1), Some(1), None])),
        Arc::new(arrow::array::UInt16Array::from(vec![Some(0), Some(u16::MAX), None])),
        Arc::new(arrow::array::Float32Array::from(vec![Some(0.0), Some(-0.0), None])),
        Arc::new(arrow::array::Float64Array::from(vec![Some(f64::NAN), Some(0.0), None])),
        Arc::new(arrow::array::Date32Array::from(vec![Some(1), Some(2), None])),
        Arc::new(arrow::array::Decimal128Array::from(vec![Some(1), Some(1 << 100), None])),
        Arc::new(arrow::array::BinaryArray::from(vec![Some(&b""[..]), Some(b"x"), None])),
        maybe_texts(&[Some("a"), Some("b"), None]),
    ];
    for column in &columns {
        let found = hashes(std::slice::from_ref(column), 1);
        assert!(found[0] != found[1] && found[1] != found[2] && found[0] != found[2], "{}", column.data_type());
        assert_eq!(hashes(&[column.slice(1, 2)], 1), found[1..], "{}", column.data_type());
    }
    assert_eq!(hashes(&columns, 1).len(), 3);
}

#[test]
fn a_column_of_nothing_but_nulls_is_hashed_too() {
    let nothing = hashes(&[maybe_texts(&[None, None])], 0);
    assert_eq!(nothing[0], nothing[1]);
    assert_eq!(nothing[0], hashes(&[maybe_texts(&[None, Some("a")])], 0)[0]);
}

#[test]
fn equal_strings_of_several_buffers_hash_alike() {
    let piece = |text: &str| StringViewArray::from(vec![text]);
    let long = "a string that is longer than a view";
    let views = concat(&[&piece(long), &piece("a string that is longer, too"), &piece(long)]).unwrap();
    let found = hashes(&[views], 0);
    assert_eq!(found[0], found[2]);
    assert_ne!(found[0], found[1]);
    assert_eq!(found[..1], hashes(&[texts(&[long])], 0));
}
