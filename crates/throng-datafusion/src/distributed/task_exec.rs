//! Executes a [`Task`] on each input partition, as an [`ExecutionPlan`].

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    EquivalenceProperties, LexRequirement, OrderingRequirements, PhysicalExpr, PhysicalSortRequirement,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::{RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    Partitioning, PlanProperties,
};
use futures::StreamExt;

use super::task::{InputDistribution, Task, TaskInput, TaskOutput};
use crate::AnonymizeError;
use crate::resources::Resources;
use crate::single_input_methods;

/// A [`Task`] in a plan. It declares no ordering, partitioning or statistics of its output, so that optimizer rules
/// assume nothing.
pub struct TaskExec {
    task: Task,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TaskExec {
    /// Creates a node that executes `task` on each partition of `input`.
    pub fn new(task: Task, input: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(task.schema()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { task, input, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Returns the task that each partition runs.
    pub fn task(&self) -> &Task {
        &self.task
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(self.task.clone(), input)
    }

    fn column(&self, name: &str) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Column::new_with_schema(name, &self.input.schema())?))
    }

    fn distribution(&self) -> Result<Distribution> {
        match (self.task.kind.distribution)(&self.task.params) {
            InputDistribution::Any => Ok(Distribution::UnspecifiedDistribution),
            InputDistribution::Single => Ok(Distribution::SinglePartition),
            InputDistribution::HashBy { columns, .. } => {
                let columns = columns.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
                Ok(Distribution::KeyPartitioned(columns))
            }
        }
    }

    fn ordering(&self) -> Option<OrderingRequirements> {
        let InputDistribution::HashBy { order, .. } = (self.task.kind.distribution)(&self.task.params) else {
            return None;
        };
        let columns = order.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>().ok()?;
        let ascending = Some(datafusion::arrow::compute::SortOptions { descending: false, nulls_first: true });
        let order = LexRequirement::new(columns.into_iter().map(|c| PhysicalSortRequirement::new(c, ascending)))?;
        Some(OrderingRequirements::new(order))
    }
}

impl fmt::Debug for TaskExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.task.kind.name)
    }
}

impl DisplayAs for TaskExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.task.kind.name)
    }
}

impl ExecutionPlan for TaskExec {
    fn name(&self) -> &str {
        self.task.kind.name
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    single_input_methods!(input);

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        // A missing column is reported when the task reads its rows.
        let distribution = self.distribution().unwrap_or(Distribution::SinglePartition);
        InputDistributionRequirements::new(vec![distribution])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.ordering()]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    /// Repartitioning is left to the distribution requirements of tasks.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        tracing::info!(task = self.task.kind.name, "a task begins");
        let mut output = RecordBatchReceiverStreamBuilder::new(self.schema(), 2);
        let (resources, stop) = Resources::new(&context, &self.metrics);
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let work = (self.task.kind.run)(
            Arc::clone(&self.task.params),
            TaskInput { rows, context, output: TaskOutput(output.tx()), resources },
        );
        output.spawn(async move {
            let _stop = stop;
            work.await.map_err(|error| match error {
                AnonymizeError::Read(error) => error,
                error => DataFusionError::from(error),
            })
        });
        let batches = output.build().map(move |batch| batch.record_output(&baseline));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
