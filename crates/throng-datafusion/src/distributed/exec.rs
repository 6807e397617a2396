//! Executes a [`Task`] on each input partition, as an [`ExecutionPlan`].

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
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
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;
use tokio::sync::mpsc::Sender;

use crate::AnonymizeError;

/// Required distribution of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// No requirement.
    Anyhow,
    /// All rows in a single partition.
    InOnePartition,
    /// Partitioned by the values of `columns`, and sorted by `order` within each partition.
    Together {
        /// Names of the partitioning columns.
        columns: Vec<String>,
        /// Names of the sort columns; empty for any order.
        order: Vec<String>,
    },
}

/// A computation on one partition of a plan. It is independent of all other partitions, and does not know its partition
/// number.
pub trait Task: fmt::Debug + Send + Sync + 'static {
    /// Name of the task in plans, by which codecs decode it.
    fn name(&self) -> &'static str;

    /// Schema of the output.
    fn schema(&self) -> SchemaRef;

    /// Required distribution of the input.
    fn arrival(&self) -> Arrival;

    /// Executes the task on one input partition.
    fn run(
        &self,
        rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream>;

    /// Encodes the parameters of the task.
    fn body(&self) -> Vec<u8>;
}

/// A [`Task`] in a plan. It declares no ordering, partitioning or statistics of its output, so that optimizer rules
/// assume nothing.
pub struct TaskExec {
    task: Arc<dyn Task>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TaskExec {
    /// Creates a node that executes `task` on each partition of `input`.
    pub fn new(task: Arc<dyn Task>, input: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(task.schema()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { task, input, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Returns the task.
    pub fn task(&self) -> &Arc<dyn Task> {
        &self.task
    }

    fn column(&self, name: &str) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Column::new_with_schema(name, &self.input.schema())?))
    }

    fn distribution(&self) -> Result<Distribution> {
        match self.task.arrival() {
            Arrival::Anyhow => Ok(Distribution::UnspecifiedDistribution),
            Arrival::InOnePartition => Ok(Distribution::SinglePartition),
            Arrival::Together { columns, .. } => {
                let columns = columns.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
                Ok(Distribution::KeyPartitioned(columns))
            }
        }
    }

    fn ordering(&self) -> Option<OrderingRequirements> {
        let Arrival::Together { order, .. } = self.task.arrival() else { return None };
        let columns = order.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>().ok()?;
        let ascending = Some(datafusion::arrow::compute::SortOptions { descending: false, nulls_first: true });
        let order = LexRequirement::new(columns.into_iter().map(|c| PhysicalSortRequirement::new(c, ascending)))?;
        Some(OrderingRequirements::new(order))
    }
}

impl fmt::Debug for TaskExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.task.name())
    }
}

impl DisplayAs for TaskExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.task.name())
    }
}

impl ExecutionPlan for TaskExec {
    fn name(&self) -> &str {
        self.task.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

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

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("{} has one input", self.task.name());
        };
        Ok(Arc::new(Self::new(Arc::clone(&self.task), input)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        tracing::info!(task = self.task.name(), "a task begins");
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let batches = self.task.run(rows, context, &self.metrics)?;
        let batches = batches.map(move |batch| batch.record_output(&baseline));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Spawns `work` and returns a stream of the batches that it sends. Dropping the stream aborts the work.
///
/// A read error is returned unchanged, and not redacted: the engine decides by its type whether a shuffle was lost and
/// must be recomputed. It may quote values, so the caller that runs tasks must redact it before it is shown.
pub fn emitted<F>(schema: SchemaRef, work: impl FnOnce(Sender<Result<RecordBatch>>) -> F) -> SendableRecordBatchStream
where
    F: Future<Output = Result<(), AnonymizeError>> + Send + 'static,
{
    let mut builder = RecordBatchReceiverStreamBuilder::new(schema, 2);
    let work = work(builder.tx());
    builder.spawn(async move {
        work.await.map_err(|error| match error {
            AnonymizeError::Read(error) => error,
            error => DataFusionError::from(error),
        })
    });
    builder.build()
}

/// Sends a batch from a blocking thread.
pub(super) fn hand_over(to: &Sender<Result<RecordBatch>>, batch: RecordBatch) -> Result<(), AnonymizeError> {
    to.blocking_send(Ok(batch)).map_err(|_| AnonymizeError::Cancelled)
}

/// Runs `work` on a blocking thread.
pub(super) async fn blocking(
    work: impl FnOnce() -> Result<(), AnonymizeError> + Send + 'static,
) -> Result<(), AnonymizeError> {
    datafusion::common::runtime::SpawnedTask::spawn_blocking(work).await.map_err(|_| AnonymizeError::Task)?
}
