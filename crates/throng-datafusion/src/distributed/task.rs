//! Tasks: computations on one partition of a plan.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use futures::future::BoxFuture;
use tokio::sync::mpsc::Sender;

use super::task_params::TaskParams;
use crate::AnonymizeError;
use crate::resources::Resources;

/// Required distribution of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputDistribution {
    /// No requirement.
    Any,
    /// All rows in a single partition.
    Single,
    /// Partitioned by the values of `columns`, and sorted by `order` within each partition.
    HashBy {
        /// Names of the partitioning columns.
        columns: Vec<String>,
        /// Names of the sort columns; empty for any order.
        order: Vec<String>,
    },
}

/// A computation on one partition of a plan. It is independent of all other partitions, and does not know its partition
/// number.
pub struct TaskKind {
    /// Name of the task in plans, by which codecs decode it.
    pub name: &'static str,
    /// Schema of the output.
    pub schema: fn(&TaskParams) -> SchemaRef,
    /// Required distribution of the input.
    pub distribution: fn(&TaskParams) -> InputDistribution,
    /// Executes the task on one input partition. Dropping the future stops it.
    ///
    /// A read error is passed on unchanged, and not redacted: the engine decides by its type whether a shuffle was lost
    /// and must be recomputed. It may quote values, so the caller that runs tasks must redact it before it is shown.
    pub run: fn(Arc<TaskParams>, TaskInput) -> TaskFuture,
}

/// A kind of task and its parameters, by which it is encoded.
#[derive(Clone)]
pub struct Task {
    pub(crate) kind: &'static TaskKind,
    pub(crate) params: Arc<TaskParams>,
}

impl Task {
    /// Creates a task.
    pub fn new(kind: &'static TaskKind, params: Arc<TaskParams>) -> Self {
        Self { kind, params }
    }

    /// Returns the schema of the output.
    pub fn schema(&self) -> SchemaRef {
        (self.kind.schema)(&self.params)
    }
}

impl fmt::Debug for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// Execution of a task.
pub type TaskFuture = BoxFuture<'static, Result<(), AnonymizeError>>;

/// One input partition of a task, and where its output goes.
pub struct TaskInput {
    /// Rows of the partition.
    pub rows: SendableRecordBatchStream,
    /// Context of the query.
    pub context: Arc<TaskContext>,
    /// Receives the output.
    pub output: TaskOutput,
    pub(crate) resources: Resources,
}

/// Receives the output of a task.
#[derive(Clone, Debug)]
pub struct TaskOutput(pub(super) Sender<Result<RecordBatch>>);

impl TaskOutput {
    /// Emits a batch. Fails if the query was cancelled.
    pub async fn send(&self, batch: RecordBatch) -> Result<(), AnonymizeError> {
        self.0.send(Ok(batch)).await.map_err(|_| AnonymizeError::Cancelled)
    }

    /// Emits a batch from a blocking thread.
    pub(super) fn blocking_send(&self, batch: RecordBatch) -> Result<(), AnonymizeError> {
        self.0.blocking_send(Ok(batch)).map_err(|_| AnonymizeError::Cancelled)
    }
}

/// Runs `work` on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AnonymizeError> + Send + 'static,
) -> Result<T, AnonymizeError> {
    SpawnedTask::spawn_blocking(work).await.map_err(|_| AnonymizeError::Task)?
}
