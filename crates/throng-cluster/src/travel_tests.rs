//! A query end to end without servers: from the client's session to the tasks of executors.

use std::fs::File;
use std::sync::Arc;

use ballista_scheduler::planner::{DefaultDistributedPlanner, DistributedPlanner};
use ballista_scheduler::state::task_builder::restrict_plan_to_partitions;
use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use datafusion::execution::SessionState;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionContext;
use datafusion_proto::logical_plan::AsLogicalPlan;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tempfile::TempDir;
use throng_datafusion::{AnonymizeExec, AnonymizedTable};
use throng_job::{SqlSession, Stores};

use crate::{SessionOptions, codec, session, settings, stores};

const FILES: i32 = 3;
const ROWS: i32 = 60;
const POLICY: &str =
    "version = 1\nprivacy = { k = 5, p = 2 }\ncolumns = { age.role = \"quasi\", illness.role = \"sensitive\" }";

/// Queries that Ballista splits into stages in different ways.
const QUERIES: [&str; 8] = [
    "SELECT * FROM released",
    "SELECT count(*) FROM released",
    "SELECT age, count(*) FROM released WHERE illness <> 'flu' GROUP BY age",
    "SELECT * FROM released ORDER BY age, illness LIMIT 3",
    "SELECT r.age FROM released r JOIN '{place}/' p ON r.illness = p.illness",
    "SELECT p.age FROM '{place}/' p LEFT JOIN released r ON r.illness = p.illness",
    "SELECT illness FROM released UNION ALL SELECT illness FROM '{place}/'",
    "SELECT age, row_number() OVER (PARTITION BY illness ORDER BY age) FROM released",
];

/// Writes sixty rows to several files.
fn people() -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in 0..FILES {
        let numbers = || (0..ROWS).filter(move |number| number % FILES == file);
        let ages: ArrayRef = Arc::new(Int32Array::from_iter_values(numbers().map(|number| 20 + number)));
        let illnesses = numbers().map(|number| ["flu", "gout", "asthma"][(number / 4) as usize % 3]);
        let illnesses: ArrayRef = Arc::new(StringArray::from_iter_values(illnesses));
        let batch = RecordBatch::try_from_iter([("age", ages), ("illness", illnesses)]).unwrap();
        let path = File::create(folder.path().join(format!("{file}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(path, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    folder
}

/// Returns the encoded plan of a query, as the client sends it.
async fn sent(place: &TempDir, query: &str) -> Vec<u8> {
    let context = session(&"df://nobody:1".parse().unwrap(), &SessionOptions::default()).await.unwrap();
    let location = place.path().display().to_string();
    // Registers files as tables.
    let _ = SqlSession::over(context.clone());
    for define in [
        format!("CREATE VIEW people AS SELECT * FROM '{location}/'"),
        format!("CREATE VIEW released AS SELECT * FROM anonymize('people', '{POLICY}')"),
    ] {
        context.sql(&define).await.unwrap();
    }
    let frame = context.sql(&query.replace("{place}", &location)).await.unwrap();
    let plan = frame.into_optimized_plan().unwrap();
    let message = LogicalPlanNode::try_from_logical_plan(&plan, codec::logical().as_ref()).unwrap();
    let mut bytes = Vec::new();
    message.try_encode(&mut bytes).unwrap();
    bytes
}

fn scheduler() -> SessionState {
    settings::state(settings::config(), stores::runtime(&Arc::new(Stores::default()), None).unwrap())
}

/// Returns the plans of the tasks that run the operator, restricted and encoded as by the scheduler.
fn tasks(planned: Arc<dyn ExecutionPlan>, state: &SessionState) -> Vec<Arc<dyn ExecutionPlan>> {
    let stages = DefaultDistributedPlanner::new().plan_query_stages(&"job".into(), planned, state.config().options());
    let mut tasks = Vec::new();
    for stage in stages.unwrap() {
        let plan = Arc::clone(stage.children()[0]);
        if operator(&plan).is_none() {
            continue;
        }
        let slice: Vec<usize> = (0..plan.properties().output_partitioning().partition_count()).collect();
        let restricted = restrict_plan_to_partitions(plan, &slice).unwrap();
        let node = operator(&restricted).unwrap();
        let message = PhysicalPlanNode::try_from_physical_plan(node, codec::physical().as_ref()).unwrap();
        let executor = SessionContext::new_with_state(state.clone());
        tasks.push(message.try_into_physical_plan(&executor.task_ctx(), codec::physical().as_ref()).unwrap());
    }
    tasks
}

/// Returns the operator of a plan.
fn operator(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    if plan.is::<AnonymizeExec>() {
        return Some(Arc::clone(plan));
    }
    plan.children().into_iter().find_map(operator)
}

async fn rows(task: Arc<dyn ExecutionPlan>, state: &SessionState) -> usize {
    let batches = collect(task, Arc::new(datafusion::execution::TaskContext::from(state))).await.unwrap();
    batches.iter().map(RecordBatch::num_rows).sum()
}

#[tokio::test]
async fn every_task_that_anonymizes_reads_the_whole_table() {
    let place = people();
    for query in QUERIES {
        let bytes = sent(&place, query).await;
        let state = scheduler();
        let context = SessionContext::new_with_state(state.clone());
        let plan = LogicalPlanNode::try_decode(&bytes).unwrap();
        let plan = plan.try_into_logical_plan(&context.task_ctx(), codec::logical().as_ref()).unwrap();
        let planned = state.create_physical_plan(&plan).await.unwrap();
        let tasks = tasks(planned, &state);
        assert_eq!(tasks.len(), 1, "{query}");
        for task in tasks {
            assert!(task.is::<AnonymizeExec>());
            assert_eq!(rows(task, &state).await, ROWS as usize, "{query}");
        }
    }
}

/// Shows why the rule is needed: without it Ballista gives the task the first file only, without an error.
#[tokio::test]
async fn without_the_rule_rows_would_be_lost() {
    let place = people();
    let bytes = sent(&place, "SELECT * FROM released").await;
    let state = scheduler();
    let context = SessionContext::new_with_state(state.clone());
    let plan = LogicalPlanNode::try_decode(&bytes).unwrap();
    let plan = plan.try_into_logical_plan(&context.task_ctx(), codec::logical().as_ref()).unwrap();
    let plain = SessionContext::new_with_config_rt(settings::config(), context.runtime_env()).state();
    let planned = DefaultPhysicalPlanner::default().create_physical_plan(&plan, &plain).await.unwrap();
    let [task] = &tasks(planned, &plain)[..] else { panic!("one task") };
    assert!(rows(Arc::clone(task), &plain).await < ROWS as usize);
}

#[tokio::test]
async fn a_table_arrives_with_its_policy_and_its_files() {
    let place = people();
    let bytes = sent(&place, "SELECT illness, age FROM released WHERE random() < 0.5").await;
    let context = SessionContext::new_with_state(scheduler());
    let plan = LogicalPlanNode::try_decode(&bytes).unwrap();
    let plan = plan.try_into_logical_plan(&context.task_ctx(), codec::logical().as_ref()).unwrap();
    let mut tables = 0;
    plan.apply_with_subqueries(|node| {
        if let datafusion::logical_expr::LogicalPlan::TableScan(scan) = node {
            let table = datafusion::datasource::source_as_provider(&scan.source).unwrap();
            let table = table.downcast_ref::<AnonymizedTable>().unwrap();
            assert_eq!(table.anonymizer().policy().privacy.k, 5);
            assert!(scan.filters.is_empty() && scan.fetch.is_none());
            tables += 1;
        }
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    })
    .unwrap();
    assert_eq!(tables, 1);
}
