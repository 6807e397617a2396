//! Runs tasks as Ballista does, and makes their errors fit to be seen.
//!
//! What an executor reports of a failed task is logged by the scheduler and shown to the client. It is sorted here, before it
//! leaves the process: what is temporary goes on as an I/O error, which Ballista tries again, and everything else as what Throng
//! has to say of it ([`Told`]). A shuffle that could not be fetched keeps its form, because Ballista then makes it anew.

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
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use futures::FutureExt;
use throng_pipeline::{JobError, Kind, running_failure};

use crate::connections::Connections;
use crate::told::Told;

/// Ballista's engine, with errors that quote no value.
pub(crate) struct TellingEngine {
    inner: DefaultExecutionEngine,
}

impl TellingEngine {
    pub(crate) fn new() -> Self {
        Self { inner: DefaultExecutionEngine::with_client_pool(Arc::new(Connections::default())) }
    }
}

impl ExecutionEngine for TellingEngine {
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
        Ok(Arc::new(TellingStage { inner: stage.map_err(|error| fit_to_be_seen(&error))? }))
    }
}

/// A task of Ballista's engine, with errors that quote no value.
struct TellingStage {
    inner: Arc<dyn QueryStageExecutor>,
}

/// The text of a plan may hold values of filters.
impl fmt::Debug for TellingStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TellingStage")
    }
}

impl fmt::Display for TellingStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TellingStage")
    }
}

#[async_trait]
impl QueryStageExecutor for TellingStage {
    async fn execute_query_stage(
        &self,
        task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let run = AssertUnwindSafe(self.inner.execute_query_stage(task_id, context)).catch_unwind();
        match run.await {
            Ok(done) => done.map_err(|error| fit_to_be_seen(&error)),
            // The panic hook has told the place; the message may quote a value.
            Err(_) => {
                let error = JobError::new(Kind::Internal, "a task of the cluster failed in the middle; this is a bug");
                Err(Told::from(&error).into())
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
        self.inner.collect_window_state_reports().map_err(|error| fit_to_be_seen(&error))
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.inner.collect_column_stats()
    }
}

/// The error without what it quotes, in the form by which Ballista decides whether to try again.
fn fit_to_be_seen(error: &DataFusionError) -> DataFusionError {
    match ballista(error) {
        None => sorted(error),
        // Ballista puts its own error around one of the engine, and does not tell it as the cause.
        Some(BallistaError::DataFusionError(inner)) => fit_to_be_seen(inner),
        Some(BallistaError::ArrowError(inner)) => sorted(&DataFusionError::ArrowError(Box::new(kind(inner)), None)),
        Some(BallistaError::IoError(inner)) => sorted(&DataFusionError::IoError(inner.kind().into())),
        // Ballista would make the lost stage again. It then forgets the slots of the tasks that it takes back, and the
        // cluster comes to a halt; so the job ends, and its client may try again.
        Some(BallistaError::FetchFailed(..)) => {
            let text = "the cluster has lost an executor with rows that others needed; try again";
            Told::from(&JobError::new(Kind::TemporaryIo, text)).into()
        }
        Some(BallistaError::Cancelled) => BallistaError::Cancelled.into_datafusion(),
        Some(_) => {
            let text = "the cluster failed while it ran a task; its logs tell where";
            Told::from(&JobError::new(Kind::Internal, text)).into()
        }
    }
}

fn sorted(error: &DataFusionError) -> DataFusionError {
    let sorted = running_failure(error);
    match sorted.kind() == Kind::TemporaryIo && is_of_storage(error) {
        true => DataFusionError::IoError(io::Error::other(Told::from(&sorted))),
        false => Told::from(&sorted).into(),
    }
}

/// What Ballista itself has to say, under all that is around it.
fn ballista(error: &DataFusionError) -> Option<&BallistaError> {
    match error.find_root() {
        DataFusionError::External(inner) => inner.downcast_ref::<BallistaError>(),
        _ => None,
    }
}

/// An error of the same kind, as far as it decides what is said of it.
fn kind(error: &ArrowError) -> ArrowError {
    match error {
        ArrowError::CastError(_) => ArrowError::CastError(String::new()),
        ArrowError::ParseError(text) => ArrowError::ParseError(text.clone()),
        ArrowError::DivideByZero => ArrowError::DivideByZero,
        ArrowError::ArithmeticOverflow(_) => ArrowError::ArithmeticOverflow(String::new()),
        _ => ArrowError::ComputeError(String::new()),
    }
}

/// Whether storage or the network failed, and not memory.
fn is_of_storage(error: &DataFusionError) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.is::<object_store::Error>() || error.is::<io::Error>() {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::FailedTask;
    use ballista_core::serde::protobuf::failed_task::FailedReason;

    use super::*;
    use crate::told::heard;

    /// What an executor reports of an error below a writer of shuffles.
    fn reported(error: DataFusionError) -> FailedTask {
        let error = DataFusionError::Shared(Arc::new(BallistaError::from(error).into_datafusion()));
        FailedTask::from(BallistaError::from(fit_to_be_seen(&error)))
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
        let infeasible = throng_datafusion::Error::Suppression { rows: 10, suppressed: 4, limit: 0.1, most: 1.0 };
        let cases: [(DataFusionError, bool, u8); 6] = [
            (DataFusionError::ObjectStore(Box::new(generic)), true, 75),
            (DataFusionError::IoError(io::ErrorKind::ConnectionReset.into()), true, 75),
            (DataFusionError::ObjectStore(Box::new(missing)), false, 66),
            (memory, false, 75),
            (infeasible.into(), false, 3),
            (DataFusionError::ArrowError(Box::new(ArrowError::DivideByZero), None), false, 65),
        ];
        for (error, again, code) in cases {
            let failed = reported(error);
            assert_eq!(failed.retryable, again, "{}", failed.error);
            assert_eq!(heard(&failed.error).unwrap().kind().exit_code(), code, "{}", failed.error);
        }
    }

    #[test]
    fn a_lost_shuffle_ends_the_job_and_says_that_it_can_be_tried_again() {
        let error = BallistaError::FetchFailed("lost".to_owned(), 3, 7, "refused".to_owned()).into_datafusion();
        let failed = reported(DataFusionError::ArrowError(Box::new(ArrowError::ExternalError(Box::new(error))), None));
        assert!(matches!(failed.failed_reason, Some(FailedReason::ExecutionError(_))), "{failed:?}");
        assert_eq!(heard(&failed.error).unwrap().kind(), Kind::TemporaryIo);
    }
}
