use arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal32Array, Decimal64Array, Decimal128Array,
    Decimal256Array, DictionaryArray, DurationSecondArray, Float16Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, IntervalDayTimeArray, LargeStringArray, ListArray, NullArray, StringArray,
    StringViewArray, Time32MillisecondArray, Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow::compute::take;
use arrow::datatypes::{Float64Type, Int8Type, Int32Type, UInt16Type, i256};
use half::f16;
use proptest::prelude::*;

use super::*;
use crate::columns::ColumnRecoding;
use crate::domain::{DomainKind, NULL};
use crate::hierarchy::{BuildError, HierarchySpec};
use crate::test_tables::{
    cases, countries, floats, interval, ints, maybe_ints, maybe_texts, quasi, spec_of, survey, texts, try_survey,
};

/// Columns of every supported type, each with the rows `low, high, low, null`.
fn columns_of_every_type() -> Vec<ArrayRef> {
    macro_rules! columns {
        ($($array:ty: $low:expr, $high:expr;)*) => {
            vec![$(Arc::new(<$array>::from(vec![Some($low), Some($high), Some($low), None])) as ArrayRef),*]
        };
    }
    let mut columns = columns!(
        Int8Array: i8::MIN, i8::MAX;
        Int16Array: i16::MIN, i16::MAX;
        Int32Array: -1, 1;
        Int64Array: i64::MIN, i64::MAX;
        UInt8Array: 0, u8::MAX;
        UInt16Array: 0, u16::MAX;
        UInt32Array: 0, u32::MAX;
        UInt64Array: 1, u64::MAX;
        Float16Array: f16::from_f32(-1.5), f16::from_f32(2.5);
        Float32Array: f32::MIN, f32::MAX;
        Float64Array: f64::MIN, f64::MAX;
        Decimal32Array: -100, 100;
        Decimal64Array: -100, 100;
        Decimal128Array: -10_i128.pow(20), 10_i128.pow(20);
        Decimal256Array: i256::from_i128(-7), i256::from_i128(7);
        Date32Array: -1, 1;
        Date64Array: -86_400_000, 86_400_000;
        TimestampSecondArray: -1, 1;
        TimestampMillisecondArray: -1, 1;
        TimestampMicrosecondArray: -1, 1;
        TimestampNanosecondArray: -1, 1;
        Time32SecondArray: 1, 2;
        Time32MillisecondArray: 1, 2;
        Time64MicrosecondArray: 1, 2;
        Time64NanosecondArray: 1, 2;
        BooleanArray: false, true;
        StringArray: "a", "b";
        LargeStringArray: "a", "b";
        StringViewArray: "a", "a text that is too long to be kept inline";
    );
    columns
        .push(Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(1), Some(0), None]).with_timezone("+02:00")));
    // Dictionaries with unused entries, and one with a duplicate entry.
    let keys = || vec![Some(2), Some(1), Some(2), None];
    columns.push(Arc::new(DictionaryArray::<Int8Type>::new(
        keys().into_iter().collect(),
        Arc::new(StringArray::from(vec!["unused", "b", "a", "unused too"])),
    )));
    columns.push(Arc::new(DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(2), Some(1), Some(3), Some(0)]),
        Arc::new(LargeStringArray::from(vec![None, Some("b"), Some("a"), Some("a")])),
    )));
    columns.push(Arc::new(DictionaryArray::<UInt16Type>::new(
        UInt16Array::from(vec![Some(2), Some(1), Some(2), None]),
        Arc::new(Int64Array::from(vec![-99, 20, 10, 99])),
    )));
    columns.push(Arc::new(DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(1), Some(2), Some(1), None]),
        // NaN is an unused entry, and so is accepted.
        Arc::new(Float64Array::from(vec![f64::NAN, 0.5, 1.5])),
    )));
    columns
}

