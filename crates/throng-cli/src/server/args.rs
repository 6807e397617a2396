//! The command line of `throng-cluster`. Every option of a server is a variable of the environment too.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use throng_cluster::{ExecutorOptions, HostPort, SchedulerOptions};
use throng_job::JobError;

use crate::args::{ClusterSecurityArgs, LogArgs, bytes};

/// The processes of a cluster of Apache Ballista that runs Throng on several machines.
///
/// A cluster is one scheduler and any number of executors; `throng run --cluster` and `throng sql --cluster` use it. Each process
/// reads object stores with the credentials of its own environment. Without --cluster-ca, --cluster-cert and --cluster-key nothing
/// between them is encrypted or authenticated: keep them in a separate network then.
#[derive(Debug, Parser)]
#[command(
    name = "throng-cluster",
    version,
    arg_required_else_help = true,
    after_help = "Logs go to stderr; the last line on stdout is one JSON object with the outcome.\n\n\
        Exit codes: 0 ended by a signal as asked, 2 usage, 70 internal error,\n\
        75 temporary failure (try again), 78 certificates or token that can't be used or are refused."
)]
pub(crate) struct ServerArgs {
    #[command(subcommand)]
    pub(crate) command: ServerCommand,

    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// Plan queries and give their tasks to executors
    ///
    /// `GET /healthz` on its port answers while it lives, `GET /readyz` once an executor has registered; with TLS it answers no
    /// such requests. Jobs are in its memory only and end with it.
    Scheduler(SchedulerArgs),
    /// Run tasks of a scheduler, keep shuffles, spill what does not fit into memory
    Executor(ExecutorArgs),
}

impl ServerCommand {
    /// Returns the number of threads of the process, besides those of tasks.
    pub(crate) fn threads(&self) -> usize {
        match self {
            Self::Executor(args) => args.slots(),
            _ => cores(),
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchedulerArgs {
    /// Where to listen; port 0 is any free port
    #[arg(long, env = "THRONG_SCHEDULER_BIND", value_name = "ADDRESS", default_value = "127.0.0.1:50050")]
    bind: SocketAddr,

    /// The name or address by which executors find the scheduler [default: the one on which it listens]
    #[arg(long, env = "THRONG_SCHEDULER_ADVERTISE", value_name = "HOST")]
    advertise: Option<String>,

    /// An executor without a heartbeat for this many seconds is lost, and others run its tasks
    #[arg(
        long,
        env = "THRONG_SCHEDULER_EXECUTOR_TIMEOUT",
        value_name = "SECONDS",
        default_value_t = SchedulerOptions::DEFAULT_EXECUTOR_TIMEOUT_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    executor_timeout: u64,

    /// Without any executor jobs fail after this many seconds
    #[arg(
        long,
        env = "THRONG_SCHEDULER_NO_EXECUTORS_TIMEOUT",
        value_name = "SECONDS",
        default_value_t = SchedulerOptions::DEFAULT_NO_EXECUTORS_SECONDS
    )]
    no_executors_timeout: u64,

    /// How often a task is tried, and a lost shuffle is recomputed, before the job fails
    #[arg(
        long,
        env = "THRONG_SCHEDULER_ATTEMPTS",
        value_name = "N",
        default_value_t = SchedulerOptions::DEFAULT_ATTEMPTS as u16,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    attempts: u16,

    /// Executors keep the rows of a finished job for this many seconds; its client must have fetched them by then
    #[arg(
        long,
        env = "THRONG_SCHEDULER_KEEP_FINISHED",
        value_name = "SECONDS",
        default_value_t = SchedulerOptions::DEFAULT_KEEP_FINISHED_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    keep_finished: u64,

    #[command(flatten)]
    security: ClusterSecurityArgs,
}

impl SchedulerArgs {
    pub(crate) fn options(&self) -> Result<SchedulerOptions, JobError> {
        Ok(SchedulerOptions {
            bind: self.bind,
            advertise: self.advertise.clone(),
            executor_timeout_seconds: self.executor_timeout,
            no_executors_seconds: self.no_executors_timeout,
            attempts: usize::from(self.attempts),
            keep_finished_seconds: self.keep_finished,
            security: self.security.load()?,
        })
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExecutorArgs {
    /// The scheduler; the executor waits for it without a timeout
    #[arg(long, env = "THRONG_SCHEDULER", value_name = "HOST:PORT")]
    scheduler: HostPort,

    /// The address to listen on
    #[arg(long, env = "THRONG_EXECUTOR_BIND", value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// The name or address by which others reach the executor [default: the address that the scheduler sees]
    #[arg(long, env = "THRONG_EXECUTOR_ADVERTISE", value_name = "HOST")]
    advertise: Option<String>,

    /// The port where shuffles and results are fetched; 0 is any free port
    #[arg(long, env = "THRONG_EXECUTOR_PORT", value_name = "PORT", default_value_t = ExecutorOptions::DEFAULT_PORT)]
    port: u16,

    /// The port on which the scheduler assigns tasks; 0 is any free port
    #[arg(
        long,
        env = "THRONG_EXECUTOR_GRPC_PORT",
        value_name = "PORT",
        default_value_t = ExecutorOptions::DEFAULT_GRPC_PORT
    )]
    grpc_port: u16,

