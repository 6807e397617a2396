//! The command line, as it was written. Every option of a server is a variable of the environment too.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use throng_ballista::{ClusterUrl, DEFAULT_SHUFFLE_PARTITIONS, ExecutorOptions, SchedulerOptions, SessionOptions};
use throng_pipeline::{JobError, Kind};
use throng_policy::Overrides;

/// Runs Throng on several machines: the processes of a cluster of Apache Ballista, and SQL on it.
///
/// A cluster is one scheduler and any number of executors. Each of them reads object stores with the credentials of its own
/// environment. Nothing between them is encrypted or asks who is there: keep them in a network of their own.
#[derive(Debug, Parser)]
#[command(
    name = "throng-cluster",
    version,
    arg_required_else_help = true,
    after_help = "Logs go to stderr; the last line on stdout is one JSON object with the outcome, except of sql.\n\n\
        Exit codes: 0 done, or ended by a signal as asked; 2 usage, 3 privacy target can't be met,\n\
        4 verification failed, 65 bad data, 66 no input, 70 internal error,\n\
        75 temporary failure (try again), 78 bad policy."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// How logs are written to stderr
    #[arg(long, global = true, env = "THRONG_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,

    /// Log more; twice for everything of Throng's own
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan queries and give their tasks to executors
    ///
    /// `GET /healthz` on its port tells whether it lives, `GET /readyz` whether an executor has come. Jobs are in its memory only
    /// and end with it.
    Scheduler(SchedulerArgs),
    /// Run tasks of a scheduler, keep shuffles, spill what does not fit into memory
    Executor(ExecutorArgs),
    /// Release the input of a policy on a cluster
    ///
    /// The same release as that of `throng run`, byte for byte. Rows are read, written and verified by the executors; this
    /// process plans, and publishes in the end. Locations must mean the same to the scheduler and to each executor, as
    /// s3://, gs:// and az:// do.
    Run(RunArgs),
    /// Run SQL on a cluster
    ///
    /// The same as `throng sql`, but every row is read and computed by the executors: locations must mean the same to the
    /// scheduler and to each of them, as s3://, gs:// and az:// do.
    Sql(SqlArgs),
}

impl Command {
    /// How many threads the process has, besides those of tasks.
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

    /// An executor that was not heard of for so many seconds is lost, and others do its tasks
    #[arg(
        long,
        env = "THRONG_SCHEDULER_EXECUTOR_TIMEOUT",
        value_name = "SECONDS",
        default_value_t = SchedulerOptions::DEFAULT_EXECUTOR_TIMEOUT_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    executor_timeout: u64,

    /// Without any executor jobs fail after so many seconds
    #[arg(
        long,
        env = "THRONG_SCHEDULER_NO_EXECUTORS_TIMEOUT",
        value_name = "SECONDS",
        default_value_t = SchedulerOptions::DEFAULT_NO_EXECUTORS_SECONDS
    )]
    no_executors_timeout: u64,

    /// How often a task is tried, and a lost shuffle is made again, before the job fails
    #[arg(
        long,
        env = "THRONG_SCHEDULER_ATTEMPTS",
        value_name = "N",
        default_value_t = SchedulerOptions::DEFAULT_ATTEMPTS as u16,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    attempts: u16,

    /// Executors keep the rows of a finished job for so many seconds; its client must have fetched them by then
    #[arg(
        long,
        env = "THRONG_SCHEDULER_KEEP_FINISHED",
        value_name = "SECONDS",
        default_value_t = SchedulerOptions::DEFAULT_KEEP_FINISHED_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    keep_finished: u64,
}