#[test]
fn every_type_can_be_a_quasi_identifier() {
    for column in columns_of_every_type() {
        let named = column.data_type().to_string();
        let plain = match column.data_type() {
            DataType::Dictionary(_, value) => value.as_ref().clone(),
            other => other.clone(),
        };
        let ordered = plain.is_numeric() || plain.is_temporal();
        for release in [ColumnRecoding::Interval, ColumnRecoding::Bounds, ColumnRecoding::Ancestor, ColumnRecoding::Set]
        {
            let found = try_survey(&[(quasi("q", release, HierarchySpec::Flat), column.clone())], &[]);
            let of_numbers = matches!(release, ColumnRecoding::Interval | ColumnRecoding::Bounds);
            if of_numbers && !ordered {
                assert!(matches!(found, Err(CoreError::Type { column, .. }) if column == "q"), "{named}");
                continue;
            }
            let rows = found.unwrap_or_else(|error| panic!("{named}: {error}"));
            assert_eq!((rows.table.rows(), rows.table.cell_count()), (4, 3), "{named}");
            let at = |row: usize| rows.table.positions(rows.groups[row])[0];
            // Null precedes numbers and follows categories.
            let expected = if of_numbers { [1, 2, 1, 0] } else { [0, 1, 0, 2] };
            assert_eq!([at(0), at(1), at(2), at(3)], expected, "{named}");
            let domain = &rows.table.quasi()[0].domain;
            assert_eq!((domain.len(), domain.null_position()), (3, Some(expected[3])), "{named}");
            assert!(domain.loss(expected[0], expected[1]) > 0.0, "{named}");
        }
    }
}

#[test]
fn every_type_can_be_sensitive() {
    for column in columns_of_every_type() {
        let named = column.data_type().to_string();
        let rows = survey(&[(interval("q"), ints(&[1, 1, 1, 1]))], &[column]);
        assert_eq!((rows.table.cell_count(), rows.table.group_count()), (1, 3), "{named}");
        assert_eq!(rows.table.sensitive()[0].distinct, 2, "{named}");
        let code = |row: usize| rows.table.codes(rows.groups[row])[0];
        assert_eq!([code(0), code(1), code(2), code(3)], [0, 1, 0, NULL], "{named}");
        let sizes: Vec<u32> = (0..3).map(|group| rows.table.group_rows(group)).collect();
        assert_eq!(sizes, [2, 1, 1], "{named}");
    }
}

#[test]
fn nested_and_odd_types_are_refused_by_name() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)])]);
    let odd: [ArrayRef; 5] = [
        Arc::new(list),
        Arc::new(BinaryArray::from_vec(vec![b"a"])),
        Arc::new(NullArray::new(1)),
        Arc::new(DurationSecondArray::from(vec![1])),
        Arc::new(IntervalDayTimeArray::from(vec![arrow::datatypes::IntervalDayTime::new(1, 1)])),
    ];
    for column in odd {
        let category = quasi("where", ColumnRecoding::Ancestor, HierarchySpec::Flat);
        let error = try_survey(&[(category, column.clone())], &[]).unwrap_err();
        assert!(
            matches!(&error, CoreError::Type { column, role: "quasi-identifier", .. } if column == "where"),
            "{error}"
        );
        let error = try_survey(&[(interval("q"), ints(&[1]))], &[column]).unwrap_err();
        assert!(
            matches!(&error, CoreError::Type { column, role: "sensitive column", .. } if column == "s0"),
            "{error}"
        );
    }
}

#[test]
fn a_batch_of_another_type_is_refused() {
    let mut survey = Survey::new(spec_of(&[(interval("q"), ints(&[]))], &[])).unwrap();
    let error = survey.push(&[texts(&["1"])]).unwrap_err();
    assert!(matches!(error, CoreError::Type { column, .. } if column == "q"));
}

