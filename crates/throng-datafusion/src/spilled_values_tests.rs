//! Tests that tables with unique quasi-identifiers give the same release, whether or not their values fit in memory.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use throng_core::out_of_core::PartSizes;
use throng_policy::{Overrides, Policy, Secret};

use crate::release::Facts;
use crate::{AnonymizeExec, AnonymizedTable, Anonymizer};

const ROWS: u64 = 90_000;

fn mixed(row: u64, salt: u64) -> u64 {
    (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(salt as u32 * 7 + 11).wrapping_mul(0xd134_2543_de82_ef95)
}

/// Rows with different incomes (some without), different times of day, days that repeat and few ages.
fn people() -> RecordBatch {
    let rows = || 0..ROWS;
    let income = rows().map(|row| (row % 97 != 0).then_some(mixed(row, 1) as f64 / 1e9 - 5e9));
    let time = rows().map(|row| (mixed(row, 2) >> 8) as i64);
    let day = rows().map(|row| (mixed(row, 3) >> 40) as i32 % 30_000);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("income", Arc::new(Float64Array::from_iter(income))),
        ("time", Arc::new(TimestampMicrosecondArray::from_iter_values(time))),
        ("day", Arc::new(Date32Array::from_iter_values(day))),
        ("age", Arc::new(Int64Array::from_iter_values(rows().map(|row| (mixed(row, 4) >> 50) as i64 % 60)))),
        (
            "illness",
            Arc::new(StringArray::from_iter_values(rows().map(|row| format!("illness {}", mixed(row, 5) % 7)))),
        ),
        ("note", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

fn policy(quasi: &str) -> Arc<Policy> {
    let text = format!(
        "version = 1\nprivacy = {{ k = 6, p = 2 }}\n[algorithm]\nbudget = 'fast'\n[columns]\ndefault = 'drop'\n\
         {quasi}\nillness.role = 'sensitive'\nnote.role = 'insensitive'\n"
    );
    let policy = Policy::parse(&text, Path::new("."), &Overrides::for_a_table()).unwrap();
    Arc::new(policy.with_secret(Secret::new("the same secret in every test").unwrap()))
}

/// Releases rows, and returns the release and its metrics.
async fn release(
    rows: &RecordBatch,
    policy: &Arc<Policy>,
    runtime: RuntimeEnv,
    sizes: Option<PartSizes>,
) -> (RecordBatch, Facts) {
    let context = SessionContext::new_with_config_rt(
        SessionConfig::new().with_target_partitions(2).with_batch_size(4096),
        Arc::new(runtime),
    );
    let half = rows.num_rows() / 2;
    let stream = |first: usize, end: usize| {
        (first..end).step_by(3000).map(|first| rows.slice(first, 3000.min(end - first))).collect::<Vec<_>>()
    };
    let input = MemTable::try_new(rows.schema(), vec![stream(0, half), stream(half, rows.num_rows())]).unwrap();
    let table = AnonymizedTable::new(Arc::new(input), Arc::clone(policy)).unwrap();
    let input = table.plan(&context.state()).await.unwrap().input().clone();
    let mut anonymizer = Anonymizer::clone(table.anonymizer());
    if let Some(sizes) = sizes {
        anonymizer = anonymizer.with_part_sizes(sizes);
    }
    let plan = Arc::new(AnonymizeExec::new(Arc::new(anonymizer), input));
    let batches = collect(Arc::clone(&plan) as Arc<dyn ExecutionPlan>, context.task_ctx()).await.unwrap();
    let facts = plan.release(context.task_ctx()).await.unwrap().facts().clone();
    let found = concat_batches(&plan.schema(), &batches).unwrap();
    drop((plan, table));
    assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
    assert_eq!(context.runtime_env().disk_manager.used_disk_space(), 0);
    (found, facts)
}

fn unlimited() -> RuntimeEnv {
    RuntimeEnvBuilder::new().build().unwrap()
}

fn limited(mebibytes: usize) -> RuntimeEnv {
    RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(mebibytes << 20))).build().unwrap()
}

async fn assert_alike(quasi: &str, mebibytes: usize, sizes: Option<PartSizes>) {
    let (rows, policy) = (people(), policy(quasi));
    let (expected, facts) = release(&rows, &policy, unlimited(), sizes).await;
    let (found, found_facts) = release(&rows, &policy, limited(mebibytes), sizes).await;
    assert_eq!(expected.num_rows() as u64, ROWS);
    assert!(found == expected, "the releases differ");
    assert_eq!(found_facts.utility, facts.utility);
    assert_eq!(found_facts.checksum, facts.checksum);
    assert_eq!(found_facts.leaves, facts.leaves);
}

const PARTS: PartSizes = PartSizes { most_groups: 9000, part_cells: 8000, between_blocks: false };

#[tokio::test]
async fn a_table_of_several_parts_has_the_same_release_when_values_are_spilled() {
    assert_alike("income.role = 'quasi'\ntime.role = 'quasi'\nage.role = 'quasi'", 18, Some(PARTS)).await;
}

#[tokio::test]
async fn bounds_and_values_that_repeat_have_the_same_release_when_values_are_spilled() {
    let quasi = "income = { role = 'quasi', release = 'bounds' }\nday.role = 'quasi'";
    assert_alike(quasi, 14, Some(PARTS)).await;
}

#[tokio::test]
async fn a_table_that_is_not_cut_has_the_same_release_when_values_are_spilled() {
    assert_alike("income.role = 'quasi'\nday.role = 'quasi'", 24, None).await;
}
