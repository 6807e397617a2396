use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int64Array, TimestampSecondArray,
    UInt8Array, UInt64Array,
};
use proptest::prelude::*;

use super::*;
use crate::numeric_view::labels;
use crate::recode::Recoding;
use crate::test_tables::{Surveyed, cases, interval, ints, maybe_ints, survey};

const FIVES: CoverGrid = CoverGrid::Width { width: 5.0, origin: 0.0 };

/// Returns the cell of each value, as it would be written.
fn cells(values: ArrayRef, grid: CoverGrid, limit: Option<&Limit>) -> Option<Vec<String>> {
    let CoveredValues { values: all, of_value, cells } = cover(&values, grid, limit)?;
    let (texts, of_values) = (labels(&all).unwrap(), labels(&values).unwrap());
    // Every value is at its returned index.
    of_value.iter().zip(&of_values).for_each(|(at, text)| assert_eq!(texts[*at as usize], *text));
    let cell = |at: &u32| {
        let (lower, upper) = cells[*at as usize];
        assert!(lower <= *at && *at <= upper, "a value is in its cell");
        format!("{}..{}", texts[lower as usize], texts[upper as usize])
    };
    Some(of_value.iter().map(cell).collect())
}

fn bands(borders: &[f64]) -> Limit {
    Limit::Bands(borders.into())
}

#[test]
fn whole_numbers_are_in_closed_cells_that_do_not_touch() {
    let values = || Arc::new(Int64Array::from(vec![-6, -5, -1, 0, 4, 5, 23])) as ArrayRef;
    let expected = ["-10..-6", "-5..-1", "-5..-1", "0..4", "0..4", "5..9", "20..24"];
    assert_eq!(cells(values(), FIVES, None).unwrap(), expected);
    let moved = CoverGrid::Width { width: 5.0, origin: -2.0 };
    let expected = ["-7..-3", "-7..-3", "-2..2", "-2..2", "3..7", "3..7", "23..27"];
    assert_eq!(cells(values(), moved, None).unwrap(), expected);
}

#[test]
fn cells_end_where_the_type_ends() {
    let tens = CoverGrid::Width { width: 10.0, origin: 0.0 };
    let values = Arc::new(Int8Array::from(vec![-128, 0, 127]));
    assert_eq!(cells(values, tens, None).unwrap(), ["-128..-121", "0..9", "120..127"]);
    assert_eq!(cells(Arc::new(UInt8Array::from(vec![3, 255])), tens, None).unwrap(), ["0..9", "250..255"]);
    let most = Arc::new(UInt64Array::from(vec![u64::MAX]));
    assert_eq!(cells(most, tens, None).unwrap(), [format!("{}..{}", u64::MAX - 5, u64::MAX)]);
    let decimal = Decimal128Array::from(vec![9_99]).with_precision_and_scale(3, 2).unwrap();
    let width = CoverGrid::Width { width: 0.3, origin: 0.0 };
    assert_eq!(cells(Arc::new(decimal), width, None).unwrap(), ["9.90..9.99"]);
}

#[test]
fn cells_are_cut_at_the_bands_of_a_limit() {
    let values = Arc::new(Int64Array::from(vec![10, 17, 18, 19, 20, 64, 65]));
    let limit = bands(&[18.0, 64.5]);
    let expected = ["10..14", "15..17", "18..19", "18..19", "20..24", "60..64", "65..69"];
    assert_eq!(cells(values, FIVES, Some(&limit)).unwrap(), expected);
    // 0.07 is not seven times the double nearest to 0.01.
    let decimals = || Arc::new(Decimal128Array::from(vec![6, 7, 8]).with_precision_and_scale(5, 2).unwrap());
    let width = CoverGrid::Width { width: 0.05, origin: 0.0 };
    let expected = ["0.05..0.06", "0.07..0.09", "0.07..0.09"];
    assert_eq!(cells(decimals(), width, Some(&bands(&[0.07]))).unwrap(), expected);
    assert_eq!(cells(Arc::new(Float64Array::from(vec![1.0])), FIVES, Some(&limit)), None);
}

#[test]
fn real_numbers_end_at_borders_that_read_well() {
    let tenths = CoverGrid::Width { width: 0.1, origin: 0.0 };
    let values = Arc::new(Float64Array::from(vec![-0.05, 0.0, 0.25, 0.3, 0.30000000000000004, 0.7]));
    let found = cells(values, tenths, None).unwrap();
    assert_eq!(found, ["-0.1..0.0", "0.0..0.1", "0.2..0.3", "0.3..0.4", "0.3..0.4", "0.7..0.8"]);
    let single = Arc::new(Float32Array::from(vec![0.25, 0.3, 0.7]));
    assert_eq!(cells(single, tenths, None).unwrap(), ["0.2..0.3", "0.3..0.4", "0.7..0.8"]);
    // No grid of tenths has room between doubles of this size.
    assert_eq!(cells(Arc::new(Float64Array::from(vec![1e300])), tenths, None), None);
    assert_eq!(
        cells(Arc::new(Float32Array::from(vec![1e7])), CoverGrid::Width { width: 0.1, origin: 0.0 }, None),
        None
    );
}

