//! Query planners: the scheduler's, which encodes errors, and the client's, which decodes them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::config::BallistaConfig;
use ballista_core::planner::BallistaQueryPlanner;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion_proto::protobuf::LogicalPlanNode;
use futures::TryStreamExt;
use throng_datafusion::single_input_methods;
use throng_job::{JobError, Kind, planning_failure};

use crate::codec;
use crate::error_wire::{WireError, decode_error};
use crate::security::is_refusal;

/// DataFusion's planner, on the scheduler. Classifies and encodes errors before they leave the process; see
/// [`WireError`].
#[derive(Debug)]
pub(crate) struct ErrorTaggingPlanner;

#[async_trait]
impl QueryPlanner for ErrorTaggingPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = DefaultPhysicalPlanner::default().create_physical_plan(plan, session).await;
        planned.map_err(|error| WireError::from(planning_failure(&error)).into())
    }
}

/// Sends plans to a scheduler and decodes the errors of the compute cluster.
#[derive(Debug)]
pub(crate) struct ClusterPlanner {
    inner: BallistaQueryPlanner<LogicalPlanNode>,
    cluster: Arc<str>,
}

impl ClusterPlanner {
    /// Creates a planner, given the address of the scheduler as an HTTP URL and as a [`ClusterUrl`](crate::ClusterUrl).
    pub(crate) fn new(scheduler: String, cluster: &str, config: BallistaConfig) -> Self {
        let inner = BallistaQueryPlanner::with_extension(scheduler, config, codec::logical());
        Self { inner, cluster: Arc::from(cluster) }
    }
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        if let LogicalPlan::EmptyRelation(empty) = plan
            && !empty.produce_one_row
        {
            // Ballista would drop the schema of an empty relation.
            return Ok(Arc::new(EmptyExec::new(Arc::clone(empty.schema.inner()))));
        }
        let inner = self.inner.create_physical_plan(plan, session).await?;
        Ok(Arc::new(ErrorDecodingExec { inner, cluster: Arc::clone(&self.cluster) }))
    }
}

/// Runs a query on the compute cluster and decodes its errors.
#[derive(Debug)]
struct ErrorDecodingExec {
    inner: Arc<dyn ExecutionPlan>,
    cluster: Arc<str>,
}

impl ErrorDecodingExec {
    fn with_input(&self, inner: Arc<dyn ExecutionPlan>) -> Self {
        Self { inner, cluster: Arc::clone(&self.cluster) }
    }
}

impl DisplayAs for ErrorDecodingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorDecodingExec: {}", self.cluster)
    }
}

impl ExecutionPlan for ErrorDecodingExec {
    fn name(&self) -> &str {
        "ErrorDecodingExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.inner.properties()
    }

    single_input_methods!(inner);

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let cluster = Arc::clone(&self.cluster);
        let failed = move |error: DataFusionError| DataFusionError::External(Box::new(failure(&error, &cluster)));
        let rows = self.inner.execute(partition, context).map_err(&failed)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(rows.schema(), rows.map_err(failed))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.inner.metrics()
    }
}

/// Fragments of error texts of Ballista and its connections when a process is unreachable.
const GONE: [&str; 10] = [
    "ConnectError",
    "transport error",
    "Unavailable",
    "Stream closed without job completing",
    "error reading a body",
    "h2 protocol error",
    "broken pipe",
    "connection closed",
    "all executors were lost",
    // The scheduler itself cancels a job that has no running task.
    "Cancelled",
];

/// Classifies an error of the compute cluster. Its text is searched but never shown, because it may quote a value.
fn failure(error: &DataFusionError, cluster: &str) -> JobError {
    let text = format!("{error:?}");
    if let Some(error) = decode_error(&text) {
        return error;
    }
    if text.contains("failed to serialize logical plan") {
        let why = "a table of the statement can't be sent to the cluster: it is known to this session only; read it from files";
        return JobError::new(Kind::BadQuery, why);
    }
    if is_refusal(&text) {
        let why = format!(
            "the cluster at {cluster} and this client do not accept each other; check that both have certificates of \
             the same authority for the names by which they are reached, and the same token"
        );
        return JobError::new(Kind::BadPolicy, why);
    }
    if GONE.iter().any(|words| text.contains(words)) || text.contains("FetchFailed") {
        let why = format!("the cluster at {cluster} is unreachable or lost the job; check its logs, then try again");
        return JobError::new(Kind::TemporaryIo, why);
    }
    let why =
        format!("the cluster at {cluster} failed; its words may quote values and are not shown, its logs say where");
    JobError::new(Kind::Internal, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_cluster_is_classified_and_not_quoted() {
        let wire = WireError::from(JobError::new(Kind::Infeasible, "p = 9 can't be met"));
        let cases = [
            (format!("Job 1 failed: cancer {wire}"), Kind::Infeasible),
            ("tonic: transport error, cancer".to_owned(), Kind::TemporaryIo),
            ("failed to serialize logical plan: cancer".to_owned(), Kind::BadQuery),
            ("transport error, received fatal alert: UnknownCA, cancer".to_owned(), Kind::BadPolicy),
            ("cancer".to_owned(), Kind::Internal),
        ];
        for (text, kind) in cases {
            let failure = failure(&DataFusionError::Execution(text), "df://there:50050");
            assert_eq!(failure.kind(), kind, "{failure}");
            assert!(!failure.to_string().contains("cancer"), "{failure}");
        }
    }
}
