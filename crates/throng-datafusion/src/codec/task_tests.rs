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
    Answer, Deals, Forms, Joins, Outliner, Routes, Spread, StorePlace, Surveys, Task, TaskMessage, TaskTable,
};

/// Sends a plan of tasks through both codecs, as a scheduler and an executor receive it.
async fn sent(people: &SessionContext, tasks: Vec<Arc<dyn Task>>, to: &SessionContext) -> Arc<dyn ExecutionPlan> {
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
    let (place, spread) = (StorePlace::new(format!("file://{}/", people.0.path().display())), Spread::over(2));
    let own = || (Arc::clone(&anonymizer), place.clone());
    let survey = |(anonymizer, place): (Arc<Anonymizer>, StorePlace)| -> Vec<Arc<dyn Task>> {
        vec![
            Arc::new(Surveys::new(Arc::clone(&anonymizer))),
            Arc::new(Outliner::new(anonymizer, place, spread.clone())),
        ]
    };
    let plan = sent(&here, survey(own()), &there).await;
    let answer = Answer::of(&collect(plan, there.task_ctx()).await.unwrap(), &anonymizer).unwrap();
    let Answer::Outlined(outlined) = answer else { panic!("{answer:?}") };
    assert_eq!((outlined.facts.rows_read, outlined.facts.suppressed), (60, 0));

    let rows = || -> Vec<Arc<dyn Task>> {
        let (name, (one, two)) = (outlined.name.clone(), (own(), own()));
        vec![
            Arc::new(Routes::new(one.0, one.1, name.clone(), spread.clone())),
            Arc::new(Deals::new(two.0, two.1, name, spread.clone(), 7)),
        ]
    };
    let table = TaskTable::new(input, (0..5).collect(), rows()).unwrap();
    let dealt_here = here.read_table(Arc::new(table)).unwrap().collect().await.unwrap();
    let dealt_there = collect(sent(&here, rows(), &there).await, there.task_ctx()).await.unwrap();
    let lines = |batches: &[_]| {
        let text = pretty_format_batches(batches).unwrap().to_string();
        // The number of received bytes depends on batching.
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.contains("4294967294")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(dealt_here.iter().map(|batch| batch.num_rows()).sum::<usize>() > 60);
    assert_eq!(lines(&dealt_there), lines(&dealt_here));
}

#[tokio::test]
async fn every_task_is_read_as_it_was_written_and_no_other_is() {
    let people = People::new().await;
    let input = people.session().await.table_provider("people").await.unwrap();
    let anonymizer = Arc::new(Anonymizer::new(people.policy(), input.schema()).unwrap());
    let (place, name) = (StorePlace::new("s3://bucket/folder/"), "outline-1".to_owned());
    let own = || (Arc::clone(&anonymizer), place.clone(), name.clone());
    let tasks: [Arc<dyn Task>; 6] = [
        Arc::new(Surveys::new(own().0)),
        Arc::new(Outliner::new(own().0, own().1, Spread::over(3))),
        Arc::new(Forms::new(own().0, own().1, own().2)),
        Arc::new(Joins::new(own().0, own().1, own().2)),
        Arc::new(Routes::new(own().0, own().1, own().2, Spread::over(3))),
        Arc::new(Deals::new(own().0, own().1, own().2, Spread::over(3), 9)),
    ];
    for task in tasks {
        let message = task::task_message(task.as_ref());
        let read = task::read_task(&message, task::no_other_task).unwrap();
        assert_eq!((read.name(), read.body(), read.schema()), (task.name(), task.body(), task.schema()));
        let damaged = TaskMessage { body: message.body[..message.body.len() / 2].to_vec(), ..message };
        assert!(task::read_task(&damaged, task::no_other_task).is_err(), "{}", task.name());
    }
    let unknown = TaskMessage { name: "Nobody".to_owned(), body: Vec::new() };
    assert!(task::read_task(&unknown, task::no_other_task).is_err());
}
