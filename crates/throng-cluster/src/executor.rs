//! The executor process: runs tasks, stores shuffle files, and spills.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ballista_core::error::BallistaError;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::ExecutorHealth;
use tempfile::TempDir;
use throng_job::{JobError, Kind, POOL_SHARE, Stores};
use tracing::{info, warn};

use crate::engine::RedactingEngine;
use crate::security::serve::flight_server;
use crate::security::wait_for_admission;
use crate::settings::{MESSAGE_LIMIT, scheduling_policy};
use crate::{HostPort, Security, codec, settings, stores};

/// Age at which the data of jobs of a dead scheduler is removed.
const ORPHANS_SECONDS: u64 = 3 * 24 * 3600;

/// Interval at which that data is searched for.
const ORPHANS_INTERVAL_SECONDS: u64 = 3600;

/// Interval at which the executor polls whether it is registered.
const LOOK: Duration = Duration::from_millis(100);

/// Interval of the warning that it is not registered.
const COMPLAINT: Duration = Duration::from_secs(30);

/// Settings of an executor.
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    /// Host and port of the scheduler.
    pub scheduler: HostPort,
    /// Address to listen on.
    pub bind: IpAddr,
    /// Host name or address that is advertised to others; by default the local address of the connection to the
    /// scheduler.
    pub advertise: Option<String>,
    /// Port that serves shuffles and results. 0 selects any free port.
    pub port: u16,
    /// Port on which the scheduler submits tasks. 0 selects any free port.
    pub grpc_port: u16,
    /// Number of tasks that run concurrently.
    pub slots: usize,
    /// Parent of the private folder for shuffles and spill, which is removed when the executor ends.
    pub work_dir: Option<PathBuf>,
    /// Memory limit of the process in bytes, shared equally by the slots. By default it is derived from the memory of
    /// the machine or the container.
    pub memory_limit: Option<u64>,
    /// Interval of heartbeats to the scheduler.
    pub heartbeat_seconds: u64,
    /// Certificates and tokens. Without them anyone who can reach the ports is served, in plain text.
    pub security: Option<Security>,
}

impl ExecutorOptions {
    /// Several heartbeats fit into the timeout after which a scheduler considers an executor lost.
    pub const DEFAULT_HEARTBEAT_SECONDS: u64 = 2;
    /// Ballista's default.
    pub const DEFAULT_PORT: u16 = 50051;
    /// Ballista's default.
    pub const DEFAULT_GRPC_PORT: u16 = 50052;
}

/// Runs an executor. Waits for its scheduler without a timeout, and fails if the connection is lost later; in a secured
/// cluster it waits in that case too.
///
/// When `stop` completes, running tasks have `grace` to finish, and the executor ends without an error. Ballista itself
/// handles the signals that end a process and then only finishes tasks; `stop` must complete on the same signals. Drop
/// the future to abort tasks at once. The private folder is removed in any case.
pub async fn run_executor(
    options: &ExecutorOptions,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> Result<(), JobError> {
    let folder = WorkFolder::make(options.work_dir.as_deref())?;
    let (port, grpc_port) = ports(options)?;
    let health = ExecutorHealth::new();
    let config = config(options, &folder, (port, grpc_port), health.clone())?;
    let (slots, id) = (config.vcores, config.executor_id.clone());
    let ready = async {
        wait_until_registered(&health, &options.scheduler).await;
        info!(executor = id, address = %SocketAddr::new(options.bind, port), slots, "the executor is ready");
        std::future::pending::<()>().await;
    };
    let mut stop = std::pin::pin!(stop);
    if let Some(security) = &options.security {
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            admitted = wait_for_admission(&options.scheduler, security) => admitted?,
        }
    }
    let mut running = std::pin::pin!(start_executor_process(Arc::new(config)));
    let ended = tokio::select! {
        biased;
        () = stop => {
            let ended = tokio::time::timeout(grace, running).await;
            return ended.unwrap_or(Ok(())).map_err(|error| broken(&error));
        }
        ended = &mut running => ended,
        () = ready => Ok(()),
    };
    ended.map_err(|error| broken(&error))?;
    let scheduler = &options.scheduler;
    let lost = format!("the scheduler at {scheduler} was lost, or takes this executor for lost; start it again");
    Err(JobError::new(Kind::TemporaryIo, lost))
}

