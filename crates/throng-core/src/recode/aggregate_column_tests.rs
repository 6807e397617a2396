use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    AsArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, TimestampNanosecondArray, UInt64Array,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int64Type, TimestampNanosecondType,
    UInt64Type,
};

use proptest::prelude::*;

use super::*;
use crate::columns::{ColumnRecoding, QuasiSpec};
use crate::hierarchy::HierarchySpec;
use crate::metrics::Utility;
use crate::recode::Recoding;
use crate::test_tables::{
    Surveyed, all_shown, cases, countries, floats, ints, maybe_ints, maybe_texts, quasi, survey, texts,
};

fn of(release: ColumnRecoding) -> QuasiSpec {
    quasi("x", release, HierarchySpec::Flat)
}

/// Released values by class.
fn shown(recoding: &Recoding) -> ArrayRef {
    let classes = 0..recoding.class_rows().len() as u32;
    let labels: UInt32Array = classes.map(|class| Some(recoding.label(class, 0))).collect();
    take(&recoding.columns()[0].columns[0].1, &labels, None).unwrap()
}

fn means_of(column: ArrayRef, blocks: &[&[usize]]) -> ArrayRef {
    shown(&survey(&[(of(ColumnRecoding::Mean), column)], &[]).recode(blocks))
}

#[test]
fn a_mean_is_rounded_to_whole_numbers() {
    let means = means_of(ints(&[1, 2, 4, -1, -2]), &[&[0, 1, 2], &[3, 4]]);
    // 7 / 3 and -3 / 2; halves round up.
    assert_eq!(means.as_primitive::<Int64Type>().values(), &[-1, 2]);
}

#[test]
fn rows_count_and_not_distinct_values() {
    let means = means_of(ints(&[0, 0, 0, 8]), &[&[0, 1, 2, 3]]);
    assert_eq!(means.as_primitive::<Int64Type>().values(), &[2]);
}

#[test]
fn every_ordered_type_keeps_its_type() {
    let both: &[&[usize]] = &[&[0, 1]];
    let mean = means_of(floats(&[0.25, 0.5]), both);
    assert_eq!(mean.as_primitive::<Float64Type>().values(), &[0.375]);
    let mean = means_of(Arc::new(Float32Array::from(vec![0.5, 1.5])), both);
    assert_eq!(mean.as_primitive::<Float32Type>().values(), &[1.0]);
    let mean = means_of(Arc::new(Int8Array::from(vec![-128, 127])), both);
    assert_eq!(mean.as_primitive::<Int8Type>().values(), &[0]);
    let mean = means_of(Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX - 2])), both);
    assert_eq!(mean.as_primitive::<UInt64Type>().values(), &[u64::MAX - 1]);
    let mean = means_of(Arc::new(Date32Array::from(vec![10, 20])), both);
    assert_eq!(mean.as_primitive::<Date32Type>().values(), &[15]);
    let nanos = TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX]).with_timezone("UTC");
    let mean = means_of(Arc::new(nanos), both);
    assert_eq!(mean.as_primitive::<TimestampNanosecondType>().values(), &[0]);
    assert_eq!(mean.data_type(), &DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, Some("UTC".into())));
    let cents = Decimal128Array::from(vec![100, 101, 103]).with_precision_and_scale(9, 2).unwrap();
    let mean = means_of(Arc::new(cents), &[&[0, 1, 2]]);
    assert_eq!(
        (mean.as_primitive::<Decimal128Type>().values()[0], mean.data_type()),
        (101, &DataType::Decimal128(9, 2))
    );
}

#[test]
fn a_mean_stays_between_its_values_at_the_ends_of_the_type() {
    let high = 10_i128.pow(38) - 1;
    let decimals = Decimal128Array::from(vec![-high, high, high]).with_precision_and_scale(38, 0).unwrap();
    let mean = means_of(Arc::new(decimals), &[&[0, 1, 2]]);
    let third = high / 3;
    let found = mean.as_primitive::<Decimal128Type>().values()[0];
    assert!((found - third).abs() < high / 1_000_000, "{found}");
    let mean = means_of(Arc::new(Float64Array::from(vec![-f64::MAX, f64::MAX, f64::MAX])), &[&[0, 1, 2]]);
    let found = mean.as_primitive::<Float64Type>().values()[0];
    assert!((found / f64::MAX - 1.0 / 3.0).abs() < 1e-9, "{found}");
}

