//! Every Arrow type that can be generalized or counted, through Parquet and back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt64Array, new_null_array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, TimeUnit};

use crate::label_covers::{Domain, flat_covers, set_covers};
use crate::release_files::{Rows, multiset, read};
use crate::sandbox::Sandbox;
use crate::tables::{table, texts};

const ROWS: i64 = 36;
const K: u64 = 5;

/// A number that increases every third row.
fn steps() -> impl Iterator<Item = i64> {
    (0..ROWS).map(|row| row / 3)
}

fn ids() -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..ROWS))
}

/// Numeric columns and dates, in ascending order.
fn ordered() -> Vec<(String, ArrayRef)> {
    use DataType::*;
    let whole: ArrayRef = Arc::new(Int64Array::from_iter_values(steps().map(|step| step * 3 - 7)));
    let natural: ArrayRef = Arc::new(Int64Array::from_iter_values(steps().map(|step| step * 3)));
    let days: ArrayRef = Arc::new(Int32Array::from_iter_values(steps().map(|step| step as i32 * 40 - 90)));
    let seconds: ArrayRef = Arc::new(Int64Array::from_iter_values(steps().map(|step| step * 5_000)));
    let fractions: ArrayRef = Arc::new(Float64Array::from_iter_values(steps().map(|step| step as f64 * 0.75 - 2.0)));
    let cents = Decimal128Array::from_iter_values(steps().map(|step| i128::from(step) * 125 - 300));
    let cents: ArrayRef = Arc::new(cents.with_precision_and_scale(9, 2).unwrap());
    let huge = UInt64Array::from_iter_values(steps().map(|step| u64::MAX - 100 + step as u64));
    let huge_decimals = Decimal128Array::from_iter_values(steps().map(|step| 10_i128.pow(30) + i128::from(step)));
    let huge_decimals: ArrayRef = Arc::new(huge_decimals.with_precision_and_scale(38, 3).unwrap());

    let mut columns: Vec<(ArrayRef, DataType)> = vec![];
    columns.extend([Int8, Int16, Int32, Int64].map(|to| (whole.clone(), to)));
    columns.extend([UInt8, UInt16, UInt32, UInt64].map(|to| (natural.clone(), to)));
    columns.extend([Float16, Float32, Float64].map(|to| (fractions.clone(), to)));
    columns.extend(
        [Decimal32(9, 2), Decimal64(18, 2), Decimal128(38, 2), Decimal256(50, 4)].map(|to| (cents.clone(), to)),
    );
    columns.extend([Date32, Date64].map(|to| (cast(&days, &Date32).unwrap(), to)));
    let small: ArrayRef = cast(&seconds, &Int32).unwrap();
    columns.push((small, Time32(TimeUnit::Second)));
    let micros = cast(&seconds, &Time64(TimeUnit::Microsecond)).unwrap();
    columns.push((micros, Time64(TimeUnit::Microsecond)));
    let instants = cast(&seconds, &Timestamp(TimeUnit::Second, None)).unwrap();
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        columns.push((instants.clone(), Timestamp(unit, None)));
        columns.push((cast(&seconds, &Timestamp(TimeUnit::Second, Some("UTC".into()))).unwrap(), {
            Timestamp(unit, Some("+02:00".into()))
        }));
    }
    columns.push((Arc::new(huge), UInt64));
    columns.push((huge_decimals, Decimal128(38, 3)));
    columns.push((whole, Dictionary(Box::new(Int32), Box::new(Int64))));
    let named = columns.into_iter().enumerate().map(|(number, (column, to))| {
        let column = cast(&column, &to).unwrap();
        assert_eq!(column.null_count(), 0, "{to}");
        (format!("c{number}"), column)
    });
    named.collect()
}

/// Categorical columns.
fn categories() -> Vec<(String, ArrayRef)> {
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(steps().map(|step| format!("word {step:02}"))));
    let flags: BooleanArray = steps().map(|step| Some(step % 2 == 0)).collect();
    // With an entry that no row refers to.
    let entries = StringArray::from_iter_values((0..13).map(|step| format!("entry {step:02}")));
    let keys = Int32Array::from_iter_values(steps().map(|step| step as i32));
    let dictionary = DictionaryArray::<Int32Type>::new(keys, Arc::new(entries));
    let columns: Vec<ArrayRef> = vec![
        words.clone(),
        cast(&words, &DataType::LargeUtf8).unwrap(),
        cast(&words, &DataType::Utf8View).unwrap(),
        Arc::new(dictionary),
        cast(&words, &DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::LargeUtf8))).unwrap(),
        Arc::new(flags),
    ];
    columns.into_iter().enumerate().map(|(number, column)| (format!("c{number}"), column)).collect()
}

