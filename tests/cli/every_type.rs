//! Every Arrow type as a column that a release keeps, from an Arrow file: its values come out as they are, or it is refused by
//! name before anything is read.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int8Array, Int32Array,
    Int64Array, IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, ListArray, ListViewArray,
    MapBuilder, NullArray, RecordBatch, RunArray, StringArray, StringBuilder, StructArray, UnionArray,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Int32Type, Schema, TimeUnit, UnionFields};

use crate::release_files::read;
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{texts, write_ipc};

const ROWS: usize = 12;

/// Expected treatment of a column in a release.
enum Expected {
    /// Its values are released, as they are written.
    Carried,
    /// It is refused, by the name of its column.
    Refused,
}

fn numbers() -> ArrayRef {
    Arc::new(Int32Array::from_iter((0..ROWS as i32).map(|row| (row % 5 != 3).then_some(row % 7))))
}

fn words() -> ArrayRef {
    Arc::new(StringArray::from_iter((0..ROWS).map(|row| (row % 4 != 1).then(|| format!("word {}", row % 6)))))
}

fn bytes() -> ArrayRef {
    Arc::new(BinaryArray::from_iter((0..ROWS).map(|row| (row % 4 != 2).then(|| vec![row as u8; row % 3]))))
}

fn lists_of(values: ArrayRef) -> ListArray {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    ListArray::new(item, OffsetBuffer::from_lengths(vec![1; ROWS]), values, None)
}

fn structures(columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let fields: Fields =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    Arc::new(StructArray::try_new_with_length(fields, columns, None, ROWS).unwrap())
}

fn unions(is_dense: bool) -> ArrayRef {
    let fields =
        [(0, Arc::new(Field::new("a", DataType::Int32, true))), (1, Arc::new(Field::new("b", DataType::Utf8, true)))];
    let fields: UnionFields = fields.into_iter().collect();
    let types: ScalarBuffer<i8> = (0..ROWS as i8).map(|row| row % 2).collect();
    let offsets = is_dense.then(|| (0..ROWS as i32).collect::<ScalarBuffer<i32>>());
    Arc::new(UnionArray::try_new(fields, types, offsets, vec![numbers(), words()]).unwrap())
}

fn maps() -> ArrayRef {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for row in 0..ROWS {
        builder.keys().append_value(format!("key {row}"));
        builder.values().append_option((row % 2 == 0).then_some("value"));
        builder.append(row % 3 != 0).unwrap();
    }
    Arc::new(builder.finish())
}

fn runs(values: ArrayRef) -> ArrayRef {
    let ends = Int32Array::from_iter_values(1..=ROWS as i32);
    Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
}

fn keyed(values: ArrayRef) -> ArrayRef {
    let keys = Int32Array::from_iter((0..ROWS as i32).map(|row| (row % 5 != 0).then_some(row / 2)));
    Arc::new(DictionaryArray::<Int32Type>::new(keys, values))
}

fn list_views() -> ListViewArray {
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    // Views in any order, of which some overlap.
    let offsets: ScalarBuffer<i32> = (0..ROWS as i32).map(|row| (ROWS as i32 - 1 - row) / 2).collect();
    let sizes: ScalarBuffer<i32> = (0..ROWS as i32).map(|row| row % 3).collect();
    ListViewArray::new(item, offsets, sizes, numbers(), None)
}