    /// How many tasks run at the same time [default: all cores]
    #[arg(
        long,
        env = "THRONG_EXECUTOR_SLOTS",
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    slots: Option<u16>,

    /// Where to make a private folder for shuffles and spill [default: TMPDIR]
    #[arg(long, env = "THRONG_EXECUTOR_WORK_DIR", value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Keep the process within this much memory, like 512MiB or 4GB; each slot has an equal share [default: most of what the
    /// machine or the container has]
    #[arg(long, env = "THRONG_EXECUTOR_MEMORY_LIMIT", value_name = "SIZE", value_parser = bytes)]
    memory_limit: Option<u64>,

    /// Interval of the heartbeats to the scheduler
    #[arg(
        long,
        env = "THRONG_EXECUTOR_HEARTBEAT",
        value_name = "SECONDS",
        default_value_t = ExecutorOptions::DEFAULT_HEARTBEAT_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    heartbeat: u64,

    #[command(flatten)]
    security: ClusterSecurityArgs,
}

impl ExecutorArgs {
    fn slots(&self) -> usize {
        self.slots.map_or_else(cores, usize::from)
    }

    pub(crate) fn options(&self) -> Result<ExecutorOptions, JobError> {
        Ok(ExecutorOptions {
            scheduler: self.scheduler.clone(),
            bind: self.bind,
            advertise: self.advertise.clone(),
            port: self.port,
            grpc_port: self.grpc_port,
            slots: self.slots(),
            work_dir: self.work_dir.clone(),
            memory_limit: self.memory_limit,
            heartbeat_seconds: self.heartbeat,
            security: self.security.load()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_option_of_a_server_is_a_variable_too() {
        let command = ServerArgs::command();
        for name in ["scheduler", "executor"] {
            let server = command.find_subcommand(name).unwrap();
            for option in server.get_arguments().filter(|option| option.get_id() != "help") {
                let variable = option.get_env().unwrap_or_else(|| panic!("{name}: --{}", option.get_id()));
                assert!(variable.to_str().unwrap().starts_with("THRONG_"));
            }
        }
        command.debug_assert();
    }

    #[test]
    fn a_scheduler_is_a_host_and_a_port() {
        let parse =
            |scheduler: &str| ServerArgs::try_parse_from(["throng-cluster", "executor", "--scheduler", scheduler]);
        let ServerCommand::Executor(args) = parse("scheduler:50050").unwrap().command else { panic!() };
        assert_eq!(args.options().unwrap().scheduler.to_string(), "scheduler:50050");
        for wrong in ["scheduler", ":50050", "scheduler:", "scheduler:99999"] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.contains("HOST:PORT, like scheduler:50050"), "{wrong}: {error}");
        }
    }
}