fn input(columns: &[(String, ArrayRef)]) -> RecordBatch {
    let columns = columns.iter().map(|(name, column)| (name.as_str(), column.clone()));
    table(std::iter::once(("row", ids())).chain(columns).collect())
}

fn release(columns: &[(String, ArrayRef)], how: &str) -> (RecordBatch, Rows) {
    let of_column = |(name, _): &(String, ArrayRef)| format!("[columns.{name}]\n{how}\n");
    let policy = columns.iter().map(of_column).collect::<String>() + "[columns.row]\nrole = \"insensitive\"";
    let sandbox = Sandbox::with(&input(columns), K, 1, &policy);
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    let rows = Rows::of(&release);
    assert_eq!(rows.len(), ROWS as usize);
    (release, rows)
}

/// Returns the values in the format of a release: timestamps in UTC.
fn written(column: &ArrayRef) -> Vec<Option<String>> {
    match column.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            texts(&cast(column, &DataType::Timestamp(*unit, Some("+00:00".into()))).unwrap())
        }
        _ => texts(column),
    }
}

/// Returns the type in which a column is released: its own, unless Parquet can represent it only by Arrow metadata.
fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => plain(value),
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        other => other.clone(),
    }
}

#[test]
fn numbers_dates_and_times_are_released_as_intervals() {
    let columns = ordered();
    let (batch, rows) = release(&columns, "role = \"quasi\"");
    let places = rows.by("row");
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let count = rows.count(&names, &[]);
    assert!(count.smallest >= K && count.classes >= 3, "{count:?}");
    for (name, column) in &columns {
        let data_type = column.data_type();
        let values = written(column);
        let domain = Domain::ascending(values.clone());
        assert_eq!(domain.len(), 12, "{data_type}");
        assert_eq!(batch.schema().field_with_name(name).unwrap().data_type(), &DataType::Utf8);
        for (row, value) in values.iter().enumerate() {
            let label = &rows.column(name)[places[row.to_string().as_str()]];
            assert!(domain.interval_covers(label, value), "{data_type}: {value:?} is released as {label:?}");
        }
    }
}

#[test]
fn bounds_have_the_own_type_of_the_column() {
    let columns = ordered();
    let (batch, rows) = release(&columns, "role = \"quasi\"\nrelease = \"bounds\"");
    let places = rows.by("row");
    let names: Vec<String> =
        columns.iter().flat_map(|(name, _)| [format!("{name}_min"), format!("{name}_max")]).collect();
    let mut expected = vec!["row"];
    expected.extend(names.iter().map(String::as_str));
    assert_eq!(rows.names(), expected);
    assert!(rows.count(&expected[1..], &[]).smallest >= K);
    for (name, column) in &columns {
        let domain = Domain::ascending(texts(column));
        let (low, high) = (format!("{name}_min"), format!("{name}_max"));
        for bound in [&low, &high] {
            let found = batch.schema().field_with_name(bound).unwrap().data_type().clone();
            assert_eq!(found, plain(column.data_type()), "{bound}");
        }
        for (row, value) in texts(column).iter().enumerate() {
            let place = places[row.to_string().as_str()];
            let bounds = (&rows.column(&low)[place], &rows.column(&high)[place]);
            assert!(bounds.0.is_some() && domain.bounds_cover(bounds, value), "{}: {value:?}", column.data_type());
        }
    }
}

#[test]
fn every_type_can_be_a_category() {
    for (columns, releases) in [(categories(), ["ancestor", "set"]), (ordered(), ["ancestor", "set"])] {
        for how in releases {
            let (_, rows) = release(&columns, &format!("role = \"quasi\"\nrelease = \"{how}\""));
            let places = rows.by("row");
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            assert!(rows.count(&names, &[]).smallest >= K);
            for (name, column) in &columns {
                for (row, value) in written(column).iter().enumerate() {
                    let label = &rows.column(name)[places[row.to_string().as_str()]];
                    let covers = if how == "set" { set_covers(label, value) } else { flat_covers(label, value) };
                    assert!(covers, "{} {how}: {value:?} is released as {label:?}", column.data_type());
                }
            }
        }
    }
}

