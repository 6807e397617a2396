//! Ballista's execution engine, with redacted errors.
//!
//! The scheduler logs the error of a failed task and sends it to the client. The engine therefore classifies it before
//! it leaves the process and sends its encoded form ([`WireError`]): wrapped in an I/O error if it is temporary, which
//! makes Ballista retry the task, and unwrapped otherwise.

use std::error::Error;
use std::fmt;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::{RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use futures::FutureExt;
use throng_datafusion::{EngineFailure, classify};
use throng_job::{JobError, Kind, running_failure};

use crate::connections::Connections;
use crate::error_wire::WireError;

/// Wraps Ballista's engine; its errors quote no value.
pub(crate) struct RedactingEngine {
    inner: DefaultExecutionEngine,
}

impl RedactingEngine {
    pub(crate) fn new() -> Self {
        Self { inner: DefaultExecutionEngine::with_client_pool(Arc::new(Connections::default())) }
    }
}

impl ExecutionEngine for RedactingEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let stage = self.inner.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        );
        Ok(Arc::new(RedactingStage { inner: stage.map_err(|error| redacted(&error))? }))
    }
}

/// Wraps a query stage of Ballista's engine; its errors quote no value.
struct RedactingStage {
    inner: Arc<dyn QueryStageExecutor>,
}

/// Does not print the plan, whose filters may hold values.
impl fmt::Debug for RedactingStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactingStage")
    }
}

impl fmt::Display for RedactingStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactingStage")
    }
}

#[async_trait]
impl QueryStageExecutor for RedactingStage {
    async fn execute_query_stage(
        &self,
        task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let run = AssertUnwindSafe(self.inner.execute_query_stage(task_id, context)).catch_unwind();
        match run.await {
            Ok(done) => done.map_err(|error| redacted(&error)),
            // The panic hook has logged the source location; the message may quote a value.
            Err(_) => {
                let error = JobError::new(Kind::Internal, "a task of the cluster failed in the middle; this is a bug");
                Err(WireError::from(error).into())
            }
        }
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.inner.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.inner.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.inner.collect_window_state_reports().map_err(|error| redacted(&error))
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.inner.collect_column_stats()
    }
}

/// Redacts an error and wraps it so that Ballista retries the task if the error is temporary.
fn redacted(error: &DataFusionError) -> DataFusionError {
    match ballista(error) {
        None => classified(error),
        // Ballista wraps an error of the engine in its own, and does not return it as the source.
        Some(BallistaError::DataFusionError(inner)) => redacted(inner),
        Some(BallistaError::ArrowError(inner)) => classified(inner.as_ref()),
        Some(BallistaError::IoError(inner)) => classified(inner),
        // Ballista would run the lost stage again. It then leaks the slots of the tasks that it takes back, and the
        // cluster stalls. The job fails instead, and the client may retry.
        Some(BallistaError::FetchFailed(..)) => {
            let text = "the cluster has lost an executor with rows that others needed; try again";
            WireError::from(JobError::new(Kind::TemporaryIo, text)).into()
        }
        Some(BallistaError::Cancelled) => BallistaError::Cancelled.into_datafusion(),
        Some(_) => {
            let text = "the cluster failed while it ran a task; its logs say where";
            WireError::from(JobError::new(Kind::Internal, text)).into()
        }
    }
}

fn classified(error: &(dyn Error + 'static)) -> DataFusionError {
    let failure = running_failure(error);
    let is_storage = matches!(classify(error), EngineFailure::Storage(_) | EngineFailure::Io(_));
    match failure.kind() == Kind::TemporaryIo && is_storage {
        true => DataFusionError::IoError(io::Error::other(WireError::from(failure))),
        false => WireError::from(failure).into(),
    }
}

/// Returns the error of Ballista at the root of a chain of errors.
fn ballista(error: &DataFusionError) -> Option<&BallistaError> {
    match error.find_root() {
        DataFusionError::External(inner) => inner.downcast_ref::<BallistaError>(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::FailedTask;
    use ballista_core::serde::protobuf::failed_task::FailedReason;
    use datafusion::arrow::error::ArrowError;
    use datafusion::object_store;

    use super::*;
    use crate::error_wire::decode_error;

    /// Returns what an executor reports for an error below a shuffle writer.
    fn reported(error: DataFusionError) -> FailedTask {
        let error = DataFusionError::Shared(Arc::new(BallistaError::from(error).into_datafusion()));
        FailedTask::from(BallistaError::from(redacted(&error)))
    }

    #[test]
    fn a_value_that_an_engine_quotes_is_not_reported() {
        let errors = [
            DataFusionError::Execution("can't do this with 'cancer'".to_owned()),
            DataFusionError::IoError(io::Error::other("cancer")),
            DataFusionError::External("cancer".into()),
            BallistaError::FetchFailed("e".to_owned(), 1, 2, "cancer".to_owned()).into_datafusion(),
            BallistaError::General("cancer".to_owned()).into_datafusion(),
        ];
        for error in errors {
            let failed = reported(error);
            assert!(!failed.error.contains("cancer"), "{}", failed.error);
        }
    }

    #[test]
    fn storage_is_tried_again_and_nothing_else_is() {
        let source = || "no answer".into();
        let generic = object_store::Error::Generic { store: "s3", source: source() };
        let missing = object_store::Error::NotFound { path: "a".to_owned(), source: source() };
        let memory = DataFusionError::ResourcesExhausted("full".to_owned());
        let infeasible =
            throng_datafusion::AnonymizeError::Suppression { rows: 10, suppressed: 4, limit: 0.1, most: 1.0 };
        let cases: [(DataFusionError, bool, u8); 6] = [
            (DataFusionError::ObjectStore(Box::new(generic)), true, 75),
            (DataFusionError::IoError(io::ErrorKind::ConnectionReset.into()), true, 75),
            (DataFusionError::ObjectStore(Box::new(missing)), false, 66),
            (memory, false, 78),
            (infeasible.into(), false, 3),
            (DataFusionError::ArrowError(Box::new(ArrowError::DivideByZero), None), false, 65),
        ];
        for (error, again, code) in cases {
            let failed = reported(error);
            assert_eq!(failed.retryable, again, "{}", failed.error);
            assert_eq!(decode_error(&failed.error).unwrap().kind().exit_code(), code, "{}", failed.error);
        }
    }

    #[test]
    fn a_lost_shuffle_ends_the_job_and_says_that_it_can_be_tried_again() {
        let error = BallistaError::FetchFailed("lost".to_owned(), 3, 7, "refused".to_owned()).into_datafusion();
        let failed = reported(DataFusionError::ArrowError(Box::new(ArrowError::ExternalError(Box::new(error))), None));
        assert!(matches!(failed.failed_reason, Some(FailedReason::ExecutionError(_))), "{failed:?}");
        assert_eq!(decode_error(&failed.error).unwrap().kind(), Kind::TemporaryIo);
    }
}