#[test]
fn dates_have_cells_of_days_and_of_the_calendar() {
    let day = |text: &str| {
        let date: NaiveDate = text.parse().unwrap();
        date.signed_duration_since(EPOCH.unwrap()).num_days() as i32
    };
    let dates =
        || Arc::new(Date32Array::from(vec![day("1969-12-31"), day("2024-02-29"), day("2024-12-31")])) as ArrayRef;
    for (part, expected) in [
        (DatePart::Month, ["1969-12-01..1969-12-31", "2024-02-01..2024-02-29", "2024-12-01..2024-12-31"]),
        (DatePart::Quarter, ["1969-10-01..1969-12-31", "2024-01-01..2024-03-31", "2024-10-01..2024-12-31"]),
        (DatePart::Year, ["1969-01-01..1969-12-31", "2024-01-01..2024-12-31", "2024-01-01..2024-12-31"]),
        (DatePart::Decade, ["1960-01-01..1969-12-31", "2020-01-01..2029-12-31", "2020-01-01..2029-12-31"]),
    ] {
        assert_eq!(cells(dates(), CoverGrid::Calendar(part), None).unwrap(), expected, "{part:?}");
    }
    let week = CoverGrid::Width { width: 7.0, origin: 4.0 };
    let expected = ["1969-12-29..1970-01-04", "2024-02-26..2024-03-03", "2024-12-30..2025-01-05"];
    assert_eq!(cells(dates(), week, None).unwrap(), expected);
    let noon = || Arc::new(TimestampSecondArray::from(vec![86_400 / 2])) as ArrayRef;
    for (grid, expected) in [
        (CoverGrid::Calendar(DatePart::Day), "1970-01-01T00:00:00..1970-01-01T23:59:59"),
        (CoverGrid::Width { width: 0.25, origin: 0.0 }, "1970-01-01T12:00:00..1970-01-01T17:59:59"),
    ] {
        assert_eq!(cells(noon(), grid, None).unwrap(), [expected]);
    }
    assert_eq!(cells(Arc::new(Int64Array::from(vec![1])), CoverGrid::Calendar(DatePart::Year), None), None);
}

fn covered(numbers: &[Option<i64>], limit: Option<Limit>) -> Surveyed {
    let spec = crate::columns::QuasiSpec { cover: Some(FIVES), limit, ..interval("age") };
    survey(&[(spec, maybe_ints(numbers))], &[])
}

/// Returns the labels of the classes.
fn released(recoding: &Recoding) -> Vec<Option<String>> {
    let column = labels(&recoding.columns()[0].columns[0].1).unwrap();
    let label = |class: usize| recoding.label(class as u32, 0) as usize;
    let is_null = |label: usize| recoding.columns()[0].columns[0].1.is_null(label);
    (0..recoding.class_rows().len()).map(label).map(|at| (!is_null(at)).then(|| column[at].clone())).collect()
}

#[test]
fn classes_show_the_grid_and_become_one_where_they_read_the_same() {
    let rows = covered(&[Some(21), Some(22), Some(23), Some(24), Some(30), Some(30), Some(26), Some(31)], None);
    let recoding = rows.recode(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
    let texts: Vec<String> = released(&recoding).into_iter().flatten().collect();
    // Two clusters with different tight ends are one class; thirty is shared by all rows of its class.
    assert_eq!(texts, ["[20-24]", "[25-34]", "30"]);
    assert_eq!(recoding.class_rows(), [4, 2, 2]);
    // Losses are those of what is shown: 4 and 9 of the 14 from 20 to 34.
    let found: Vec<f64> = (0..3).map(|class| recoding.ncp(class, 0)).collect();
    for (found, expected) in found.iter().zip([4.0 / 14.0, 9.0 / 14.0, 0.0]) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}

#[test]
fn nulls_stay_alone_or_hide_everything() {
    let rows = covered(&[None, None, Some(3), None, Some(8), Some(9)], None);
    let recoding = rows.recode(&[&[0, 1], &[2, 3], &[4, 5]]);
    assert_eq!(released(&recoding), [None, Some("*".to_owned()), Some("[5-9]".to_owned())]);
}

#[test]
fn a_cover_stays_inside_the_bands_of_a_limit() {
    let rows = covered(&[Some(16), Some(17), Some(18), Some(19)], Some(bands(&[18.0])));
    let recoding = rows.recode(&[&[0, 1], &[2, 3]]);
    assert_eq!(released(&recoding), [Some("[15-17]".to_owned()), Some("[18-19]".to_owned())]);
}

proptest! {
    #![proptest_config(cases(200))]

    /// The ends of a covered interval are known from the grid and the cells of the rows alone: moving a
    /// number inside its cell changes nothing that is released, unless all numbers of a class are equal.
    #[test]
    fn a_release_does_not_tell_where_in_its_cell_a_number_lies(
        numbers in prop::collection::vec((0_i64..12, 0_i64..5), 4..20),
        moved in prop::collection::vec(0_i64..5, 20),
    ) {
        let table = |offset: &dyn Fn(usize, i64) -> i64| {
            let number = |(row, (cell, at)): (usize, &(i64, i64))| Some(5 * cell + offset(row, *at));
            covered(&numbers.iter().enumerate().map(number).collect::<Vec<_>>(), None)
        };
        let all: Vec<usize> = (0..numbers.len()).collect();
        let shown = |rows: Surveyed| released(&rows.recode(&[&all]));
        let (one, other) = (table(&|_, at| at), table(&|row, _| moved[row]));
        let distinct = |rows: &Surveyed| rows.table.cell_count();
        prop_assume!(distinct(&one) > 1 && distinct(&other) > 1);
        prop_assert_eq!(shown(one), shown(other));
    }
}

#[test]
fn an_empty_column_has_a_cover() {
    let found = cover(&ints(&[]), FIVES, None).unwrap();
    assert_eq!((found.values.len(), found.cells.len()), (0, 0));
}
