use std::path::Path;

use datafusion::arrow::array::{Int32Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::datasource::MemTable;
use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_policy::{Overrides, Policy};

use super::*;
use crate::AnonymizedTable;
use crate::release::Release;

const LEFT_OUT: &str = "an illness that only the row without an age has";

/// Ages, and two columns of long strings: a few of them, and as many as there are rows. The first row has no age, and strings that no other
/// row has.
fn people(rows: usize) -> RecordBatch {
    let ages = (0..rows as i32).map(|row| (row > 0).then_some(row % 20));
    let illness = (0..rows).map(|row| match row {
        0 => LEFT_OUT.to_owned(),
        row if row % 7 == 0 => "flu".to_owned(),
        row => format!("an illness with a long name, number {}", row % 5),
    });
    let note = (0..rows).map(|row| match row {
        0 => Some(LEFT_OUT.to_owned()),
        row => (row % 11 > 0).then(|| format!("a note that nobody else has, number {row}")),
    });
    let columns: [(&str, ArrayRef); 3] = [
        ("age", Arc::new(ages.collect::<Int32Array>())),
        ("illness", Arc::new(illness.map(Some).collect::<StringArray>())),
        ("note", Arc::new(note.collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

async fn release(batch: RecordBatch) -> Arc<Release> {
    let text = "version = 1\ninput.location = 'x'\noutput.location = 'y'\nprivacy = { k = 4, p = 2 }\n\
        columns.age = { role = 'quasi', nulls = 'suppress' }\ncolumns.illness.role = 'sensitive'\n\
        columns.note.role = 'insensitive'\n";
    let policy = Policy::parse(text, Path::new("."), &Overrides::default()).unwrap();
    let context = SessionContext::new();
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
    let table = AnonymizedTable::new(Arc::new(table), Arc::new(policy)).unwrap();
    let plan = table.plan(&context.state()).await.unwrap();
    collect(Arc::new(plan), context.task_ctx()).await.unwrap();
    table.release().unwrap()
}

#[tokio::test]
async fn views_have_the_same_rows_and_no_byte_of_other_rows() {
    for rows in [60, 5000] {
        let release = release(people(rows)).await;
        assert_eq!(release.rows() as usize, rows - 1);
        let plain: Vec<RecordBatch> = release.stream(999, 2).try_collect().await.unwrap();
        let views: Vec<RecordBatch> = release.stream_of_views(999, 2).try_collect().await.unwrap();
        let (plain, schema) = (concat_batches(&release.schema(), &plain).unwrap(), release.schema_of_views());
        assert!(schema.fields().iter().all(|field| field.data_type() == &DataType::Utf8View));
        let mut first = 0;
        for batch in &views {
            assert_eq!(batch.schema(), schema);
            let same = plain.slice(first, batch.num_rows());
            for (view, column) in batch.columns().iter().zip(same.columns()) {
                assert_eq!(&cast(view, &DataType::Utf8).unwrap(), column);
                let own: usize = column.as_string::<i32>().iter().flatten().map(str::len).sum();
                let kept: usize = view.as_string_view().data_buffers().iter().map(|buffer| buffer.len()).sum();
                assert!(kept <= own, "{kept} bytes are kept for {own} bytes of these rows");
                for buffer in view.as_string_view().data_buffers() {
                    assert!(!String::from_utf8_lossy(buffer).contains("without an age"));
                }
            }
            // A string that many rows have is stored once.
            let illness = batch.column(1).as_string_view();
            assert!(illness.data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>() < 5 * 50);
            first += batch.num_rows();
        }
        assert_eq!(first, rows - 1);
    }
}

#[test]
fn views_of_nothing_and_of_nulls() {
    let strings: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a string of more than twelve bytes"), None, Some("b")]));
    let none = views(&strings, &UInt32Array::from(Vec::<u32>::new())).unwrap();
    assert_eq!((none.len(), none.data_type()), (0, &DataType::Utf8View));
    let some = views(&strings, &UInt32Array::from(vec![Some(1), None, Some(2), Some(2)])).unwrap();
    assert_eq!(some.as_string_view().iter().collect::<Vec<_>>(), [None, None, Some("b"), Some("b")]);
    assert!(some.as_string_view().data_buffers().iter().all(|buffer| buffer.len() < 12));
}
