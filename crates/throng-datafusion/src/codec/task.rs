//! Decodes tasks by name.

use std::sync::Arc;

use datafusion::common::Result;

use super::error::CodecError;
use crate::distributed::{Deals, Forms, Joins, Outliner, Routes, Surveys, Task, TaskMessage};

/// Decodes a task from its name and body. Returns `None` for an unknown name.
pub type TaskReader = fn(&str, &[u8]) -> Option<Result<Arc<dyn Task>>>;

/// Reader of a session without tasks of other crates.
pub(super) fn no_other_task(_: &str, _: &[u8]) -> Option<Result<Arc<dyn Task>>> {
    None
}

pub(super) fn task_message(task: &dyn Task) -> TaskMessage {
    TaskMessage { name: task.name().to_owned(), body: task.body() }
}

pub(super) fn read_task(message: &TaskMessage, others: TaskReader) -> Result<Arc<dyn Task>> {
    let body = message.body.as_slice();
    match message.name.as_str() {
        Surveys::NAME => Ok(Arc::new(Surveys::read(body)?)),
        Outliner::NAME => Ok(Arc::new(Outliner::read(body)?)),
        Forms::NAME => Ok(Arc::new(Forms::read(body)?)),
        Joins::NAME => Ok(Arc::new(Joins::read(body)?)),
        Routes::NAME => Ok(Arc::new(Routes::read(body)?)),
        Deals::NAME => Ok(Arc::new(Deals::read(body)?)),
        name => others(name, body).unwrap_or_else(|| Err(CodecError::Malformed("a task").into())),
    }
}
