//! Tests the operator with different partition counts, batch sizes, row orders and memory limits.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use throng_core::columns::BLOCK_COLUMN;
use throng_core::out_of_core::PartSizes;
use throng_core::verify::{Promise, SensitivePromise, Verifier};
use throng_policy::{Overrides, Policy, Secret};

use crate::{AnonymizeExec, AnonymizedTable, Anonymizer};

/// Returns distinct rows, many of which share their quasi-identifiers.
fn people(rows: i64) -> RecordBatch {
    let mut state: u64 = 7;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % end) as i64
    };
    let ages: Vec<i64> = (0..rows).map(|_| 20 + below(6) * below(9)).collect();
    let zips: Vec<String> = (0..rows).map(|_| format!("{:04}", below(40) * below(200))).collect();
    let illnesses: Vec<String> = (0..rows).map(|_| format!("illness {}", below(3) * below(4))).collect();
    let columns: [(&str, DataType, ArrayRef); 4] = [
        ("age", DataType::Int64, Arc::new(Int64Array::from(ages))),
        ("zip", DataType::Utf8, Arc::new(StringArray::from(zips))),
        ("illness", DataType::Utf8, Arc::new(StringArray::from(illnesses))),
        ("note", DataType::Int64, Arc::new(Int64Array::from_iter_values(0..rows))),
    ];
    let fields: Vec<Field> = columns.iter().map(|(name, kind, _)| Field::new(*name, kind.clone(), true)).collect();
    let columns = columns.into_iter().map(|(_, _, column)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn policy() -> Arc<Policy> {
    let text = "version = 1\nprivacy = { k = 5, p = 2 }\n[columns]\nage.role = 'quasi'\n\
                zip = { role = 'quasi', hierarchy = { mask = 'right' } }\nillness.role = 'sensitive'\n\
                note.role = 'insensitive'\n";
    Arc::new(
        Policy::parse(text, Path::new("."), &Overrides::for_a_table())
            .unwrap()
            .with_secret(Secret::new("the same secret in every test").unwrap()),
    )
}

fn context(partitions: usize, batch_rows: usize, runtime: RuntimeEnv) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(batch_rows);
    SessionContext::new_with_config_rt(config, Arc::new(runtime))
}

fn unlimited() -> RuntimeEnv {
    RuntimeEnvBuilder::new().build().unwrap()
}

fn limited(bytes: usize) -> RuntimeEnv {
    RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(bytes))).build().unwrap()
}

/// Creates the table with `partitions` partitions and `batch_rows` rows per batch.
fn table(rows: &RecordBatch, partitions: usize, batch_rows: usize) -> AnonymizedTable {
    let mut parts = vec![Vec::new(); partitions];
    for (number, first) in (0..rows.num_rows()).step_by(batch_rows).enumerate() {
        parts[number % partitions].push(rows.slice(first, batch_rows.min(rows.num_rows() - first)));
    }
    AnonymizedTable::new(Arc::new(MemTable::try_new(rows.schema(), parts).unwrap()), policy()).unwrap()
}

async fn release(table: &AnonymizedTable, context: &SessionContext) -> Result<RecordBatch, String> {
    let plan: Arc<dyn ExecutionPlan> = Arc::new(table.plan(&context.state()).await.unwrap());
    let schema = plan.schema();
    let batches = collect(plan, context.task_ctx()).await.map_err(|error| error.to_string())?;
    Ok(concat_batches(&schema, &batches).unwrap())
}