/// A column of every type that Arrow has.
fn columns() -> Vec<(ArrayRef, Expected)> {
    use DataType::*;
    use Expected::{Carried, Refused};
    let to = |from: &ArrayRef, data_type: DataType| cast(from, &data_type).unwrap();
    let whole = to(&numbers(), Int64);
    let seconds = to(&whole, Timestamp(TimeUnit::Second, None));
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut columns: Vec<(ArrayRef, Expected)> = Vec::new();
    let mut carry = |column: ArrayRef| columns.push((column, Carried));
    for data_type in [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64] {
        carry(to(&numbers(), data_type));
    }
    for decimal in [Decimal32(9, 2), Decimal64(18, 3), Decimal128(38, 4), Decimal256(76, 5)] {
        carry(to(&numbers(), decimal));
    }
    carry(Arc::new(NullArray::new(ROWS)));
    carry(to(&numbers(), Boolean));
    carry(to(&numbers(), Date32));
    carry(to(&to(&numbers(), Date32), Date64));
    for unit in [TimeUnit::Second, TimeUnit::Millisecond] {
        carry(to(&numbers(), Time32(unit)));
    }
    for unit in [TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        carry(to(&whole, Time64(unit)));
    }
    for unit in units {
        carry(to(&seconds, Timestamp(unit, None)));
        carry(to(&seconds, Timestamp(unit, Some("UTC".into()))));
        carry(to(&whole, Duration(unit)));
    }
    for text in [Utf8, LargeUtf8, Utf8View] {
        carry(to(&words(), text));
    }
    for binary in [Binary, LargeBinary, BinaryView] {
        carry(to(&bytes(), binary));
    }
    let digests = (0..ROWS).map(|row| (row % 4 != 1).then_some([row as u8; 3]));
    carry(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(digests, 3).unwrap()));
    let list: ArrayRef = Arc::new(lists_of(words()));
    carry(Arc::clone(&list));
    carry(to(&list, LargeList(Arc::new(Field::new_list_field(LargeUtf8, true)))));
    carry(Arc::new(list_views()));
    carry(Arc::new(lists_of(runs(numbers()))));
    carry(Arc::new(lists_of(keyed(words()))));
    let pairs = (0..ROWS as i32).map(|row| (row % 4 != 0).then_some([Some(row), None]));
    carry(Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(pairs, 2)));
    carry(structures(vec![("a", numbers()), ("b", words())]));
    carry(structures(vec![("runs", runs(words())), ("views", to(&words(), Utf8View))]));
    carry(maps());
    for values in [numbers(), words(), bytes(), to(&numbers(), Boolean), to(&whole, Float64), to(&numbers(), Date32)] {
        carry(keyed(Arc::clone(&values)));
        carry(runs(values));
    }
    carry(to(&words(), Dictionary(Box::new(UInt8), Box::new(LargeUtf8))));
    let years: ArrayRef = Arc::new(IntervalYearMonthArray::from_iter_values(0..ROWS as i32));
    columns.extend([unions(true), unions(false), years].map(|column| (column, Refused)));
    let days = IntervalDayTimeArray::from_iter_values(
        (0..ROWS as i32).map(|row| arrow::datatypes::IntervalDayTime::new(row, row)),
    );
    let months = (0..ROWS as i32).map(|row| arrow::datatypes::IntervalMonthDayNano::new(row, row, i64::from(row)));
    columns.push((to(&numbers(), Decimal128(5, -2)), Refused));
    columns.push((Arc::new(days), Refused));
    columns.push((Arc::new(IntervalMonthDayNanoArray::from_iter_values(months)), Refused));
    columns.push((structures(vec![]), Refused));
    columns.push((structures(vec![("a", numbers()), ("empty", structures(vec![]))]), Refused));
    columns.push((Arc::new(lists_of(unions(false))), Refused));
    columns.push((keyed(structures(vec![("a", numbers())])), Carried));
    columns
}

/// A sandbox with these columns next to `row` and `age` in an Arrow file, and a policy that keeps them.
fn with_columns(columns: &[(Field, ArrayRef)]) -> Sandbox {
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row % 3)));
    let row: ArrayRef = Arc::new(Int8Array::from_iter_values(0..ROWS as i8));
    let mut fields = vec![Field::new("row", DataType::Int8, true), Field::new("age", DataType::Int64, true)];
    fields.extend(columns.iter().map(|(field, _)| field.clone()));
    let columns = [row, ages].into_iter().chain(columns.iter().map(|(_, column)| Arc::clone(column))).collect();
    let input = RecordBatch::try_new(Arc::new(Schema::new(fields.clone())), columns).unwrap();
    let sandbox = Sandbox::new();
    write_ipc(&sandbox.path("input/people.arrow"), &input);
    let kept = fields.iter().filter(|field| field.name() != "age");
    let kept: String = kept.map(|field| format!("[columns.{}]\nrole = \"insensitive\"\n", field.name())).collect();
    sandbox.policy(2, 1, &format!("[columns.age]\nrole = \"quasi\"\n{kept}"));
    sandbox
}

fn beside_age(column: &ArrayRef, field: Field) -> Sandbox {
    with_columns(&[(field, Arc::clone(column))])
}

/// The values of a column in the order of the input.
fn released(sandbox: &Sandbox, name: &str) -> Vec<Option<String>> {
    let release = read(&sandbox.release());
    let rows = texts(release.column_by_name("row").unwrap());
    let values = texts(release.column_by_name(name).unwrap());
    let mut both: Vec<(usize, Option<String>)> =
        rows.into_iter().map(|row| row.unwrap().parse().unwrap()).zip(values).collect();
    both.sort();
    both.into_iter().map(|(_, value)| value).collect()
}

/// Text in which a date with a time does not depend on how it is stored.
fn without_unit(column: &ArrayRef) -> Vec<Option<String>> {
    match column.data_type() {
        DataType::Date64 => texts(&cast(column, &DataType::Timestamp(TimeUnit::Millisecond, None)).unwrap()),
        _ => texts(column),
    }
}

