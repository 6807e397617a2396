use std::collections::HashMap;
use std::path::Path;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::array::{
    AsArray, DictionaryArray, Int32Array, Int64Array, StringArray, StructArray, UInt32Array,
};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Int32Type, Int64Type};
use datafusion::datasource::MemTable;
use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use throng_policy::{Overrides, Policy, Secret};

use super::*;
use crate::AnonymizedTable;

/// Eight people in two age groups. `note` is a dictionary with an unused entry, and all fields carry metadata that must
/// not be released.
fn people() -> RecordBatch {
    let ages = Int32Array::from(vec![25, 39, 36, 25, 70, 71, 72, 70]);
    let names = StringArray::from(vec!["Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gil", "Hal"]);
    let illness = StringArray::from(vec!["flu", "cold", "flu", "gout", "flu", "cold", "gout", "flu"]);
    let keys = Int32Array::from(vec![0, 1, 0, 1, 0, 1, 0, 1]);
    let note = DictionaryArray::new(keys, Arc::new(StringArray::from(vec!["x", "y", "nobody has this"])));
    let number: ArrayRef = Arc::new(Int64Array::from_iter_values(0..8));
    let secret = HashMap::from([("origin".to_owned(), "secret".to_owned())]);
    let field =
        |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), false).with_metadata(secret.clone());
    let inner = Arc::new(field("number", &DataType::Int64));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(inner, number)]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(names)),
        ("age", Arc::new(ages)),
        ("illness", Arc::new(illness)),
        ("note", Arc::new(note)),
        ("nested", nested),
    ];
    let fields: Vec<Field> = columns.iter().map(|(name, column)| field(name, column.data_type())).collect();
    let schema = Schema::new(fields).with_metadata(secret);
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect()).unwrap()
}

async fn release(batch: RecordBatch, age: &str) -> RecordBatch {
    let text = format!(
        "version = 1\ninput.location = 'x'\noutput.location = 'y'\nprivacy = {{ k = 4, p = 2 }}\n[columns]\n\
         name.role = 'identifier'\nage = {{ role = 'quasi', release = '{age}' }}\nillness.role = 'sensitive'\n\
         note.role = 'insensitive'\nnested.role = 'insensitive'\n"
    );
    let policy = Policy::parse(&text, Path::new("."), &Overrides::default())
        .unwrap()
        .with_secret(Secret::new("the same secret in every test").unwrap());
    let schema = batch.schema();
    let context = SessionContext::new();
    let table = MemTable::try_new(Arc::clone(&schema), vec![vec![batch]]).unwrap();
    let table = AnonymizedTable::new(Arc::new(table), Arc::new(policy)).unwrap();
    let plan = table.plan(&context.state()).await.unwrap();
    let released = collect(Arc::new(plan), context.task_ctx()).await.unwrap();
    let release = table.release().unwrap();
    assert_eq!(release.schema(), released_schema(table.anonymizer().binding(), &schema));
    assert_eq!(release.rows(), 8);
    concat_batches(&release.schema(), &released).unwrap()
}

#[tokio::test]
async fn a_release_shows_intervals_and_keeps_the_rest_of_each_row() {
    let input = people();
    let released = release(input.clone(), "interval").await;
    let names: Vec<_> = released.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["age", "illness", "note", "nested"]);
    let ages = released.column(0).as_string::<i32>();
    let number = released.column(3).as_struct().column(0).as_primitive::<Int64Type>();
    let illness = released.column(1).as_string::<i32>();
    let note = released.column(2).as_string::<i32>();
    let before = input.column(2).as_string::<i32>();
    let mut seen: Vec<i64> = number.values().to_vec();
    for row in 0..8 {
        let person = number.value(row) as usize;
        assert_eq!(ages.value(row), if person < 4 { "[25-39]" } else { "[70-72]" });
        assert_eq!(illness.value(row), before.value(person));
        assert_eq!(note.value(row), ["x", "y"][person % 2]);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..8).collect::<Vec<_>>());
}

#[tokio::test]
async fn bounds_are_two_columns_of_the_own_type() {
    let released = release(people(), "bounds").await;
    let lower = released.column_by_name("age_min").unwrap().as_primitive::<Int32Type>();
    let upper = released.column_by_name("age_max").unwrap().as_primitive::<Int32Type>();
    assert_eq!(lower.values(), &[25, 25, 25, 25, 70, 70, 70, 70]);
    assert_eq!(upper.values(), &[39, 39, 39, 39, 72, 72, 72, 72]);
}

#[tokio::test]
async fn nothing_of_the_input_but_its_values_is_released() {
    let released = release(people(), "interval").await;
    let text = format!("{:?} {:?}", released.schema(), released.columns());
    for trace in ["secret", "nobody has this", "Ann"] {
        assert!(!text.contains(trace), "{trace} is still there");
    }
}

#[tokio::test]
async fn the_order_of_the_input_leaves_no_trace() {
    let input = people();
    let order = UInt32Array::from(vec![5, 2, 7, 0, 3, 6, 1, 4]);
    let shuffled = take_record_batch(&input, &order).unwrap();
    assert_eq!(release(shuffled, "interval").await, release(input, "interval").await);
}
