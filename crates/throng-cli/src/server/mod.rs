//! `throng-cluster`: the scheduler and the executors of a compute cluster.

mod args;
mod engine_log;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use throng_cluster::{run_executor, run_scheduler};
use throng_job::JobError;
use tracing::info;

use crate::logging::{self, LogScope};
use crate::outcome::Outcome;
use crate::panics::hide_panic_messages;
use crate::signals::stop_signal;
use crate::{block_on, exit_with, no_threads, report_usage_error};
use args::{ServerArgs, ServerCommand};
pub(crate) use engine_log::EngineLog;

/// Time that the tasks of an executor have after a signal. Platforms kill after 30 seconds or more.
const GRACE: Duration = Duration::from_secs(20);

/// Time that threads have after that.
const LAST_WORK: Duration = Duration::from_secs(2);

/// Runs `throng-cluster` with the arguments of this process, and returns its exit code. Sets the panic hook, rayon's
/// global pool and the loggers of the process.
pub fn throng_cluster() -> ExitCode {
    hide_panic_messages("throng-cluster");
    let args = match ServerArgs::try_parse() {
        Ok(args) => args,
        Err(error) => return ExitCode::from(report_usage_error(&error)),
    };
    let spans = logging::start(&args.logs, LogScope::Server, false);
    let ended = block_on(args.command.threads(), LAST_WORK, run(&args.command));
    spans.finish();
    ExitCode::from(exit_with(&match ended {
        Ok(Ok(())) => Outcome::success(String::new(), json!({ "outcome": "success" })),
        Ok(Err(error)) => error.into(),
        Err(error) => no_threads(&error),
    }))
}

/// Runs a server until it fails, or until a signal ends it successfully.
async fn run(command: &ServerCommand) -> Result<(), JobError> {
    match command {
        ServerCommand::Scheduler(args) => {
            let options = args.options()?;
            tokio::select! {
                ended = run_scheduler(&options) => ended,
                signal = stop_signal() => {
                    info!(?signal, "the scheduler ends");
                    Ok(())
                }
            }
        }
        ServerCommand::Executor(args) => {
            let stop = async {
                let signal = stop_signal().await;
                info!(?signal, "the executor ends");
            };
            run_executor(&args.options()?, stop, GRACE).await
        }
    }
}

#[cfg(test)]
mod deploy_tests;