#[test]
fn the_median_is_a_value_that_occurs() {
    let surveyed = survey(&[(of(ColumnRecoding::Median), ints(&[1, 1, 5, 9, 100, 2]))], &[]);
    // The lower median: the second of four rows, the first of two.
    let recoding = surveyed.recode(&[&[0, 1, 2, 3], &[4, 5]]);
    assert_eq!(shown(&recoding).as_primitive::<Int64Type>().values(), &[1, 2]);
}

#[test]
fn a_class_that_mixes_null_with_numbers_shows_none() {
    for release in [ColumnRecoding::Mean, ColumnRecoding::Median] {
        let surveyed = survey(&[(of(release), maybe_ints(&[None, None, Some(4), Some(6), Some(8)]))], &[]);
        let recoding = surveyed.recode(&[&[0], &[1, 2], &[3, 4]]);
        // The class of nulls and the mixed class both show null, so they are one class.
        assert_eq!(recoding.class_rows(), [3, 2]);
        assert!(shown(&recoding).is_null(0));
        assert_eq!((recoding.ncp(0, 0), recoding.ncp(1, 0)), (1.0, 0.5));
    }
}

#[test]
fn the_mode_is_the_most_frequent_value() {
    let spec = quasi("x", ColumnRecoding::Mode, HierarchySpec::Tree(Arc::new(countries())));
    let names = maybe_texts(&[
        Some("Spain"),
        Some("Spain"),
        Some("France"),
        None,
        Some("China"),
        Some("Japan"),
        None,
        None,
        Some("Italy"),
    ]);
    let surveyed = survey(&[(spec, names)], &[]);
    // Spain by count, Japan before China by the hierarchy, null by count.
    let recoding = surveyed.recode(&[&[0, 1, 2, 3], &[4, 5], &[6, 7, 8]]);
    let labels: Vec<Option<String>> = all_shown(&recoding, 0);
    let mut found: Vec<Option<&str>> = labels.iter().map(Option::as_deref).collect();
    found.sort_unstable();
    assert_eq!(found, [None, Some("Japan"), Some("Spain")]);
}

#[test]
fn classes_with_the_same_mean_are_one_and_lose_their_common_range() {
    let surveyed = survey(&[(of(ColumnRecoding::Mean), ints(&[0, 10, 4, 6, 20]))], &[]);
    let recoding = surveyed.recode(&[&[0, 1], &[2, 3], &[4]]);
    assert_eq!(recoding.class_rows(), [4, 1]);
    assert_eq!((recoding.ncp(0, 0), recoding.ncp(1, 0)), (0.5, 0.0));
}

fn ratio(surveyed: &Surveyed, blocks: &[&[usize]]) -> f64 {
    surveyed.recode(blocks).squared_errors(0).unwrap().ratio()
}

#[test]
fn squared_errors_by_hand() {
    let surveyed = survey(&[(of(ColumnRecoding::Mean), floats(&[1.0, 2.0, 3.0, 6.0]))], &[]);
    // The mean is 3, so SST = 4 + 1 + 0 + 9 = 14.
    assert!((ratio(&surveyed, &[&[0, 1], &[2, 3]]) - (0.5 + 4.5) / 14.0).abs() < 1e-12);
    assert!((ratio(&surveyed, &[&[0, 1, 2, 3]]) - 1.0).abs() < 1e-12);
    assert_eq!(ratio(&surveyed, &[&[0], &[1], &[2], &[3]]), 0.0);
    // SSE uses released values: 1.5 is released as the integer 2, and 4.5 as 5.
    let surveyed = survey(&[(of(ColumnRecoding::Mean), ints(&[1, 2, 3, 6]))], &[]);
    assert!((ratio(&surveyed, &[&[0, 1], &[2, 3]]) - (1.0 + 0.0 + 4.0 + 1.0) / 14.0).abs() < 1e-12);
}