#[test]
fn unused_entries_of_a_dictionary_stay_out_of_the_domain() {
    let column = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![1, 1]),
        Arc::new(StringArray::from(vec!["secret", "seen", "secret too"])),
    );
    let rows =
        survey(&[(quasi("q", ColumnRecoding::Ancestor, HierarchySpec::Flat), Arc::new(column) as ArrayRef)], &[]);
    assert_eq!(rows.table.quasi()[0].domain.len(), 1);
    let DomainKind::Category(tree) = rows.table.quasi()[0].domain.kind() else { panic!("a category") };
    assert_eq!((tree.leaf("seen"), tree.leaf("secret")), (Some(0), None));
}

#[test]
fn a_dictionary_without_entries_is_nothing_but_null() {
    let column: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![None, None]),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    ));
    let spec = quasi("q", ColumnRecoding::Ancestor, HierarchySpec::Flat);
    let rows = survey(&[(spec, column.clone())], &[column]);
    assert_eq!((rows.table.rows(), rows.table.group_count(), rows.table.sensitive()[0].distinct), (2, 1, 0));
}

#[test]
fn all_encodings_of_a_text_are_one_column() {
    let spec = spec_of(&[(quasi("q", ColumnRecoding::Ancestor, HierarchySpec::Flat), texts(&[]))], &[]);
    let mut survey = Survey::new(spec).unwrap();
    let dictionary =
        DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0]), Arc::new(StringViewArray::from(vec!["a"])));
    let batches: [ArrayRef; 4] = [
        texts(&["a"]),
        Arc::new(LargeStringArray::from(vec!["a"])),
        Arc::new(StringViewArray::from(vec!["a"])),
        Arc::new(dictionary),
    ];
    for batch in batches {
        assert_eq!(survey.push(&[batch]).unwrap(), [0]);
    }
    assert_eq!(Survey::merge(vec![survey]).unwrap().table.rows(), 4);
}

#[test]
fn null_is_a_value_unless_the_policy_says_otherwise() {
    let column = maybe_ints(&[Some(3), None, None, Some(1)]);
    let rows = survey(&[(interval("age"), column)], &[]);
    assert_eq!((rows.table.rows(), rows.table.cell_count(), rows.suppressed), (4, 3, 0));
    assert_eq!(rows.table.cell_rows(0), 2);
    assert_eq!(rows.table.positions(0), [0]);
}

#[test]
fn suppressed_nulls_leave_the_release_and_are_counted() {
    let mut spec = interval("age");
    spec.nulls = Nulls::Suppress;
    let rows =
        survey(&[(spec, maybe_ints(&[Some(3), None, None, Some(1)])), (interval("b"), ints(&[1, 1, 2, 2]))], &[]);
    assert_eq!((rows.table.rows(), rows.suppressed), (2, 2));
    assert_eq!(rows.groups, [1, SUPPRESSED, SUPPRESSED, 0]);
    assert_eq!(rows.table.quasi()[0].domain.null_position(), None);
}

#[test]
fn a_suppressed_row_leaves_no_trace_in_other_columns() {
    let mut spec = interval("age");
    spec.nulls = Nulls::Suppress;
    let rows = survey(
        &[
            (spec, maybe_ints(&[Some(1), None, Some(2)])),
            (interval("b"), floats(&[10.0, 1000.0, 20.0])),
            (
                quasi("c", ColumnRecoding::Ancestor, HierarchySpec::Tree(Arc::new(countries()))),
                texts(&["France", "Mu", "Italy"]),
            ),
        ],
        &[texts(&["x", "only here", "x"])],
    );
    assert_eq!(rows.table.quasi()[1].domain.len(), 2);
    assert_eq!(rows.table.quasi()[1].domain.loss(0, 1), 1.0);
    assert_eq!(rows.table.sensitive()[0].distinct, 1);
}

