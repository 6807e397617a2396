//! The command lines: `throng`, which anonymizes tables, and `throng-cluster`, the processes of a compute cluster. Both
//! binaries call this library.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod args;
mod backend;
mod commands;
mod limits;
mod logging;
#[cfg(feature = "otel")]
mod otel;
mod outcome;
mod panics;
mod progress;
#[cfg(feature = "cluster")]
mod server;
mod signals;
mod telemetry;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use throng_job::Stopper;

use args::{Args, Command};
use logging::LogScope;
use outcome::Outcome;
use signals::stop_signal;
use telemetry::RunFiles;

pub use panics::hide_panic_messages;
#[cfg(feature = "cluster")]
pub use server::throng_cluster;

/// The JSON documents of the commands, for hosts that produce the same ones.
pub mod documents {
    pub use crate::args::algorithm;
    pub use crate::commands::{
        Promised, append_json, bound_json, check_json, measured, plan_json, risk_json, sweep_json, verify_json,
        verify_location_json, verify_table_json,
    };
}

/// Runs `throng` with the arguments of this process, and returns its exit code. Sets the panic hook, rayon's global
/// pool and the logger of the process.
pub fn throng() -> ExitCode {
    ExitCode::from(throng_with(std::env::args_os()))
}

/// Runs `throng` with these arguments, of which the first is its name, and returns its exit code. Changes the process as [`throng`]
/// does.
pub fn throng_with(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    panics::hide_panic_messages("throng");
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => return report_usage_error(&error),
    };
    let scope = if args.command.runs_on_cluster() { LogScope::OwnTargets } else { LogScope::All };
    let spans = logging::start(&args.logs, scope, matches!(args.command, Command::Sweep(_)));
    let files = match RunFiles::from_args(&args.command) {
        Ok(files) => files,
        Err(outcome) => return exit_with(&outcome),
    };
    let threads = args.threads();
    if let Err(error) = limits::check(threads) {
        return exit_with(&Outcome::from(error));
    }
    let outcome = block_on(threads, LAST_WORK, until_stopped(args.command, threads, args.memory_limit, &files))
        .unwrap_or_else(|error| no_threads(&error));
    files.write(&outcome);
    spans.finish();
    exit_with(&outcome)
}

/// Runs a future on a new runtime. Threads that are still computing afterwards have the time `last_work` to remove
/// their spill files.
fn block_on<T>(threads: usize, last_work: Duration, future: impl Future<Output = T>) -> std::io::Result<T> {
    // The pool is set once per process, and no other code sets it, so only starting a thread can fail.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| std::io::Error::new(std::io::ErrorKind::WouldBlock, error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let output = runtime.block_on(future);
    runtime.shutdown_timeout(last_work);
    Ok(output)
}

fn no_threads(error: &std::io::Error) -> Outcome {
    Outcome::from(limits::no_threads(error))
}

/// Prints the outcome and returns the exit code.
fn exit_with(outcome: &Outcome) -> u8 {
    outcome.print();
    outcome.exit_code()
}

/// Prints help if requested, and the usage error otherwise.
fn report_usage_error(error: &clap::Error) -> u8 {
    let _ = error.print();
    if !error.use_stderr() {
        return 0;
    }
    let text = error.render().to_string();
    // The error ends at the first empty line; the usage follows it.
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    exit_with(&Outcome::usage(lines.join(" ").trim_start_matches("error: ")))
}

/// Time that computation may take after a command has ended.
const LAST_WORK: Duration = Duration::from_secs(5);

/// Time that a job has after a signal to remove its staging. Schedulers kill after 30 seconds or more.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a command, or stops it on a signal. A job then removes its staging; one that is already committing completes
/// its release, and its outcome is returned.
async fn until_stopped(command: Command, threads: usize, memory_limit: Option<u64>, files: &RunFiles) -> Outcome {
    // Writes must fail with an error instead of a signal, so that the staging is removed.
    signals::ignore_file_size_signal();
    let (stopper, stop) = Stopper::new();
    let stages = matches!(command, Command::Run(_) | Command::Demo(_) | Command::Studio(_));
    let sql = matches!(command, Command::Sql(_));
    if matches!(&command, Command::Sql(args) if args.is_shell()) {
        // A signal ends a statement of the shell, but not the shell.
        return commands::run(command, threads, memory_limit, stop, files).await;
    }
    let mut running = std::pin::pin!(commands::run(command, threads, memory_limit, stop, files));
    let signal = tokio::select! {
        // The handlers are installed before the command begins, so that a signal never leaves staged files behind.
        biased;
        signal = stop_signal() => signal,
        outcome = &mut running => return outcome,
    };
    let code = signal.exit_code();
    stopper.stop();
    if sql {
        return Outcome::broken(code, "stopped by a signal");
    }
    let stopped = Outcome::failure(code, "stopped by a signal; nothing was published");
    if !stages {
        return stopped;
    }
    match tokio::time::timeout(GRACE, running).await {
        Ok(outcome) if outcome.exit_code() == 0 => outcome,
        Ok(_) => stopped,
        Err(_) => {
            Outcome::failure(code, "stopped by a signal while storage did not answer; look at the output location")
        }
    }
}
