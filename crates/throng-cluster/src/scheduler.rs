//! The scheduler process: plans queries, assigns tasks to executors, and reassigns them when an executor is lost.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_scheduler::cluster::{BallistaCluster, ClusterStateEvent, JobStateEvent};
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::StreamExt;
use throng_job::{JobError, Kind, Stores};
use tokio::net::TcpListener;
use tracing::{info, warn};

use crate::error_wire::decode_error;
use crate::security::serve::serve_scheduler;
use crate::settings::{MESSAGE_LIMIT, scheduling_policy};
use crate::stalled_jobs::cancel_stalled;
use crate::{Security, codec, settings, stores};

/// Time for which finished jobs are kept: the text of their plans, and none of their rows.
const REMEMBERED_SECONDS: u64 = 3600;

/// Settings of a scheduler.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Address to listen on. Port 0 selects any free port.
    pub bind: SocketAddr,
    /// Host name or address that is advertised to executors, if it differs from the address it listens on.
    pub advertise: Option<String>,
    /// Time without a heartbeat after which an executor is lost and its tasks are reassigned.
    pub executor_timeout_seconds: u64,
    /// Time that jobs wait for an executor after the last one was lost, before they fail.
    pub no_executors_seconds: u64,
    /// Maximum number of attempts of a task, and of a stage whose shuffle was lost.
    pub attempts: usize,
    /// Time for which executors keep the shuffles and results of a finished job. The client must fetch its rows within
    /// it.
    pub keep_finished_seconds: u64,
    /// Certificates and tokens. Without them anyone who can reach the port is served, in plain text.
    pub security: Option<Security>,
}

impl SchedulerOptions {
    /// Five missed heartbeats of an executor.
    pub const DEFAULT_EXECUTOR_TIMEOUT_SECONDS: u64 = 10;
    /// Roughly the time in which an orchestrator restarts an executor.
    pub const DEFAULT_NO_EXECUTORS_SECONDS: u64 = 60;
    /// Ballista's default.
    pub const DEFAULT_ATTEMPTS: usize = 4;
    /// Ballista's default.
    pub const DEFAULT_KEEP_FINISHED_SECONDS: u64 = 300;
}

/// Runs a scheduler until it fails; drop the future to stop it. Jobs are held in memory only and end with it.
pub async fn run_scheduler(options: &SchedulerOptions) -> Result<(), JobError> {
    let listener = TcpListener::bind(options.bind).await.map_err(|error| not_bound(options.bind, &error))?;
    let address = listener.local_addr().map_err(|error| not_bound(options.bind, &error))?;
    let config = Arc::new(config(options, address)?);
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(|error| broken(&error))?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::clone(&config)).await;
    let scheduler = scheduler.map_err(|error| broken(&error))?;
    let is_secured = options.security.is_some();
    info!(%address, advertised = config.scheduler_endpoint(), is_secured, "the scheduler is ready");
    let serving = async {
        match &options.security {
            None => start_grpc_service_with_listener(listener, scheduler.clone()).await,
            Some(security) => serve_scheduler(listener, scheduler.clone(), security).await,
        }
    };
    tokio::select! {
        served = serving => served.map_err(|error| broken(&error)),
        Err(error) = log_events(&scheduler) => Err(broken(&error)),
        Err(error) = cancel_stalled(&scheduler, patience(options)) => Err(broken(&error)),
    }
}

/// Time for which a job may have no running task: executors may be lost and have to be replaced.
fn patience(options: &SchedulerOptions) -> Duration {
    Duration::from_secs(options.executor_timeout_seconds.max(options.no_executors_seconds) + 5)
}

fn config(options: &SchedulerOptions, address: SocketAddr) -> Result<SchedulerConfig, JobError> {
    let runtime = stores::runtime(&Arc::new(Stores::default()), None);
    let runtime = runtime.map_err(|_| JobError::new(Kind::Internal, "no session could be made; this is a bug"))?;
    let is_anywhere = address.ip().is_unspecified();
    let external_host = match &options.advertise {
        Some(name) => name.clone(),
        None if is_anywhere => {
            let why = "a scheduler that listens on all addresses must say by which name executors find it; \
                       set --advertise or THRONG_SCHEDULER_ADVERTISE";
            return Err(JobError::new(Kind::BadQuery, why));
        }
        None => address.ip().to_string(),
    };
    Ok(SchedulerConfig {
        namespace: "throng".to_owned(),
        external_host,
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        scheduling_policy: scheduling_policy(options.security.as_ref()),
        task_distribution: TaskDistributionPolicy::RoundRobin,
        executor_timeout_seconds: options.executor_timeout_seconds,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: options.no_executors_seconds,
        task_max_failures: options.attempts,
        stage_max_failures: options.attempts,
        finished_job_data_clean_up_interval_seconds: options.keep_finished_seconds,
        finished_job_state_clean_up_interval_seconds: REMEMBERED_SECONDS.max(options.keep_finished_seconds),
        grpc_server_max_decoding_message_size: MESSAGE_LIMIT,
        grpc_server_max_encoding_message_size: MESSAGE_LIMIT,
        grpc_client_max_message_size: MESSAGE_LIMIT,
        override_config_producer: Some(settings::producer(options.security.as_ref())),
        override_create_grpc_client_endpoint: options.security.as_ref().map(Security::endpoint_override),
        use_tls: options.security.is_some(),
        override_session_builder: Some(Arc::new(settings::builder(runtime))),
        override_logical_codec: Some(codec::logical()),
        override_physical_codec: Some(codec::physical()),
        ..SchedulerConfig::default()
    })
}

/// Logs executors that join and leave, and the outcome of jobs. Ballista's own log is off: it quotes plans and errors,
/// which hold values.
async fn log_events(
    scheduler: &SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
) -> Result<Infallible, BallistaError> {
    let mut executors = scheduler.cluster_state_events().await?;
    let mut jobs = scheduler.job_state_events().await?;
    loop {
        tokio::select! {
            Some(event) = executors.next() => match event {
                ClusterStateEvent::RegisteredExecutor { executor_id } => info!(executor = executor_id, "an executor has come"),
                ClusterStateEvent::RemovedExecutor { executor_id } => warn!(executor = executor_id, "an executor is gone"),
            },
            Some(event) = jobs.next() => if let JobStateEvent::JobUpdated { job_id, status } = event {
                log_job(job_id.as_str(), status.status);
            },
            else => std::future::pending().await,
        }
    }
}

fn log_job(job: &str, status: Option<Status>) {
    match status {
        Some(Status::Running(_)) => info!(job, "a job is running"),
        Some(Status::Successful(_)) => info!(job, "a job is done"),
        Some(Status::Failed(failed)) => match decode_error(&failed.error) {
            Some(error) => warn!(job, exit_code = error.kind().exit_code(), "a job has failed: {error}"),
            None => warn!(job, "a job has failed"),
        },
        Some(Status::Queued(_)) | None => {}
    }
}

fn not_bound(address: SocketAddr, error: &std::io::Error) -> JobError {
    JobError::new(Kind::TemporaryIo, format!("listening on {address}: {error}; is another process there?"))
}

/// Converts an error of Ballista's server, whose text mentions only addresses and connections.
fn broken(error: &BallistaError) -> JobError {
    JobError::new(Kind::TemporaryIo, format!("the scheduler has ended: {error}"))
}