fn config(
    options: &ExecutorOptions,
    folder: &WorkFolder,
    (port, grpc_port): (u16, u16),
    health: ExecutorHealth,
) -> Result<ExecutorProcessConfig, JobError> {
    let failed =
        |_| JobError::new(Kind::TemporaryIo, "the folder for spill can't be used; check space and permissions");
    let stores = Arc::new(Stores::default());
    let spill = folder.spill.clone();
    let state = settings::state(settings::config(), stores::runtime(&stores, Some(&spill)).map_err(failed)?);
    Ok(ExecutorProcessConfig {
        bind_host: options.bind.to_string(),
        external_host: options.advertise.clone(),
        port,
        grpc_port,
        scheduler_host: options.scheduler.host.clone(),
        scheduler_port: options.scheduler.port,
        // Any value except 0 means that there is no timeout.
        scheduler_connect_timeout_seconds: 1,
        vcores: options.slots,
        task_scheduling_policy: scheduling_policy(options.security.as_ref()),
        work_dir: Some(folder.shuffles.to_string_lossy().into_owned()),
        job_data_ttl_seconds: ORPHANS_SECONDS,
        job_data_clean_up_interval_seconds: ORPHANS_INTERVAL_SECONDS,
        grpc_max_decoding_message_size: MESSAGE_LIMIT,
        grpc_max_encoding_message_size: MESSAGE_LIMIT,
        executor_heartbeat_interval_seconds: options.heartbeat_seconds,
        memory_pool_size: options.memory_limit.map(|limit| (limit as f64 * POOL_SHARE) as u64),
        override_execution_engine: Some(Arc::new(RedactingEngine::new())),
        override_function_registry: Some(Arc::new(BallistaFunctionRegistry::from(&state))),
        override_runtime_producer: Some(Arc::new(move |_| stores::runtime(&stores, Some(&spill)))),
        override_config_producer: Some(settings::producer(options.security.as_ref())),
        override_create_grpc_client_endpoint: options.security.as_ref().map(Security::endpoint_override),
        override_arrow_flight_service: options.security.as_ref().map(flight_server),
        override_logical_codec: Some(codec::logical()),
        override_physical_codec: Some(codec::physical()),
        health,
        ..ExecutorProcessConfig::default()
    })
}

/// A folder that only its owner can read, for rows of the input. It is removed on drop.
struct WorkFolder {
    _whole: TempDir,
    shuffles: PathBuf,
    spill: PathBuf,
}

impl WorkFolder {
    fn make(above: Option<&Path>) -> Result<Self, JobError> {
        let above = above.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let failed = |error: std::io::Error| {
            let text = format!("making a folder in {}: {error}; check space and permissions", above.display());
            JobError::new(Kind::TemporaryIo, text)
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let whole = builder.prefix("throng-executor-").tempdir_in(&above).map_err(failed)?;
        let (shuffles, spill) = (whole.path().join("shuffles"), whole.path().join("spill"));
        std::fs::create_dir(&shuffles).and_then(|()| std::fs::create_dir(&spill)).map_err(failed)?;
        Ok(Self { _whole: whole, shuffles, spill })
    }
}

/// Returns the ports of the options, with 0 replaced by free ports.
fn ports(options: &ExecutorOptions) -> Result<(u16, u16), JobError> {
    let free = |port: u16| {
        let address = SocketAddr::new(options.bind, port);
        let listener = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
        listener.map_err(|error| {
            JobError::new(Kind::TemporaryIo, format!("listening on {address}: {error}; is another process there?"))
        })
    };
    // Both listeners are held until both ports are known, so that the ports differ.
    let (port, _held) = free(options.port)?;
    let (grpc_port, _also_held) = free(options.grpc_port)?;
    Ok((port, grpc_port))
}

async fn wait_until_registered(health: &ExecutorHealth, scheduler: &HostPort) {
    let mut complaint = tokio::time::Instant::now() + COMPLAINT;
    while !health.is_ready() {
        tokio::time::sleep(LOOK).await;
        if tokio::time::Instant::now() >= complaint {
            warn!("there is no scheduler at {scheduler} yet; still trying");
            complaint += COMPLAINT;
        }
    }
}

/// Converts an error of Ballista's services, whose text mentions only addresses and connections.
fn broken(error: &BallistaError) -> JobError {
    JobError::new(Kind::TemporaryIo, format!("the executor has ended: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_private_and_goes_away() {
        let above = TempDir::new().unwrap();
        let folder = WorkFolder::make(Some(above.path())).unwrap();
        assert!(folder.shuffles.is_dir() && folder.spill.is_dir());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = folder._whole.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{mode:o}");
        }
        drop(folder);
        assert_eq!(std::fs::read_dir(above.path()).unwrap().count(), 0);
    }
}
