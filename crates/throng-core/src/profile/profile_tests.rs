use std::sync::Arc;

use arrow::array::{
    BooleanArray, Date32Array, Float64Array, Int64Array, ListArray, StringArray, StringDictionaryBuilder,
    TimestampMicrosecondArray,
};
use arrow::datatypes::Int32Type;

use super::*;

fn profile(column: impl Array + 'static) -> Profile {
    let column: ArrayRef = Arc::new(column);
    let mut profile = Profile::new(column.data_type());
    // In two batches, the second one larger.
    let cut = column.len() / 3;
    profile.push(&column.slice(0, cut));
    profile.push(&column.slice(cut, column.len() - cut));
    profile
}

#[test]
fn rows_nulls_values_and_uniques_are_counted() {
    let found = profile(Int64Array::from(vec![Some(7), None, Some(7), Some(8), None, Some(9)]));
    assert_eq!((found.kind(), found.rows(), found.nulls(), found.valued()), (ValueKind::Integer, 6, 2, 4));
    assert_eq!((found.distinct(), found.uniques(), found.is_exact()), (3, 2, true));
    assert_eq!(found.unique_share(), 0.5);
    let found = profile(BooleanArray::from(vec![Some(true), Some(false), Some(true), None]));
    assert_eq!((found.kind(), found.distinct(), found.uniques(), found.nulls()), (ValueKind::Boolean, 2, 1, 1));
    let found = profile(Float64Array::from(vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1.5]));
    assert_eq!((found.distinct(), found.uniques(), found.not_finite(), found.valued()), (2, 1, 2, 3));
}

#[test]
fn large_whole_numbers_are_distinguished() {
    let found = profile(Int64Array::from(vec![i64::MAX, i64::MAX - 1, i64::MAX - 2]));
    assert_eq!((found.distinct(), found.uniques()), (3, 3));
}

#[test]
fn a_dictionary_is_what_its_values_are() {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    ["A1", "B2", "A1"].into_iter().for_each(|value| builder.append_value(value));
    builder.append_null();
    let found = profile(builder.finish());
    assert_eq!((found.kind(), found.distinct(), found.uniques(), found.nulls()), (ValueKind::Text, 2, 1, 1));
    assert_eq!((found.shape_share(TextShape::CODE), found.longest()), (1.0, 2));
}

#[test]
fn the_shape_of_texts_is_reported() {
    let shapes = |text: &str| {
        let shape = TextShape::of(text);
        [
            TextShape::DIGITS,
            TextShape::CODE,
            TextShape::EMAIL,
            TextShape::DATE,
            TextShape::IP,
            TextShape::TOKEN,
            TextShape::WORDS,
        ]
        .map(|one| shape.has(one))
    };
    assert_eq!(shapes("03501"), [true, true, false, false, false, false, false]);
    assert_eq!(shapes("E11.9"), [false, true, false, false, false, false, false]);
    assert_eq!(shapes("a.b@c.org"), [false, false, true, false, false, false, false]);
    assert_eq!(shapes("2024-02-29"), [false, true, false, true, false, false, false]);
    assert_eq!(shapes("10.0.0.7"), [false, true, false, false, true, false, false]);
    assert_eq!(shapes("::1"), [false, false, false, false, true, false, false]);
    assert!(shapes("6ba7b810-9dad-11d1-80b4-00c04fd430c8")[5]);
    assert_eq!(shapes("two words"), [false, false, false, false, false, false, true]);
    assert_eq!(shapes("Spain"), [false; 7]);
    assert_eq!(shapes(""), [false; 7]);
}

#[test]
fn the_spread_passes_over_a_few_outliers_and_is_in_days_for_dates() {
    let ages = (0..1000).map(|row| if row == 500 { 1_000_000 } else { 20 + row % 50 });
    let ages = Int64Array::from_iter_values(ages);
    assert_eq!(profile(ages).spread(&DataType::Int64), Some(49.0));
    let days = Date32Array::from_iter_values(0..1000);
    assert_eq!(profile(days).spread(&DataType::Date32), Some(980.0));
    let instants = TimestampMicrosecondArray::from_iter_values((0..1000).map(|day| day * 86_400_000_000));
    let data_type = instants.data_type().clone();
    assert_eq!(profile(instants).spread(&data_type), Some(980.0));
    assert_eq!(profile(StringArray::from(vec!["a", "b"])).spread(&DataType::Utf8), None);
}

#[test]
fn many_values_are_estimated_well_and_in_any_order() {
    // Two thirds of the values occur in one row, the others in two.
    let values: Vec<i64> = (0..400_000).map(|row| if row < 300_000 { row } else { row - 300_000 }).collect();
    let found = profile(Int64Array::from(values.clone()));
    assert!(!found.is_exact());
    assert!((found.distinct() as f64 / 300_000.0 - 1.0).abs() < 0.03, "{}", found.distinct());
    assert!((found.uniques() as f64 / 200_000.0 - 1.0).abs() < 0.03, "{}", found.uniques());
    let own = profile(Int64Array::from_iter_values(0..400_000));
    assert!(own.uniques() <= 400_000 && own.distinct() <= 400_000, "an estimate is not more than there are rows");
    assert!(own.unique_share() > 0.97);
    let reversed = profile(Int64Array::from_iter_values(values.into_iter().rev()));
    assert_eq!((reversed.distinct(), reversed.uniques()), (found.distinct(), found.uniques()));
}

#[test]
fn nested_values_are_only_counted() {
    let lists = ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>(vec![Some(vec![Some(1)]), None]);
    let found = profile(lists);
    assert_eq!((found.kind(), found.rows(), found.nulls(), found.distinct()), (ValueKind::Other, 2, 1, 0));
}
