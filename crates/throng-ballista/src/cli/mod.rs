//! The command line: what was asked for, until it is done or a signal ends it.

mod args;
mod logging;
mod print;
mod run;
mod sql;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};
use throng_ballista::{run_executor, run_scheduler};
use throng_pipeline::{JobError, Kind, Stopper};
use tokio::time::timeout;
use tracing::info;

use args::{Args, Command};

/// How long the tasks of an executor may go on after a signal. Platforms kill after 30 seconds or more.
const GRACE: Duration = Duration::from_secs(20);

/// How long threads may go on after the last word.
const LAST_WORK: Duration = Duration::from_secs(2);

pub(crate) fn main() -> ExitCode {
    hide_panics();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let is_sql = matches!(args.command, Command::Sql(_));
    logging::start(args.log_format, args.verbose, !is_sql);
    let threads = args.command.threads();
    // The pool is set once per process; there is no other caller that could have set it before.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(run(&args.command));
            runtime.shutdown_timeout(LAST_WORK);
            ended
        }
        Err(error) => Err(JobError::new(Kind::TemporaryIo, format!("no threads could be started: {error}"))),
    };
    last_words(ended, is_sql)
}

/// Runs a command. A server that ends because a signal asked it to has done what it should.
async fn run(command: &Command) -> Result<Value, JobError> {
    let done = || json!({ "outcome": "success" });
    match command {
        Command::Scheduler(args) => {
            let options = args.options();
            tokio::select! {
                ended = run_scheduler(&options) => ended?,
                signal = stop_signal() => info!(signal, "the scheduler ends"),
            }
            Ok(done())
        }
        Command::Executor(args) => {
            let options = args.options()?;
            let mut running = std::pin::pin!(run_executor(&options));
            tokio::select! {
                ended = &mut running => ended?,
                signal = stop_signal() => {
                    info!(signal, "the executor ends");
                    // It has heard the signal itself, unless it was still waiting for its scheduler.
                    timeout(GRACE, running).await.unwrap_or(Ok(()))?;
                }
            }
            Ok(done())
        }
        Command::Sql(args) => {
            tokio::select! {
                ended = sql::sql(args) => ended.map(|()| done()),
                _ = stop_signal() => Err(JobError::new(Kind::Stopped, "stopped by a signal")),
            }
        }
        Command::Run(args) => {
            let (stopper, stop) = Stopper::new();
            let mut running = std::pin::pin!(run::run(args, command.threads(), stop));
            tokio::select! {
                ended = &mut running => ended,
                _ = stop_signal() => {
                    // It takes back what it has staged.
                    stopper.stop();
                    running.await
                }
            }
        }
    }
}

/// What people and scripts are told in the end. SQL has printed its results already.
fn last_words(ended: Result<Value, JobError>, is_sql: bool) -> ExitCode {
    let (code, outcome) = match ended {
        Ok(outcome) => (0, outcome),
        Err(error) => {
            let code = error.kind().exit_code();
            tell(&format!("error: {error}"));
            (code, json!({ "outcome": "error", "exit_code": code, "error": error.to_string() }))
        }
    };
    if !is_sql {
        let _ = writeln!(std::io::stdout(), "{outcome}");
    }
    ExitCode::from(code)
}

/// A line for people, on stderr. Nobody may be listening any more.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(unix)]
async fn stop_signal() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        },
        _ => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn stop_signal() -> &'static str {
    match tokio::signal::ctrl_c().await {
        Ok(()) => "Ctrl-C",
        Err(_) => std::future::pending().await,
    }
}

/// The message of a panic may quote data, so only its place is told; nothing of one that becomes an error of a file.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if throng_pipeline::is_decoding() {
            return;
        }
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        tell(&format!("throng-cluster: internal error{place}; please report it with the policy and the schema"));
    }));
}

#[cfg(test)]
mod deploy_tests;
