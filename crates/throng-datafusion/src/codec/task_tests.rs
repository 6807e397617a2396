use std::sync::Arc;

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::TableProvider;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};

use super::test_people::{People, elsewhere};
use super::*;
use crate::Anonymizer;
use crate::distributed::{
    ASSIGN_TASK, PLAN_TASK, PlanAnswer, ROUTE_TASK, SURVEY_TASK, StoreFolder, Task, TaskMessage, TaskParams, TaskTable,
};

/// Sends a plan of tasks through both codecs, as a scheduler and an executor receive it.
async fn sent(people: &SessionContext, tasks: Vec<Task>, to: &SessionContext) -> Arc<dyn ExecutionPlan> {
    let input = people.table_provider("people").await.unwrap();
    let columns = (0..input.schema().fields().len()).collect();
    let table = TaskTable::new(input, columns, tasks).unwrap();
    let plan = people.read_table(Arc::new(table)).unwrap().into_optimized_plan().unwrap();
    let codec = ThrongLogicalCodec::default();
    let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &codec).unwrap();
    let plan = logical_plan_from_bytes_with_extension_codec(&bytes, &to.task_ctx(), &codec).unwrap();
    let plan = to.execute_logical_plan(plan).await.unwrap().create_physical_plan().await.unwrap();
    let codec = ThrongPhysicalCodec::default();
    let bytes = physical_plan_to_bytes_with_extension_codec(plan, &codec).unwrap();
    physical_plan_from_bytes_with_extension_codec(&bytes, &to.task_ctx(), &codec).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_do_elsewhere_what_they_do_here() {
    let people = People::new().await;
    let (here, there) = (people.session().await, elsewhere());
    let input: Arc<dyn TableProvider> = here.table_provider("people").await.unwrap();
    let anonymizer = Arc::new(Anonymizer::new(people.policy(), input.schema()).unwrap());
    let folder = StoreFolder::new(format!("file://{}/", people.0.path().display()));
    let params = Arc::new(TaskParams::new(anonymizer, folder, 2, 7));
    let survey: Vec<Task> =
        vec![Task::new(&SURVEY_TASK, Arc::clone(&params)), Task::new(&PLAN_TASK, Arc::clone(&params))];
    let plan = sent(&here, survey, &there).await;
    let answer = PlanAnswer::of(&collect(plan, there.task_ctx()).await.unwrap()).unwrap();
    let PlanAnswer::Planned(planned) = answer else { panic!("{answer:?}") };
    assert_eq!((planned.rows_read, planned.suppressed), (60, 0));

    let params = Arc::new(params.with_plan(&planned.name));
    let rows = || -> Vec<Task> {
        vec![Task::new(&ROUTE_TASK, Arc::clone(&params)), Task::new(&ASSIGN_TASK, Arc::clone(&params))]
    };
    let table = TaskTable::new(input, (0..5).collect(), rows()).unwrap();
    let assigned_here = here.read_table(Arc::new(table)).unwrap().collect().await.unwrap();
    let assigned_there = collect(sent(&here, rows(), &there).await, there.task_ctx()).await.unwrap();
    let lines = |batches: &[_]| {
        let text = pretty_format_batches(batches).unwrap().to_string();
        // The number of received bytes depends on batching.
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.contains("4294967294")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(assigned_here.iter().map(|batch| batch.num_rows()).sum::<usize>() > 60);
    assert_eq!(lines(&assigned_there), lines(&assigned_here));
}

#[tokio::test]
async fn every_task_is_read_as_it_was_written_and_no_other_is() {
    let people = People::new().await;
    let input = people.session().await.table_provider("people").await.unwrap();
    let anonymizer = Arc::new(Anonymizer::new(people.policy(), input.schema()).unwrap());
    let params = TaskParams::new(anonymizer, StoreFolder::new("s3://bucket/folder/"), 3, 9).with_plan("plan-1");
    let params = Arc::new(params);
    for kind in task::TASKS {
        let sent = Task::new(kind, Arc::clone(&params));
        let message = task::task_message(&sent);
        let read = task::read_task(&message, &[]).unwrap();
        assert_eq!((read.kind.name, read.schema()), (kind.name, sent.schema()));
        assert_eq!(read.params.encode(), params.encode());
        assert_eq!((kind.distribution)(&read.params), (kind.distribution)(&params));
        let damaged = TaskMessage { params: message.params[..message.params.len() / 2].to_vec(), ..message };
        assert!(task::read_task(&damaged, &[]).is_err(), "{}", kind.name);
    }
    let unknown = TaskMessage { name: "Nobody".to_owned(), params: params.encode() };
    assert!(task::read_task(&unknown, &[]).is_err());
}