#[test]
fn nulls_can_stop_the_run() {
    let mut spec = interval("age");
    spec.nulls = Nulls::Error;
    let error = try_survey(&[(spec.clone(), maybe_ints(&[Some(3), None, None]))], &[]).unwrap_err();
    assert!(matches!(error, CoreError::Null { column, rows: 2 } if column == "age"));
    assert!(try_survey(&[(spec.clone(), ints(&[3]))], &[]).is_ok());
    // A null may also be a value of a dictionary.
    spec.release = ColumnRecoding::Ancestor;
    let hidden = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![0, 1, 0]),
        Arc::new(StringArray::from(vec![None, Some("a")])),
    );
    let error = try_survey(&[(spec, Arc::new(hidden) as ArrayRef)], &[]).unwrap_err();
    assert!(matches!(error, CoreError::Null { rows: 2, .. }));
}

#[test]
fn a_null_in_a_sensitive_column_is_kept() {
    let mut spec = interval("age");
    spec.nulls = Nulls::Error;
    let rows = survey(&[(spec, ints(&[1, 1]))], &[maybe_texts(&[None, None])]);
    assert_eq!((rows.table.rows(), rows.table.sensitive()[0].distinct), (2, 0));
}

#[test]
fn nan_and_infinities_are_counted_and_refused() {
    let bad = [Some(1.0), Some(f64::NAN), None, Some(f64::INFINITY), Some(f64::NEG_INFINITY)];
    let double: ArrayRef = Arc::new(Float64Array::from(bad.to_vec()));
    let single: ArrayRef = Arc::new(Float32Array::from(bad.map(|v| v.map(|v| v as f32)).to_vec()));
    let half: ArrayRef = Arc::new(Float16Array::from(bad.map(|v| v.map(f16::from_f64)).to_vec()));
    for column in [double, single, half] {
        let error = try_survey(&[(interval("x"), column.clone())], &[]).unwrap_err();
        assert!(
            matches!(&error, CoreError::NotFinite { column, rows: 3, role: "quasi-identifier" } if column == "x"),
            "{error}"
        );
        let error = try_survey(&[(interval("q"), ints(&[1; 5]))], &[column]).unwrap_err();
        assert!(matches!(&error, CoreError::NotFinite { column, rows: 3, role: "sensitive column" } if column == "s0"));
    }
}

#[test]
fn nan_behind_a_dictionary_is_counted_by_rows() {
    let column = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(0), Some(1), Some(0), None]),
        Arc::new(Float64Array::from(vec![f64::NAN, 1.0])),
    );
    let error = try_survey(&[(interval("x"), Arc::new(column) as ArrayRef)], &[]).unwrap_err();
    assert!(matches!(error, CoreError::NotFinite { rows: 2, .. }), "{error}");
}

#[test]
fn both_zeros_are_one_value() {
    let single: ArrayRef = Arc::new(Float32Array::from(vec![0.0, -0.0, 1.0]));
    let half: ArrayRef = Arc::new(Float16Array::from(vec![f16::ZERO, f16::NEG_ZERO, f16::ONE]));
    for column in [floats(&[0.0, -0.0, 1.0]), floats(&[-0.0, 0.0, 1.0]), single, half] {
        let rows = survey(&[(interval("x"), column.clone())], std::slice::from_ref(&column));
        assert_eq!((rows.table.cell_count(), rows.table.sensitive()[0].distinct), (2, 2));
        assert_eq!(rows.groups, [0, 0, 1]);
        let DomainKind::Ordered { values, .. } = rows.table.quasi()[0].domain.kind() else { panic!("numbers") };
        assert_eq!(crate::numeric_view::labels(values).unwrap()[0].trim_end_matches(".0"), "0");
    }
}

#[test]
fn a_value_that_its_tree_does_not_know_is_an_error_with_the_column() {
    let spec = quasi("country", ColumnRecoding::Ancestor, HierarchySpec::Tree(Arc::new(countries())));
    let error = try_survey(&[(spec, texts(&["France", "Mu", "Mu", "Lemuria"]))], &[]).unwrap_err();
    assert!(!error.to_string().contains("Mu"));
    assert!(
        matches!(&error, CoreError::Hierarchy { column, source: BuildError::Missing { count: 2 } } if column == "country")
    );
}

