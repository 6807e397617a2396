//! A chain of tasks over a table, as a [`TableProvider`].

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::task::Task;
use super::task_exec::TaskExec;
use crate::project_stream::project_stream;
use crate::strip_statistics::strip_statistics;

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

#[async_trait]
impl TableProvider for TaskTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = Some(self.columns.clone());
        let input = LogicalPlanBuilder::scan("input", provider_as_source(Arc::clone(&self.input)), columns)?;
        let input = strip_statistics(state.create_physical_plan(&input.build()?).await?)?;
        let over = |input, task: &Task| Arc::new(TaskExec::new(task.clone(), input)) as _;
        project_stream(self.tasks.iter().fold(input, over), projection)
    }
}
