use arrow::array::{Int64Array, LargeStringArray, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{Int8Type, Int64Type};
use proptest::prelude::*;

use super::*;
use crate::test_tables::cases;

type Values = Vec<Option<String>>;

fn back(array: &ArrayRef) -> Values {
    let plain = cast(array, &DataType::Utf8).unwrap();
    plain.as_string::<i32>().iter().map(|value| value.map(str::to_owned)).collect()
}

/// The same strings in every type, some of them as slices, and with views into several buffers.
fn in_all_types(values: &Values) -> Vec<ArrayRef> {
    let texts = || values.iter().map(Option::as_deref);
    let around: StringViewArray = [Some("something before it"), None].into_iter().chain(texts()).collect();
    let (left, right) = values.split_at(values.len() / 2);
    let piece = |values: &[Option<String>]| values.iter().map(Option::as_deref).collect::<StringViewArray>();
    let dictionary: DictionaryArray<Int64Type> = texts().collect();
    vec![
        Arc::new(texts().collect::<StringViewArray>()),
        Arc::new(around.slice(2, values.len())),
        concat(&[&piece(left), &piece(right)]).unwrap(),
        Arc::new(texts().collect::<StringArray>()),
        Arc::new(texts().collect::<LargeStringArray>()),
        Arc::new(texts().chain([Some("something after it")]).collect::<StringArray>().slice(0, values.len())),
        Arc::new(dictionary),
    ]
}

fn assert_compact(values: &Values) {
    let mut compactor = DictionaryEncoder::default();
    for array in in_all_types(values) {
        let compact = compactor.compact(&array).unwrap();
        assert_eq!(compact.data_type(), &dictionary_type());
        assert_eq!(&back(&compact), values, "{}", array.data_type());
        assert_eq!(compact.logical_null_count(), values.iter().filter(|value| value.is_none()).count());
        let dictionary = compact.as_dictionary::<UInt32Type>();
        let mut is_used = vec![false; dictionary.values().len()];
        dictionary.keys().iter().flatten().for_each(|key| is_used[key as usize] = true);
        assert!(is_used.into_iter().all(|is_used| is_used), "an entry is not in use");
    }
}

#[test]
fn strings_come_back_from_every_encoding() {
    let long = |end: &str| Some(format!("a long string with a common beginning {end}"));
    let short = |text: &str| Some(text.to_owned());
    assert_compact(&vec![]);
    assert_compact(&vec![None, None]);
    assert_compact(&vec![short(""), None, short("a"), short(""), short("a\0"), short("a")]);
    assert_compact(&vec![
        long("x"),
        long("y"),
        long("x"),
        short("exactly 12 b"),
        short("exactly 13 by"),
        None,
        long("y"),
    ]);
}

#[test]
fn more_strings_than_slots_come_back() {
    assert_compact(&(0..3 * SLOTS).map(|number| Some(format!("{}", number * 7 % (2 * SLOTS)))).collect());
}

#[test]
fn repeated_strings_are_few_entries() {
    let values: Values = (0..5000).map(|row| Some(format!("value number {}", row % 40))).collect();
    let dictionary: DictionaryArray<Int8Type> = values.iter().map(Option::as_deref).collect();
    let views = cast(&dictionary, &DataType::Utf8View).unwrap();
    let compact = DictionaryEncoder::default().compact(&views).unwrap();
    assert_eq!(compact.as_dictionary::<UInt32Type>().values().len(), 40);
}

#[test]
fn a_batch_forgets_the_views_of_the_one_before() {
    let mut compactor = DictionaryEncoder::default();
    let views = |text: &str| -> ArrayRef { Arc::new(StringViewArray::from(vec![text])) };
    // Equal views into different buffers.
    for text in ["same length, one", "same length, two"] {
        assert_eq!(back(&compactor.compact(&views(text)).unwrap()), [Some(text.to_owned())]);
    }
    compactor.batch = u32::MAX;
    assert_eq!(back(&compactor.compact(&views("the last batch")).unwrap()), [Some("the last batch".to_owned())]);
}

#[test]
fn unused_entries_and_null_entries_of_a_dictionary_go_away() {
    let keys = UInt32Array::from(vec![Some(2), None, Some(1), Some(2)]);
    let values = StringArray::from(vec![Some("nobody has this"), None, Some("b")]);
    let array: ArrayRef = Arc::new(DictionaryArray::<UInt32Type>::new(keys, Arc::new(values)));
    let compact = DictionaryEncoder::default().compact(&array).unwrap();
    assert_eq!(back(&compact), [Some("b".to_owned()), None, None, Some("b".to_owned())]);
    assert_eq!(compact.as_dictionary::<UInt32Type>().values().len(), 1);
    let nothing = new_null_array(&dictionary_type(), 3);
    assert_eq!(back(&DictionaryEncoder::default().compact(&nothing).unwrap()), [None, None, None]);
}

#[test]
fn other_columns_stay_as_they_are() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    assert_eq!(&DictionaryEncoder::default().compact(&numbers).unwrap(), &numbers);
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_strings_come_back(values in prop::collection::vec(prop::option::of("[ab]{0,3}|[ab]{12,14}|.{0,20}"), 0..60)) {
        assert_compact(&values);
    }
}