#[test]
fn every_type_can_be_sensitive_and_comes_out_unchanged() {
    let mut columns = ordered();
    columns.extend(categories().into_iter().map(|(name, column)| (format!("t{name}"), column)));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row % 9)));
    let of_column = |(name, _): &(String, ArrayRef)| format!("[columns.{name}]\nrole = \"sensitive\"\n");
    let policy: String = columns.iter().map(of_column).collect();
    let mut all = vec![("grp".to_owned(), groups)];
    all.extend(columns.iter().cloned());
    let policy = policy + "[columns.grp]\nrole = \"quasi\"\n[columns.row]\nrole = \"insensitive\"";
    let input = input(&all);
    let sandbox = Sandbox::with(&input, K, 2, &policy);
    sandbox.run(&[]);
    let (before, after) = (Rows::of(&input), read(&sandbox.release()));
    let rows = Rows::of(&after);
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let count = rows.count(&["grp"], &names);
    assert!(count.smallest >= K && count.fewest.iter().all(|fewest| *fewest >= 2), "{count:?}");
    assert_eq!(multiset(rows.tuples(&names)), multiset(before.tuples(&names)));
    for (name, column) in &columns {
        let found = after.schema().field_with_name(name).unwrap().data_type().clone();
        let text = |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8);
        let expected = plain(column.data_type());
        assert!(found == expected || text(&found) && text(&expected), "{expected} came out as {found}");
    }
}

#[test]
fn nulls_are_values_of_a_quasi_identifier_and_none_of_a_sensitive_column() {
    let ages: Int64Array = (0..40).map(|row| (row % 4 != 0).then_some(row % 4 * 10)).collect();
    let ill: StringArray = (0..40).map(|row| (row % 2 == 0).then_some(["flu", "gout"][row / 2 % 2])).collect();
    let input = table(vec![("age", Arc::new(ages)), ("ill", Arc::new(ill))]);
    let columns = "[columns.age]\nrole = \"quasi\"\n[columns.ill]\nrole = \"sensitive\"";
    let sandbox = Sandbox::with(&input, 10, 2, columns);
    sandbox.run(&[]);
    let rows = Rows::of(&read(&sandbox.release()));
    let count = rows.count(&["age"], &["ill"]);
    assert!(count.smallest >= 10 && count.fewest[0] >= 2, "{count:?}");
    assert_eq!(rows.column("ill").iter().filter(|value| value.is_none()).count(), 20);
    // A class of only nulls has the label null; one with nulls and values has `*`.
    assert!(rows.column("age").iter().all(|label| label.as_deref().is_none_or(|label| !label.is_empty())));
    let sandbox = Sandbox::with(&input, 10, 1, columns);
    sandbox.run(&[]);
    let labels = Rows::of(&read(&sandbox.release()));
    let plain = multiset(labels.column("age").iter().map(Option::as_deref));
    let expected = [(None, 10), (Some("10"), 10), (Some("20"), 10), (Some("30"), 10)];
    assert_eq!(plain, expected.into_iter().collect());
}

#[test]
fn columns_of_nothing_but_nulls_are_released_as_nulls() {
    let empty = |(name, column): (String, ArrayRef)| (name, new_null_array(column.data_type(), ROWS as usize));
    let mut columns: Vec<(String, ArrayRef)> = ordered().into_iter().map(empty).collect();
    columns.extend(categories().into_iter().map(empty).map(|(name, column)| (format!("t{name}"), column)));
    for role in ["quasi", "sensitive"] {
        let mut all = vec![("age".to_owned(), ids())];
        all.extend(columns.iter().cloned());
        let policy: String = columns.iter().map(|(name, _)| format!("[columns.{name}]\nrole = \"{role}\"\n")).collect();
        let policy = policy + "[columns.age]\nrole = \"quasi\"\n[columns.row]\nrole = \"insensitive\"";
        let sandbox = Sandbox::with(&input(&all), K, 1, &policy);
        sandbox.run(&[]);
        let release = read(&sandbox.release());
        assert_eq!(release.num_rows(), ROWS as usize);
        for (name, _) in &columns {
            let column = release.column_by_name(name).unwrap();
            assert_eq!(column.logical_null_count(), ROWS as usize, "{role} {name}");
        }
        assert!(Rows::of(&release).count(&["age"], &[]).classes > 1, "nulls alone are no reason to lose anything");
    }
}