fn shuffled(rows: &RecordBatch) -> RecordBatch {
    let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
    order.sort_by_key(|row| u64::from(*row).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    take_record_batch(rows, &UInt32Array::from(order)).unwrap()
}

#[tokio::test]
async fn partitions_batches_and_order_do_not_change_the_release() {
    let rows = people(3000);
    let expected = release(&table(&rows, 1, 3000), &context(1, 8192, unlimited())).await.unwrap();
    assert_eq!(expected.num_rows(), 3000);
    for partitions in [1, 2, 8] {
        for batch_rows in [1, 100, 8192] {
            let context = context(partitions, batch_rows, unlimited());
            for rows in [rows.clone(), shuffled(&rows)] {
                let found = release(&table(&rows, partitions, batch_rows), &context).await.unwrap();
                assert_eq!(found, expected, "{partitions} partitions of batches of {batch_rows}");
            }
        }
    }
}

#[tokio::test]
async fn little_memory_gives_the_same_release_and_leaves_nothing_behind() {
    let rows = people(60_000);
    let expected = release(&table(&rows, 2, 1000), &context(2, 8192, unlimited())).await.unwrap();
    let mut spilled = 0;
    for mebibytes in [64, 16, 12, 8] {
        let context = context(2, 1000, limited(mebibytes << 20));
        let table = table(&rows, 2, 1000);
        let plan = Arc::new(table.plan(&context.state()).await.unwrap());
        let batches = collect(Arc::clone(&plan) as Arc<dyn ExecutionPlan>, context.task_ctx()).await.unwrap();
        assert_eq!(concat_batches(&plan.schema(), &batches).unwrap(), expected, "{mebibytes} MiB");
        spilled += plan.metrics().unwrap().spilled_rows().unwrap();
        // A second query sees the same release, spilled or not.
        assert_eq!(release(&table, &context).await.unwrap(), expected);
        let runtime = context.runtime_env();
        drop((plan, table));
        assert_eq!(runtime.memory_pool.reserved(), 0);
        assert_eq!(runtime.disk_manager.used_disk_space(), 0);
    }
    assert!(spilled >= 60_000, "nothing was spilled");
}

#[tokio::test]
async fn rows_that_are_alike_left_out_or_suppressed_are_spilled_as_they_are_held() {
    let rows = people(80_000);
    // Most rows have many equals, some have no age, and two bands are so narrow that their rows must be suppressed.
    let ages = rows.column(0).as_primitive::<Int64Type>().values();
    let ages: Int64Array = ages.iter().zip(0..).map(|(age, row)| (row % 50 != 0).then_some(*age)).collect();
    let notes = Int64Array::from_iter_values((0..80_000).map(|row| row % 3));
    let columns: Vec<ArrayRef> = vec![Arc::new(ages), rows.column(1).clone(), rows.column(2).clone(), Arc::new(notes)];
    let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
    let text = "version = 1\nprivacy = { k = 40, p = 2 }\n[columns]\n\
                age = { role = 'quasi', nulls = 'suppress', limit = [21, 22, 55, 56] }\n\
                zip = { role = 'quasi', hierarchy = { mask = 'right' }, limit = 2 }\nillness.role = 'sensitive'\n\
                note.role = 'insensitive'\n";
    let policy = Arc::new(
        Policy::parse(text, Path::new("."), &Overrides::for_a_table())
            .unwrap()
            .with_secret(Secret::new("the same secret in every test").unwrap()),
    );
    let table = || {
        let parts = (0..2).map(|part| (0..40).map(|batch| rows.slice((part * 40 + batch) * 1000, 1000)).collect());
        let input = MemTable::try_new(rows.schema(), parts.collect()).unwrap();
        AnonymizedTable::new(Arc::new(input), Arc::clone(&policy)).unwrap()
    };
    let held = table();
    let expected = release(&held, &context(2, 8192, unlimited())).await.unwrap();
    let facts = held.release().unwrap().facts().clone();
    assert!(facts.suppressed > 800 && expected.num_rows() as u64 + facts.suppressed == 80_000, "{facts:?}");
    for mebibytes in [7, 5] {
        let spilled = table();
        let context = context(2, 700, limited(mebibytes << 20));
        let plan: Arc<dyn ExecutionPlan> = Arc::new(spilled.plan(&context.state()).await.unwrap());
        let batches = collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
        assert!(plan.metrics().unwrap().spilled_rows().unwrap() > 80_000, "nothing was spilled");
        assert_eq!(concat_batches(&plan.schema(), &batches).unwrap(), expected, "{mebibytes} MiB");
    }
}

/// Computes a release with small part sizes, so that the table is cut into parts.
async fn release_in_parts(
    rows: &RecordBatch,
    partitions: usize,
    batch_rows: usize,
    runtime: RuntimeEnv,
) -> RecordBatch {
    let sizes = PartSizes { most_groups: 300, part_cells: 400, between_blocks: false };
    release_with(sizes, rows, partitions, batch_rows, runtime).await
}

async fn release_with(
    sizes: PartSizes,
    rows: &RecordBatch,
    partitions: usize,
    batch_rows: usize,
    runtime: RuntimeEnv,
) -> RecordBatch {
    let context = context(partitions, batch_rows, runtime);
    let table = table(rows, partitions, batch_rows);
    let input = table.plan(&context.state()).await.unwrap().input().clone();
    let anonymizer = Anonymizer::clone(table.anonymizer()).with_part_sizes(sizes);
    let plan: Arc<dyn ExecutionPlan> = Arc::new(AnonymizeExec::new(Arc::new(anonymizer), input));
    let schema = plan.schema();
    let batches = collect(plan, context.task_ctx()).await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

/// Too many groups for a table that is not cut may have few enough cells for one part.
#[tokio::test]
async fn many_groups_of_few_cells_are_one_part() {
    let rows = people(8_000);
    let whole = release(&table(&rows, 1, 8_000), &context(1, 8192, unlimited())).await.unwrap();
    let sizes = PartSizes { most_groups: 300, part_cells: 1 << 20, between_blocks: false };
    for (partitions, batch_rows, memory) in [(1, 8_000, 64), (4, 500, 64), (2, 500, 8)] {
        let found = release_with(sizes, &rows, partitions, batch_rows, limited(memory << 20)).await;
        assert_eq!(found, whole, "{partitions} partitions, {memory} MiB");
    }
}

/// Every block is a class, whether the table is cut between them or not.
#[tokio::test]
async fn a_table_that_is_cut_between_blocks_has_the_release_of_the_whole_table() {
    let rows = people(8_000);
    let mut fields: Vec<Field> = rows.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
    fields.push(Field::new(BLOCK_COLUMN, DataType::UInt64, false));
    let mut columns = rows.columns().to_vec();
    let ages = columns[0].as_primitive::<Int64Type>().values().iter();
    columns.push(Arc::new(ages.zip(0..).map(|(age, row)| *age as u64 * 4 + row % 4).collect::<UInt64Array>()));
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let table = MemTable::try_new(rows.schema(), vec![vec![rows]]).unwrap();
    let table = AnonymizedTable::new(Arc::new(table), Arc::new(policy().for_blocks())).unwrap();
    let context = context(1, 8192, unlimited());
    let input = table.plan(&context.state()).await.unwrap().input().clone();
    let mut releases = Vec::new();
    for sizes in [PartSizes::default(), PartSizes { most_groups: 300, part_cells: 400, between_blocks: true }] {
        let anonymizer = Anonymizer::clone(table.anonymizer()).with_part_sizes(sizes);
        let plan = AnonymizeExec::new(Arc::new(anonymizer), Arc::clone(&input));
        let facts = plan.release(context.task_ctx()).await.unwrap().facts().clone();
        let batches = collect(Arc::new(plan), context.task_ctx()).await.unwrap();
        releases.push((batches, facts.utility.classes, facts.utility.ncp, facts.suppressed, facts.leaves));
    }
    assert!(releases[0].1 > 20, "{} classes", releases[0].1);
    assert_eq!(releases[0], releases[1]);
}

#[tokio::test]
async fn a_release_in_parts_depends_on_the_data_alone_and_keeps_the_promise() {
    let rows = people(30_000);
    let expected = release_in_parts(&rows, 1, 30_000, unlimited()).await;
    let whole = release(&table(&rows, 1, 30_000), &context(1, 8192, unlimited())).await.unwrap();
    assert_ne!(expected, whole, "the table was not cut");
    for (partitions, batch_rows, memory) in [(2, 777, 64), (8, 8192, 64), (2, 500, 8)] {
        let found = release_in_parts(&shuffled(&rows), partitions, batch_rows, limited(memory << 20)).await;
        assert_eq!(found, expected, "{partitions} partitions of batches of {batch_rows}, {memory} MiB");
    }
    let quasi = vec!["age".to_owned(), "zip".to_owned()];
    let illness = SensitivePromise::plain("illness", 2);
    let promise = Promise { quasi, k: 5, sensitive: vec![illness], limits: Vec::new(), unit: None };
    let mut verifier = Verifier::new(promise, &expected.schema()).unwrap().expecting_classes_together();
    verifier.push(&expected).unwrap();
    assert!(!verifier.is_scattered());
    let findings = verifier.finish();
    assert!(findings.holds() && findings.rows == 30_000, "{findings:?}");
    // Every row is released exactly once.
    let mut notes: Vec<i64> = expected.column_by_name("note").unwrap().as_primitive::<Int64Type>().values().to_vec();
    notes.sort_unstable();
    assert_eq!(notes, (0..30_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn too_little_memory_is_an_error_that_names_the_pool() {
    let rows = people(100_000);
    for kibibytes in [1, 64, 512, 2048, 4096] {
        let context = context(2, 1000, limited(kibibytes << 10));
        let table = table(&rows, 2, 1000);
        if let Err(error) = release(&table, &context).await {
            assert!(error.contains("memory pool"), "{error}");
        }
        drop(table);
        assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
        assert_eq!(context.runtime_env().disk_manager.used_disk_space(), 0);
    }
}

#[tokio::test]
async fn a_query_that_is_cancelled_leaves_nothing_behind() {
    let rows = people(40_000);
    let context = context(2, 100, limited(12 << 20));
    for polls in [1, 10, 50, 200] {
        let table = table(&rows, 2, 100);
        let plan = table.plan(&context.state()).await.unwrap();
        let mut stream = plan.execute(0, context.task_ctx()).unwrap();
        for _ in 0..polls {
            let next = tokio::time::timeout(std::time::Duration::from_millis(1), stream.next()).await;
            if let Ok(Some(batch)) = next {
                batch.unwrap();
            }
        }
        drop((stream, plan, table));
        // Compute threads notice the cancellation with a delay, so poll until they have stopped.
        let runtime = context.runtime_env();
        let is_clean = || runtime.memory_pool.reserved() == 0 && runtime.disk_manager.used_disk_space() == 0;
        for _ in 0..600 {
            if is_clean() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert!(is_clean(), "after {polls} polls");
    }
}