impl SchedulerArgs {
    pub(crate) fn options(&self) -> SchedulerOptions {
        SchedulerOptions {
            bind: self.bind,
            advertise: self.advertise.clone(),
            executor_timeout_seconds: self.executor_timeout,
            no_executors_seconds: self.no_executors_timeout,
            attempts: usize::from(self.attempts),
            keep_finished_seconds: self.keep_finished,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExecutorArgs {
    /// The scheduler; it is waited for as long as it takes
    #[arg(long, env = "THRONG_SCHEDULER", value_name = "HOST:PORT")]
    scheduler: String,

    /// The address to listen on
    #[arg(long, env = "THRONG_EXECUTOR_BIND", value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// The name or address by which others find the executor [default: the one from which the scheduler hears it]
    #[arg(long, env = "THRONG_EXECUTOR_ADVERTISE", value_name = "HOST")]
    advertise: Option<String>,

    /// The port where shuffles and results are fetched; 0 is any free port
    #[arg(long, env = "THRONG_EXECUTOR_PORT", value_name = "PORT", default_value_t = ExecutorOptions::DEFAULT_PORT)]
    port: u16,

    /// The port where the scheduler brings tasks; 0 is any free port
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

    /// The scheduler hears of the executor every so many seconds
    #[arg(
        long,
        env = "THRONG_EXECUTOR_HEARTBEAT",
        value_name = "SECONDS",
        default_value_t = ExecutorOptions::DEFAULT_HEARTBEAT_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    heartbeat: u64,
}

impl ExecutorArgs {
    fn slots(&self) -> usize {
        self.slots.map_or_else(cores, usize::from)
    }

    pub(crate) fn options(&self) -> Result<ExecutorOptions, JobError> {
        let place =
            self.scheduler.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
        let Some(scheduler) = place.filter(|(host, _)| !host.is_empty()) else {
            return Err(JobError::new(Kind::BadQuery, "--scheduler must be HOST:PORT, like scheduler:50050"));
        };
        Ok(ExecutorOptions {
            scheduler,
            bind: self.bind,
            advertise: self.advertise.clone(),
            port: self.port,
            grpc_port: self.grpc_port,
            slots: self.slots(),
            work_dir: self.work_dir.clone(),
            memory_limit: self.memory_limit,
            heartbeat_seconds: self.heartbeat,
        })
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// The policy file (TOML); `throng schema` describes it
    pub(crate) policy: PathBuf,

    /// The cluster, by its scheduler: df://host:port
    #[arg(long, env = "THRONG_CLUSTER", value_name = "URL")]
    pub(crate) cluster: ClusterUrl,

    /// Read this instead of the policy's input; may be repeated
    #[arg(short, long, value_name = "LOCATION")]
    input: Vec<String>,

    /// Write here instead of the policy's output
    #[arg(short, long, value_name = "LOCATION")]
    output: Option<String>,

    /// Replace a release that is already at the output, once the new one is verified
    #[arg(long)]
    overwrite: bool,

    /// At least so many rows in each class
    #[arg(short, long, value_name = "ROWS")]
    k: Option<u64>,

    /// At least so many distinct values of each sensitive column in each class
    #[arg(short, long, value_name = "VALUES")]
    p: Option<u64>,

    /// How long the search for better classes may go on: fast, balanced, thorough, or a time such as 30s
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,

    /// Drives every random choice and the order of the release
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// In how many parts rows are shuffled; two or three for each slot of the cluster do well
    #[arg(
        long,
        env = "THRONG_SHUFFLE_PARTITIONS",
        value_name = "N",
        default_value_t = DEFAULT_SHUFFLE_PARTITIONS as u16,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    shuffle_partitions: u16,
}

impl RunArgs {
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            input: (!self.input.is_empty()).then(|| self.input.clone()),
            output: self.output.clone(),
            overwrite: self.overwrite,
            k: self.k,
            p: self.p,
            budget: self.budget.clone(),
            seed: self.seed,
            without_preset: false,
        }
    }

    pub(crate) fn partitions(&self) -> usize {
        usize::from(self.shuffle_partitions)
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SqlArgs {
    /// The cluster, by its scheduler: df://host:port
    #[arg(long, env = "THRONG_CLUSTER", value_name = "URL")]
    pub(crate) cluster: ClusterUrl,

    /// Run these statements; may be repeated
    #[arg(short, long, value_name = "SQL", required = true)]
    pub(crate) command: Vec<String>,

    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: SqlFormat,

    /// In how many parts rows are shuffled
    #[arg(
        long,
        env = "THRONG_SHUFFLE_PARTITIONS",
        value_name = "N",
        default_value_t = DEFAULT_SHUFFLE_PARTITIONS as u16,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    shuffle_partitions: u16,
}

impl SqlArgs {
    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions::default().with_shuffle_partitions(usize::from(self.shuffle_partitions))
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// For people; the rows of a result are held in memory.
    Table,
    /// With a header; null is an empty field.
    Csv,
    /// One array of objects for each statement.
    Json,
}

/// The least memory limit with which anything can be done.
const MIN_MEMORY: u64 = 16 << 20;

/// A number of bytes: `512MiB`, `4 GB`, `1073741824`.
fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 9] = [
        ("", 1),
        ("b", 1),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
    ];
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor as f64);
    let bytes = number.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    match bytes {
        Some(bytes) if bytes >= MIN_MEMORY as f64 => Ok(bytes as u64),
        Some(_) => Err("at least 16MiB are needed".to_owned()),
        None => Err("give a number with a unit, like 512MiB or 4GB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_option_of_a_server_is_a_variable_too() {
        let command = Args::command();
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
        let options = |scheduler: &str| {
            let args = Args::try_parse_from(["throng-cluster", "executor", "--scheduler", scheduler]).unwrap();
            let Command::Executor(args) = args.command else { panic!() };
            args.options()
        };
        assert_eq!(options("scheduler:50050").unwrap().scheduler, ("scheduler".to_owned(), 50050));
        for wrong in ["scheduler", ":50050", "scheduler:", "scheduler:99999"] {
            assert_eq!(options(wrong).unwrap_err().kind(), Kind::BadQuery, "{wrong}");
        }
    }
}