#[test]
fn where_null_is_shown_the_mean_of_the_column_stands_for_the_number() {
    let surveyed = survey(&[(of(ColumnRecoding::Mean), maybe_ints(&[None, Some(0), Some(6), Some(6)]))], &[]);
    // The mean of 0, 6, 6 is 4: SST = 16 + 4 + 4, and only the 0 is in a class that shows null.
    let errors = surveyed.recode(&[&[0, 1], &[2, 3]]).squared_errors(0).unwrap();
    assert!((errors.sse - 16.0).abs() < 1e-9 && (errors.sst - 24.0).abs() < 1e-9, "{errors:?}");
}

#[test]
fn the_measures_of_mixed_tables_count_numbers_only() {
    let spec = quasi("c", ColumnRecoding::Mode, HierarchySpec::Tree(Arc::new(countries())));
    let columns = [
        (of(ColumnRecoding::Mean), floats(&[1.0, 2.0, 3.0, 6.0])),
        (spec, texts(&["France", "Spain", "Japan", "Japan"])),
    ];
    let surveyed = survey(&columns, &[]);
    let utility = Utility::of(&surveyed.table, &surveyed.recode(&[&[0, 1], &[2, 3]]), 2);
    assert!((utility.sse_sst.unwrap() - 5.0 / 14.0).abs() < 1e-12);
    assert_eq!(utility.columns[1].sse_sst, None);
    // Europe, with France and Spain, covers three of five leaves.
    assert!((utility.columns[1].ncp - 0.5 * 0.6).abs() < 1e-12);
    assert_eq!(Utility::of(&surveyed.table, &surveyed.recode(&[&[0, 1, 2, 3]]), 2).columns[0].sse_sst, Some(1.0));
}

proptest! {
    #![proptest_config(cases(96))]

    /// Compares the integer fast path with a computation row by row.
    #[test]
    fn means_of_whole_numbers_are_those_of_their_rows(
        rows in prop::collection::vec((prop::option::weighted(0.9, -20_i64..20), 0_usize..6), 1..60),
    ) {
        let numbers: Vec<Option<i64>> = rows.iter().map(|(number, _)| *number).collect();
        let of_block = |block| (0..rows.len()).filter(|row| rows[*row].1 == block).collect::<Vec<usize>>();
        let blocks: Vec<Vec<usize>> = (0..6).map(of_block).filter(|block| !block.is_empty()).collect();
        let known: Vec<f64> = numbers.iter().flatten().map(|number| *number as f64).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let (mut expected, mut sse) = (BTreeMap::<Option<i64>, u64>::new(), 0.0);
        for block in &blocks {
            let members: Option<Vec<i64>> = block.iter().map(|row| numbers[*row]).collect();
            // Halves round up.
            let stand_in = members.map(|members| {
                let count = members.len() as i64;
                (2 * members.iter().sum::<i64>() + count).div_euclid(2 * count)
            });
            *expected.entry(stand_in).or_default() += block.len() as u64;
            let stand_in = stand_in.map_or(mean, |stand_in| stand_in as f64);
            sse += block.iter().filter_map(|row| numbers[*row]).map(|number| (number as f64 - stand_in).powi(2)).sum::<f64>();
        }
        let surveyed = survey(&[(of(ColumnRecoding::Mean), maybe_ints(&numbers))], &[]);
        let recoding = surveyed.recode(&blocks.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let labels = shown(&recoding);
        let labels = labels.as_primitive::<Int64Type>().iter();
        let found: BTreeMap<Option<i64>, u64> = labels.zip(recoding.class_rows().iter().copied()).collect();
        prop_assert_eq!(found, expected);
        let errors = recoding.squared_errors(0).unwrap();
        prop_assert!(known.is_empty() || (errors.sse - sse).abs() < 1e-6, "{errors:?} and {sse}");
    }
}
