use std::path::Path;

use datafusion::arrow::array::{Int32Array, LargeStringArray, StringArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::concat_batches;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::datasource::MemTable;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;
use throng_core::progress::{NoProgress, Progress};
use throng_policy::{Overrides, Policy, Secret};

use super::*;
use crate::resources::Resources;
use crate::snapshot::Snapshot;
use crate::{AnonymizedTable, Release};

/// Enough for more distinct notes than a dictionary of all batches has.
const ROWS: usize = 80_000;
/// Fewer rows than a session has in a batch, which is not divided then.
const BATCH: usize = 8000;
const HIDDEN: &str = "a note that no row shows, since the row is null";

/// A note that no other row has; every eleventh is null.
fn note(row: usize) -> Option<String> {
    (!row.is_multiple_of(11)).then(|| format!("a note that nobody else has, number {row}"))
}

/// Notes as views. Those of null rows are views of a string.
fn views() -> ArrayRef {
    let notes: StringViewArray = (0..ROWS).map(|row| Some(note(row).unwrap_or_else(|| HIDDEN.to_owned()))).collect();
    let nulls = NullBuffer::from_iter((0..ROWS).map(|row| row % 11 > 0));
    Arc::new(StringViewArray::try_new(notes.views().clone(), notes.data_buffers().to_vec(), Some(nulls)).unwrap())
}

/// Ages, illnesses, a number of each row, and notes in this type.
fn people(notes: ArrayRef) -> RecordBatch {
    let ages = Int32Array::from_iter_values((0..ROWS).map(|row| (row % 20) as i32));
    let illnesses = (0..ROWS).map(|row| format!("an illness with a long name, number {}", row % 5));
    let columns: [(&str, ArrayRef); 4] = [
        ("age", Arc::new(ages)),
        ("illness", Arc::new(StringArray::from_iter_values(illnesses))),
        ("number", Arc::new(Int32Array::from_iter_values(0..ROWS as i32))),
        ("note", notes),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn forms() -> [ArrayRef; 3] {
    [
        Arc::new((0..ROWS).map(note).collect::<StringArray>()),
        Arc::new((0..ROWS).map(note).collect::<LargeStringArray>()),
        views(),
    ]
}

fn in_memory(rows: &RecordBatch) -> Arc<dyn TableProvider> {
    let batches = (0..ROWS).step_by(BATCH).map(|first| rows.slice(first, BATCH)).collect();
    Arc::new(MemTable::try_new(rows.schema(), vec![batches]).unwrap())
}

#[derive(Debug)]
struct Batches(RecordBatch);

impl PartitionStream for Batches {
    fn schema(&self) -> &SchemaRef {
        self.0.schema_ref()
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = futures::stream::once(std::future::ready(Ok(self.0.clone())));
        Box::pin(RecordBatchStreamAdapter::new(self.0.schema(), rows))
    }
}

fn streamed(rows: &RecordBatch) -> Arc<dyn TableProvider> {
    Arc::new(StreamingTable::try_new(rows.schema(), vec![Arc::new(Batches(rows.clone()))]).unwrap())
}

fn anonymized(table: Arc<dyn TableProvider>) -> AnonymizedTable {
    let text = "version = 1\nprivacy = { k = 4, p = 2 }\ncolumns.age.role = 'quasi'\ncolumns.illness.role = 'sensitive'\n\
        columns.number.role = 'insensitive'\ncolumns.note.role = 'insensitive'\n";
    let policy = Policy::parse(text, Path::new("."), &Overrides::for_a_table()).unwrap();
    let policy = policy.with_secret(Secret::new("the same secret in every test").unwrap());
    AnonymizedTable::new(table, Arc::new(policy)).unwrap()
}

fn session(runtime: RuntimeEnv) -> SessionContext {
    SessionContext::new_with_config_rt(SessionConfig::new().with_target_partitions(2), Arc::new(runtime))
}

fn limited(bytes: usize) -> RuntimeEnv {
    RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(bytes))).build().unwrap()
}

async fn snapshot(table: Arc<dyn TableProvider>, context: &SessionContext) -> Snapshot {
    let table = anonymized(table);
    let plan = table.plan(&context.state()).await.unwrap();
    let (workspace, _stop) = Resources::new(&context.task_ctx(), &ExecutionPlanMetricsSet::new());
    let (progress, binding): (Arc<dyn Progress>, _) = (Arc::new(NoProgress), table.anonymizer().binding());
    Snapshot::read(plan.input(), &context.task_ctx(), binding, 7, None, &workspace, &progress).await.unwrap()
}

async fn release(table: Arc<dyn TableProvider>, context: &SessionContext) -> Arc<Release> {
    let plan = anonymized(table).plan(&context.state()).await.unwrap();
    plan.release(context.task_ctx()).await.unwrap()
}

async fn rows(release: &Arc<Release>) -> RecordBatch {
    let batches: Vec<RecordBatch> = release.stream(999, 2).try_collect().await.unwrap();
    concat_batches(&release.schema(), &batches).unwrap()
}

#[tokio::test]
async fn a_table_in_memory_is_buffered_without_a_copy_of_its_text_and_numbers() {
    for notes in forms() {
        let people = people(notes);
        let snapshot = snapshot(in_memory(&people), &session(RuntimeEnv::default())).await;
        let buffers = |column: &ArrayRef| -> Vec<usize> {
            column.to_data().buffers().iter().map(|buffer| buffer.data_ptr().as_ptr() as usize).collect()
        };
        let own = [buffers(people.column(2)), buffers(people.column(3))].concat();
        let mut batches = 0;
        for stream in &snapshot.streams {
            let mut reader = stream.rows.read().unwrap();
            while let Some(batch) = reader.next().unwrap() {
                batches += 1;
                // Group, hash, and the columns that pass through.
                assert_eq!(
                    batch.column(2).as_dictionary::<datafusion::arrow::datatypes::UInt32Type>().values().len(),
                    5
                );
                assert!(buffers(batch.column(3)).iter().all(|buffer| own.contains(buffer)), "numbers are copied");
                let notes = batch.column(4).as_string_view();
                let text = notes.data_buffers().iter().map(|buffer| buffer.data_ptr().as_ptr() as usize);
                assert!(text.into_iter().all(|buffer| own.contains(&buffer)), "text is copied");
                // The strings of a slice, and not those of the whole table.
                let bytes = borrowed_bytes(&batch).unwrap();
                assert!(bytes < 150 * BATCH, "{bytes}");
            }
        }
        assert_eq!(batches, ROWS / BATCH);
        assert!(snapshot.row_bytes() > 60 && snapshot.row_bytes() < 150, "{}", snapshot.row_bytes());
    }
}

#[tokio::test]
async fn a_release_of_borrowed_text_is_that_of_copied_text() {
    let expected = rows(&release(streamed(&people(views())), &session(RuntimeEnv::default())).await).await;
    assert_eq!(expected.num_rows(), ROWS);
    let spilled = snapshot(in_memory(&people(views())), &session(limited(16 << 20))).await;
    assert!(spilled.is_spilled());
    for notes in forms() {
        let people = people(notes);
        for runtime in [RuntimeEnv::default(), limited(16 << 20), limited(64 << 20)] {
            let release = release(in_memory(&people), &session(runtime)).await;
            assert_eq!(rows(&release).await, expected);
        }
    }
}

#[tokio::test]
async fn no_buffer_of_the_host_is_in_a_release() {
    for notes in forms() {
        let people = people(notes);
        let own: Vec<usize> = people
            .columns()
            .iter()
            .flat_map(|column| column.to_data().buffers().to_vec())
            .map(|buffer| buffer.data_ptr().as_ptr() as usize)
            .collect();
        let release = release(in_memory(&people), &session(RuntimeEnv::default())).await;
        let batches = [
            release.stream(999, 2).try_collect::<Vec<_>>().await.unwrap(),
            release.stream_of_views(999, 2).try_collect().await.unwrap(),
            release.compact_stream_with_units(999, 2).try_collect().await.unwrap(),
        ];
        for column in batches.concat().iter().flat_map(|batch: &RecordBatch| batch.columns()) {
            for buffer in column.to_data().buffers() {
                assert!(!own.contains(&(buffer.data_ptr().as_ptr() as usize)));
                assert!(!String::from_utf8_lossy(buffer).contains("no row shows"));
            }
        }
    }
}

#[tokio::test]
async fn only_plans_that_pass_on_batches_of_memory_are_borrowed() {
    let context = session(RuntimeEnv::default());
    let people = people(views());
    for (table, is_borrowed) in [(in_memory(&people), true), (streamed(&people), false)] {
        let plan = anonymized(table).plan(&context.state()).await.unwrap();
        assert_eq!(is_in_memory(plan.input()), is_borrowed);
    }
    let frame = context.read_batch(people.clone()).unwrap();
    assert!(is_in_memory(&frame.clone().create_physical_plan().await.unwrap()));
    let upper = frame.filter(datafusion::prelude::col("age").gt(datafusion::prelude::lit(3))).unwrap();
    assert!(!is_in_memory(&upper.create_physical_plan().await.unwrap()));
}

#[test]
fn views_of_null_rows_are_empty_and_nested_text_is_not_borrowed() {
    let borrowed = borrowed_text(&views()).unwrap();
    assert_eq!(&borrowed, &views());
    assert_eq!(borrowed.as_string_view().views()[0], 0);
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert!(borrowed_text(&numbers).is_none());
}
