//! Decodes tasks by name.

use std::sync::Arc;

use datafusion::common::Result;

use super::error::CodecError;
use crate::distributed::{
    ASSIGN_TASK, CLUSTER_TASK, MERGE_PLAN_TASK, PLAN_TASK, ROUTE_TASK, SURVEY_TASK, Task, TaskKind, TaskMessage,
    TaskParams, VERIFY_TASK,
};

/// Tasks of this crate.
pub(super) static TASKS: [&TaskKind; 7] =
    [&SURVEY_TASK, &PLAN_TASK, &CLUSTER_TASK, &MERGE_PLAN_TASK, &ROUTE_TASK, &ASSIGN_TASK, &VERIFY_TASK];

pub(super) fn task_message(task: &Task) -> TaskMessage {
    TaskMessage { name: task.kind.name.to_owned(), params: task.params.encode() }
}

/// Decodes a task of this crate, or one of `others`.
pub(super) fn read_task(message: &TaskMessage, others: &[&'static TaskKind]) -> Result<Task> {
    let kind = TASKS.iter().chain(others).find(|kind| kind.name == message.name);
    let kind = kind.ok_or(CodecError::Malformed("a task"))?;
    Ok(Task::new(kind, Arc::new(TaskParams::decode(&message.params)?)))
}
