//! Types that can't be generalized are released unchanged: lists, structs, maps, bytes.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, DurationSecondArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array,
    Int64Array, LargeListArray, ListArray, MapBuilder, NullArray, RecordBatch, StringArray, StringBuilder,
    StringViewArray, StructArray,
};
use arrow::array::{Int64Builder, LargeBinaryArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Int32Type, Int64Type};

use crate::release_files::{Rows, read};
use crate::sandbox::Sandbox;
use crate::tables::{table, write_ipc};

const ROWS: usize = 30;

fn words() -> StringArray {
    (0..ROWS).map(|row| (!row.is_multiple_of(5)).then(|| format!("word {row}"))).collect()
}

fn lists() -> ListArray {
    let list = |row: usize| {
        (!row.is_multiple_of(7)).then(|| (0..row % 4).map(move |item| (item != 1).then_some((row * item) as i64)))
    };
    ListArray::from_iter_primitive::<Int64Type, _, _>((0..ROWS).map(list))
}

fn structs(inner: Vec<(&str, ArrayRef)>) -> StructArray {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let fields: Fields = inner.iter().map(field).collect();
    let nulls = arrow::buffer::NullBuffer::from((0..ROWS).map(|row| !row.is_multiple_of(6)).collect::<Vec<bool>>());
    StructArray::new(fields, inner.into_iter().map(|(_, column)| column).collect(), Some(nulls))
}

fn maps() -> ArrayRef {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for row in 0..ROWS {
        for entry in 0..row % 3 {
            builder.keys().append_value(format!("key {entry}"));
            builder.values().append_option(row.is_multiple_of(2).then_some((row + entry) as i64));
        }
        builder.append(!row.is_multiple_of(8)).unwrap();
    }
    Arc::new(builder.finish())
}

/// Columns that keep their type.
fn plain() -> Vec<(&'static str, ArrayRef)> {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS as i32));
    let pairs = (0..ROWS).map(|row| (!row.is_multiple_of(4)).then_some([Some(row as i32), None]));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths((0..ROWS).map(|_| 1));
    let inner = structs(vec![("a", numbers.clone()), ("b", Arc::new(words()))]);
    let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
    let bytes = |row: usize| (!row.is_multiple_of(3)).then(|| vec![row as u8; row % 4]);
    vec![
        ("list", Arc::new(lists())),
        ("large_list", {
            let lists = (0..ROWS).map(|row| (!row.is_multiple_of(5)).then(|| vec![Some(row as i64); row % 3]));
            Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(lists))
        }),
        ("pair", Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(pairs, 2))),
        ("structure", Arc::new(inner.clone())),
        ("list_of_structures", Arc::new(ListArray::new(item, offsets, Arc::new(inner), None))),
        ("map", maps()),
        ("bytes", Arc::new((0..ROWS).map(bytes).collect::<BinaryArray>())),
        ("large_bytes", Arc::new((0..ROWS).map(bytes).collect::<LargeBinaryArray>())),
        ("digest", {
            let digests = (0..ROWS).map(|row| [row as u8; 4]);
            Arc::new(FixedSizeBinaryArray::try_from_iter(digests).unwrap())
        }),
        ("duration", Arc::new(DurationSecondArray::from_iter_values((0..ROWS as i64).map(|row| row * 60)))),
        ("nothing", Arc::new(NullArray::new(ROWS))),
    ]
}

/// Columns that contain dictionaries and views, with the types in which they are released.
fn packed() -> Vec<(&'static str, ArrayRef, DataType)> {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let coded = structs(vec![("code", cast(&words(), &dictionary).unwrap())]);
    let offsets = arrow::buffer::OffsetBuffer::from_lengths((0..ROWS).map(|_| 1));
    let views: ArrayRef = Arc::new(words().iter().collect::<StringViewArray>());
    let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
    let listed = ListArray::new(item, offsets, views, None);
    let of_text = Field::new("code", DataType::Utf8, true);
    vec![
        ("coded", Arc::new(coded), DataType::Struct(vec![of_text].into())),
        ("views", Arc::new(listed), DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))),
    ]
}

fn with_ages(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let ages = Int64Array::from_iter_values((0..ROWS as i64).map(|row| row % 11));
    let rows = Int64Array::from_iter_values(0..ROWS as i64);
    let mut all: Vec<(&str, ArrayRef)> = vec![("row", Arc::new(rows)), ("age", Arc::new(ages))];
    all.extend(columns);
    table(all)
}

fn policy(sandbox: &Sandbox, input: &RecordBatch) {
    let kept = input.schema_ref().fields().iter().filter(|field| field.name() != "age");
    let kept: String = kept.map(|field| format!("[columns.{}]\nrole = \"insensitive\"\n", field.name())).collect();
    sandbox.policy(4, 1, &format!("[columns.age]\nrole = \"quasi\"\n{kept}"));
}

/// Asserts that every released column has the value of its input row.
fn assert_kept(input: &RecordBatch, release: &RecordBatch) {
    let (before, after) = (Rows::of(input), Rows::of(release));
    let places = after.by("row");
    for name in before.names().into_iter().filter(|name| *name != "age") {
        for row in 0..ROWS {
            let place = places[row.to_string().as_str()];
            assert_eq!(before.column(name)[row], after.column(name)[place], "{name} of row {row}");
        }
    }
}

/// Returns the type in which a column is released: offsets have 32 bits.
fn short(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LargeBinary => DataType::Binary,
        DataType::LargeList(item) => DataType::List(Arc::clone(item)),
        other => other.clone(),
    }
}

#[test]
fn nested_columns_come_through_unchanged() {
    let input = with_ages(plain());
    let sandbox = Sandbox::new();
    crate::tables::write_parquet(&sandbox.path("input/people.parquet"), &input);
    policy(&sandbox, &input);
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    assert_kept(&input, &release);
    for (name, column) in plain() {
        let found = release.schema().field_with_name(name).unwrap().data_type().clone();
        assert_eq!(found, short(column.data_type()), "{name}");
    }
}

#[test]
fn nested_columns_of_arrow_files_come_through_unchanged() {
    let input = with_ages(plain());
    let sandbox = Sandbox::new();
    write_ipc(&sandbox.path("input/people.arrow"), &input);
    policy(&sandbox, &input);
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    assert_kept(&input, &release);
    for (name, column) in plain() {
        assert_eq!(release.schema().field_with_name(name).unwrap().data_type(), &short(column.data_type()), "{name}");
    }
}

#[test]
fn dictionaries_and_views_inside_of_nested_columns_become_plain_values() {
    let input = with_ages(packed().into_iter().map(|(name, column, _)| (name, column)).collect());
    for name in ["people.parquet", "people.arrow"] {
        let sandbox = Sandbox::new();
        let path = sandbox.path("input").join(name);
        if name.ends_with("arrow") {
            write_ipc(&path, &input)
        } else {
            crate::tables::write_parquet(&path, &input)
        }
        policy(&sandbox, &input);
        sandbox.run(&[]);
        let release = read(&sandbox.release());
        assert_kept(&input, &release);
        for (column, _, expected) in packed() {
            let found = release.schema().field_with_name(column).unwrap().data_type().clone();
            assert_eq!(found, expected, "{column} of {name}");
        }
    }
}