#[test]
fn every_type_that_a_release_can_hold_is_carried() {
    let carried = columns().into_iter().filter(|(_, expected)| matches!(expected, Expected::Carried));
    let named = carried
        .enumerate()
        .map(|(number, (column, _))| (Field::new(format!("c{number}"), column.data_type().clone(), true), column));
    let columns: Vec<(Field, ArrayRef)> = named.collect();
    let sandbox = with_columns(&columns);
    sandbox.run(&[]);
    for (field, column) in &columns {
        assert_eq!(released(&sandbox, field.name()), without_unit(column), "{}", column.data_type());
    }
    for arguments in [
        &["init", "input/", "-o", "drafted.toml"][..],
        &["risk", "input/", "--quasi", "age"],
        &["verify", "input/", "--quasi", "age", "--k", "1"],
        &["sql", "-c", "SELECT * FROM 'input/'"],
        &["sql", "-c", "SELECT * FROM 'input/'", "--format", "csv"],
    ] {
        let ended = sandbox.throng(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?} {ended:?}");
    }
    // In other roles a type is accepted, or refused by the name of its column.
    for (field, column) in &columns {
        for role in ["quasi", "sensitive"] {
            let others = "[columns]\ndefault = \"drop\"\n[columns.age]\nrole = \"quasi\"\n";
            sandbox.policy(2, 1, &format!("{others}[columns.{}]\nrole = \"{role}\"\n", field.name()));
            let ended = sandbox.throng(&["check", "policy.toml"]);
            assert!(matches!(ended.code, Some(0 | 3 | 65 | 78)), "{} as {role}: {ended:?}", column.data_type());
            let is_named = ended.stderr.contains(field.name().as_str());
            assert!(is_named || matches!(ended.code, Some(0 | 3)), "{} as {role}: {ended:?}", column.data_type());
        }
    }
}

#[test]
fn a_type_that_a_release_can_not_hold_is_refused_by_name() {
    let refused = columns().into_iter().filter(|(_, expected)| matches!(expected, Expected::Refused));
    for (column, _) in refused {
        let data_type = column.data_type().clone();
        let sandbox = beside_age(&column, Field::new("other", data_type.clone(), true));
        let ended = sandbox.throng(&["run", "policy.toml"]);
        assert!(matches!(ended.code, Some(65 | 78)), "{data_type}: {ended:?}");
        assert_contains(&ended.stderr, &["column `other`"]);
        assert!(sandbox.out().is_empty(), "{data_type}");
        for arguments in [
            &["init", "input/", "-o", "drafted.toml"][..],
            &["risk", "input/", "--quasi", "other"],
            &["verify", "input/", "--quasi", "other", "--k", "1"],
            &["sql", "-c", "SELECT * FROM 'input/'"],
        ] {
            let ended = sandbox.throng(arguments);
            assert!(matches!(ended.code, Some(0 | 2 | 4 | 65 | 78)), "{data_type}: {arguments:?} {ended:?}");
        }
        // Dropped columns may have any type.
        sandbox.policy(2, 1, "[columns]\ndefault = \"drop\"\n[columns.age]\nrole = \"quasi\"\n");
        sandbox.run(&[]);
    }
}

/// An extension type is released as its storage type: fields of a release have no metadata of the input.
#[test]
fn extension_types_are_released_as_what_they_are_stored_as() {
    let variant = structures(vec![("metadata", bytes()), ("value", bytes())]);
    let digests = (0..ROWS).map(|row| [row as u8; 16]);
    let uuids: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(digests).unwrap());
    for (name, column) in [
        ("arrow.uuid", uuids),
        ("arrow.json", words()),
        ("arrow.parquet.variant", variant),
        ("somebody.else", Arc::new(lists_of(numbers())) as ArrayRef),
    ] {
        let metadata = [("ARROW:extension:name".to_owned(), name.to_owned())];
        let field = Field::new("other", column.data_type().clone(), true).with_metadata(metadata.into());
        let sandbox = beside_age(&column, field);
        sandbox.run(&[]);
        assert_eq!(released(&sandbox, "other"), texts(&column), "{name}");
        let release = read(&sandbox.release());
        // What the input says about it is gone, and what the release says about it is there.
        let schema = release.schema();
        let metadata = schema.field_with_name("other").unwrap().metadata();
        let mut keys: Vec<&String> = metadata.keys().collect();
        keys.sort();
        assert_eq!(keys, ["throng.form", "throng.role"], "{name}");
    }
}

#[test]
fn a_table_without_columns_is_refused() {
    let sandbox = Sandbox::new();
    let schema = Arc::new(Schema::empty());
    let file = File::create(sandbox.path("input/people.arrow")).unwrap();
    arrow::ipc::writer::FileWriter::try_new(file, &schema).unwrap().finish().unwrap();
    sandbox.policy(2, 1, "[columns.age]\nrole = \"quasi\"\n");
    assert_contains(&sandbox.run_refused(65, &[]), &["has no columns"]);
    for arguments in [&["init", "input/", "-o", "drafted.toml"][..], &["sql", "-c", "SELECT * FROM 'input/'"]] {
        let ended = sandbox.throng(arguments);
        assert_eq!(ended.code, Some(65), "{ended:?}");
    }
}