#[test]
fn no_rows_are_an_error_that_counts_the_suppressed() {
    assert!(matches!(Survey::merge(Vec::new()), Err(CoreError::NoRows { suppressed: 0 })));
    assert!(matches!(try_survey(&[(interval("q"), ints(&[]))], &[]), Err(CoreError::NoRows { suppressed: 0 })));
    let mut spec = interval("q");
    spec.nulls = Nulls::Suppress;
    let error = try_survey(&[(spec, maybe_ints(&[None, None]))], &[]).unwrap_err();
    assert!(matches!(error, CoreError::NoRows { suppressed: 2 }));
    assert!(error.to_string().contains("left after 2"), "{error}");
}

#[test]
fn a_column_of_nothing_but_null_has_one_position_in_use() {
    for (spec, column) in [
        (interval("q"), maybe_ints(&[None, None])),
        (quasi("q", ColumnRecoding::Ancestor, HierarchySpec::Flat), maybe_texts(&[None, None])),
        (quasi("q", ColumnRecoding::Set, HierarchySpec::Flat), maybe_texts(&[None, None])),
    ] {
        let rows = survey(&[(spec, column)], &[]);
        let domain = &rows.table.quasi()[0].domain;
        assert_eq!((rows.table.cell_count(), rows.table.rows()), (1, 2));
        assert_eq!(domain.null_position(), Some(rows.table.positions(0)[0]));
    }
}

#[test]
fn cells_and_groups_are_ordered_by_content() {
    let rows = survey(
        &[(interval("age"), ints(&[30, 20, 30, 20])), (interval("b"), ints(&[1, 9, 1, 1]))],
        &[texts(&["z", "y", "a", "y"])],
    );
    let table = &rows.table;
    let cells: Vec<&[u32]> = (0..3).map(|cell| table.positions(cell)).collect();
    assert_eq!(cells, [[0, 0], [0, 1], [1, 0]]);
    let codes: Vec<u32> = (0..4).map(|group| table.codes(group)[0]).collect();
    assert_eq!(codes, [1, 1, 0, 2]);
    assert_eq!((table.groups(2), table.cell_rows(2), table.group_count()), (2..4, 2, 4));
    assert_eq!(rows.groups, [3, 1, 2, 0]);
}

type Row = (Option<i64>, u8, Option<bool>, Option<u8>, Option<u8>);

/// A number, a country, a flag that suppresses; a sensitive text and a sensitive number.
fn columns(rows: &[Row]) -> (Vec<(QuasiSpec, ArrayRef)>, Vec<ArrayRef>) {
    let country = ["France", "Spain", "Italy", "Japan", "China"];
    let mut flag = quasi("flag", ColumnRecoding::Set, HierarchySpec::Flat);
    flag.nulls = Nulls::Suppress;
    let quasi = vec![
        (interval("age"), Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()) as ArrayRef),
        (
            quasi("country", ColumnRecoding::Ancestor, HierarchySpec::Tree(Arc::new(countries()))),
            texts(&rows.iter().map(|row| country[usize::from(row.1)]).collect::<Vec<_>>()),
        ),
        (flag, Arc::new(rows.iter().map(|row| row.2).collect::<BooleanArray>())),
    ];
    let illness: StringArray = rows.iter().map(|row| row.3.map(|n| format!("illness {n}"))).collect();
    let income: Float64Array = rows.iter().map(|row| row.4.map(|n| f64::from(n) / 2.0)).collect();
    (quasi, vec![Arc::new(illness), Arc::new(income)])
}

