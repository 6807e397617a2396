//! A chain of tasks over a table, as a [`TableProvider`].

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, internal_datafusion_err};

use super::task::Task;
use super::task_exec::TaskExec;
use crate::opaque_table::opaque_table;
use crate::plan_input::plan_input;

/// The output of a chain of tasks. As opaque to the optimizer as [`crate::AnonymizedTable`], and for the same reason.
pub struct TaskTable {
    input: Arc<dyn TableProvider>,
    /// Input columns of the first task.
    columns: Vec<usize>,
    tasks: Vec<Task>,
    schema: SchemaRef,
}

impl TaskTable {
    /// Creates a chain of at least one task over these columns of `input`.
    pub fn new(input: Arc<dyn TableProvider>, columns: Vec<usize>, tasks: Vec<Task>) -> Result<Self> {
        let last = tasks.last().ok_or_else(|| internal_datafusion_err!("a table of no tasks"))?;
        let schema = last.schema();
        Ok(Self { input, columns, tasks, schema })
    }

    pub(crate) fn input(&self) -> &Arc<dyn TableProvider> {
        &self.input
    }

    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }
}

impl fmt::Debug for TaskTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tasks.iter().map(|task| task.kind.name)).finish()
    }
}

opaque_table!(TaskTable, |self| Arc::clone(&self.schema), |state| {
    let input = plan_input(state, &self.input, self.columns.clone()).await?;
    let over = |input, task: &Task| Arc::new(TaskExec::new(task.clone(), input)) as _;
    self.tasks.iter().fold(input, over)
});