/// Returns the whole content of a table as text.
fn contents(table: &Table) -> String {
    let cells = (0..table.cell_count() as u32).map(|cell| {
        let groups = table.groups(cell).map(|group| (table.codes(group), table.group_rows(group)));
        (table.positions(cell), table.cell_rows(cell), groups.collect::<Vec<_>>())
    });
    let domains = table.quasi().iter().map(|column| match column.domain.kind() {
        DomainKind::Ordered { values, has_null } => format!("{values:?} {has_null}"),
        DomainKind::Category(tree) => {
            let leaves = 0..tree.leaf_count() as u32;
            format!("{:?} {:?}", leaves.map(|at| tree.label(tree.leaf_node(at))).collect::<Vec<_>>(), tree.null_leaf())
        }
    });
    let sensitive = table.sensitive().iter().map(|column| (&column.name, column.distinct));
    format!(
        "{} {:?} {:?} {:?}",
        table.rows(),
        cells.collect::<Vec<_>>(),
        domains.collect::<Vec<_>>(),
        sensitive.collect::<Vec<_>>()
    )
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn surveys_of_any_split_and_order_merge_to_the_table_of_one(
        rows in prop::collection::vec(
            (
                prop::option::weighted(0.9, -3_i64..6),
                0_u8..5,
                prop::option::weighted(0.9, any::<bool>()),
                prop::option::weighted(0.8, 0_u8..4),
                prop::option::weighted(0.8, 0_u8..3),
            ),
            1..80,
        ),
        pieces in prop::collection::vec(0_usize..4, 80),
        batch in 1_usize..10,
        order in any::<prop::sample::Selector>(),
    ) {
        let (quasi, sensitive) = columns(&rows);
        let Ok(whole) = try_survey(&quasi, &sensitive) else {
            prop_assert!(rows.iter().all(|row| row.2.is_none()));
            return Ok(());
        };
        let all: Vec<ArrayRef> = quasi.iter().map(|(_, column)| column).chain(&sensitive).cloned().collect();
        // Rows in another order, distributed to four surveys batch by batch; a survey may stay empty.
        let mut shuffled: Vec<u32> = (0..rows.len() as u32).collect();
        shuffled.sort_by_key(|row| (pieces[(*row as usize * 7 + 3) % 80], order.try_select([*row, row ^ 5]), *row));
        let mut seen: Vec<(usize, u32, u32)> = Vec::new();
        let mut surveys = Vec::new();
        for piece in 0..4 {
            let mine: Vec<u32> = shuffled.iter().copied().filter(|row| pieces[*row as usize] == piece).collect();
            let mut survey = Survey::new(spec_of(&quasi, &sensitive)).unwrap();
            for chunk in mine.chunks(batch) {
                let at = UInt32Array::from(chunk.to_vec());
                let columns: Vec<ArrayRef> = all.iter().map(|column| take(column, &at, None).unwrap()).collect();
                let numbers = survey.push(&columns).unwrap();
                seen.extend(chunk.iter().zip(numbers).map(|(row, number)| (piece, *row, number)));
            }
            surveys.push(survey);
        }
        let merged = Survey::merge(surveys).unwrap();
        prop_assert_eq!(contents(&merged.table), contents(&whole.table));
        prop_assert_eq!(merged.suppressed, whole.suppressed);
        for (piece, row, number) in seen {
            let group = if number == SUPPRESSED { SUPPRESSED } else { merged.groups[piece][number as usize] };
            prop_assert_eq!(group, whole.groups[row as usize]);
        }
    }
}

#[test]
fn a_slice_of_a_dictionary_is_surveyed_as_its_rows() {
    let column = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![0, 1, 2, 1]),
        Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0])),
    );
    let slice: ArrayRef = Arc::new(column.slice(1, 3));
    assert_eq!(slice.as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap().values().len(), 3);
    let rows = survey(&[(interval("q"), slice)], &[]);
    assert_eq!(rows.groups, [0, 1, 0]);
    let DomainKind::Ordered { values, .. } = rows.table.quasi()[0].domain.kind() else { panic!("numbers") };
    assert_eq!(
        values.as_any().downcast_ref::<arrow::array::PrimitiveArray<Float64Type>>().unwrap().values(),
        &[2.0, 3.0]
    );
}

#[test]
fn values_that_hardly_any_two_rows_share_are_merged_all_the_same() {
    // At first nearly every value is new, then earlier values repeat; some rows are null.
    let rows = 0..110_000_i64;
    let person = |row: i64| if row < 70_000 { row } else { row % 3_000 * 7 };
    let income = rows.clone().map(|row| (row % 1_000 != 999).then_some(person(row) * 7_919 - 1_000_000));
    let wealth = rows.clone().map(|row| person(row) as f64 * -1.25);
    let born = rows.clone().map(|row| (person(row) * 31) as i32);
    let height = rows.clone().map(|row| person(row) as f32 / 3.0);
    let quasi: Vec<(QuasiSpec, ArrayRef)> = vec![
        (interval("income"), Arc::new(income.collect::<Int64Array>())),
        (interval("wealth"), Arc::new(Float64Array::from_iter_values(wealth))),
        (interval("born"), Arc::new(Date32Array::from_iter_values(born))),
        (interval("height"), Arc::new(Float32Array::from_iter_values(height))),
        (interval("age"), Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| person(row) % 90)))),
    ];
    let sensitive: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row % 7)))];
    // A single batch interns all values by lookup.
    let whole = survey(&quasi, &sensitive);
    let mut surveys = Vec::new();
    let mut seen = Vec::new();
    for (piece, rows) in [0..100_000, 100_000..110_000].into_iter().enumerate() {
        let mut survey = Survey::new(spec_of(&quasi, &sensitive)).unwrap();
        for start in rows.clone().step_by(5_000) {
            let columns = quasi.iter().map(|(_, column)| column).chain(&sensitive);
            let columns: Vec<ArrayRef> = columns.map(|column| column.slice(start, 5_000)).collect();
            seen.extend(survey.push(&columns).unwrap().into_iter().map(|number| (piece, number)));
        }
        let is_scattered = survey.interners[1].len() > 70_000;
        assert_eq!(is_scattered, piece == 0, "the first of them does not look values up that are new");
        surveys.push(survey);
    }
    let merged = Survey::merge(surveys).unwrap();
    assert_eq!(merged.table.cell_count(), whole.table.cell_count());
    assert!(contents(&merged.table) == contents(&whole.table), "the tables differ");
    let groups: Vec<u32> = seen.iter().map(|(piece, number)| merged.groups[*piece][*number as usize]).collect();
    assert!(groups == whole.groups, "rows have other groups");
}

/// The memory that an out-of-memory error asks for is computed before most rows are read.
#[test]
fn a_projection_is_what_a_survey_of_more_values_holds() {
    let spec = || spec_of(&[(quasi("q", ColumnRecoding::Ancestor, HierarchySpec::Flat), texts(&[]))], &[]);
    let surveyed = |batches: usize| {
        let mut survey = Survey::new(spec()).unwrap();
        for batch in 0..batches {
            let names = (0..1000).map(|row| format!("{:060}", batch * 1000 + row));
            survey.push(&[Arc::new(StringArray::from_iter_values(names)) as ArrayRef]).unwrap();
            survey.take_groups();
        }
        survey
    };
    let (few, many) = (surveyed(10), surveyed(40));
    assert_eq!((few.value_counts(), many.value_counts()), (vec![10_000], vec![40_000]));
    let (projected, held) = (few.projected(&[4.0]), many.projected(&[1.0]));
    assert_eq!(projected.values, held.values);
    for (projected, held) in [(projected.bytes, held.bytes), (projected.memory, many.size())] {
        assert!(projected.abs_diff(held) * 10 < held, "{projected} in place of {held}");
    }
}
