//! `throng`: turns a table of people into one that can be released.

mod args;
mod commands;
mod logging;
#[cfg(feature = "otel")]
mod otel;
mod outcome;
mod progress;
mod telemetry;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use throng_pipeline::Stopper;

use args::{Args, Command};
use outcome::{Outcome, tell};
use telemetry::RunFiles;

/// Gives memory that one thread has freed to the others, where the system's allocator keeps it back for each of them.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    hide_panics();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return told(&error),
    };
    let spans = logging::start(args.log_format, args.verbose);
    let files = match RunFiles::asked_for(&args.command) {
        Ok(files) => files,
        Err(outcome) => return ended(&outcome),
    };
    let threads = args.threads();
    // The pool is set once per process; there is no other caller that could have set it before.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(until_stopped(args.command, threads, args.memory_limit, &files));
            // Work that notices late that it was stopped gives back its spill files first.
            runtime.shutdown_timeout(LAST_WORK);
            outcome
        }
        Err(error) => Outcome::failure(75, &format!("no threads could be started: {error}")),
    };
    files.write(&outcome);
    spans.finish();
    ended(&outcome)
}

/// The last words.
fn ended(outcome: &Outcome) -> ExitCode {
    outcome.print();
    ExitCode::from(outcome.exit_code())
}

/// Shows help where it was asked for, and else what is wrong with the command line.
fn told(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    // What is wrong goes up to the first empty line; how a command is called comes after it.
    let wrong: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    ended(&Outcome::usage(wrong.join(" ").trim_start_matches("error: ")))
}

/// How long computation may go on after the last word of a command.
const LAST_WORK: Duration = Duration::from_secs(5);

/// How long a job may take to remove what it has staged, after a signal. Schedulers kill after 30 seconds or more.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a command, or stops it when the process is asked to. A job then removes what it has staged; one that is already
/// committing its release completes it, and says so.
async fn until_stopped(command: Command, threads: usize, memory_limit: Option<u64>, files: &RunFiles) -> Outcome {
    let (stopper, stop) = Stopper::new();
    let stages = matches!(command, Command::Run(_) | Command::Demo(_));
    let sql = matches!(command, Command::Sql(_));
    if matches!(&command, Command::Sql(args) if args.is_shell()) {
        // A signal ends a statement of the shell, and not the shell.
        return commands::run(command, threads, memory_limit, stop, files).await;
    }
    let mut running = std::pin::pin!(commands::run(command, threads, memory_limit, stop, files));
    let code = tokio::select! {
        // Signals are heard before the command begins, so that nothing is ever staged that a signal would leave behind.
        biased;
        code = stop_signal() => code,
        outcome = &mut running => return outcome,
    };
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

#[cfg(unix)]
async fn stop_signal() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        },
        _ => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn stop_signal() -> u8 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 130,
        Err(_) => std::future::pending().await,
    }
}

/// The message of a panic may quote data, so only its place is told; nothing of one that becomes an error of a file.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if throng_pipeline::is_decoding() {
            return;
        }
        tell(&told_of_panic(panic.location()));
    }));
}

fn told_of_panic(location: Option<&std::panic::Location<'_>>) -> String {
    let place = location.map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    format!("throng: internal error{place}; please report it with the policy and the schema")
}

#[cfg(test)]
mod tests {
    use super::told_of_panic;

    #[test]
    fn a_panic_is_told_by_its_place() {
        let told = told_of_panic(Some(std::panic::Location::caller()));
        assert!(told.starts_with("throng: internal error at ") && told.contains("main.rs:"), "{told}");
        assert!(told_of_panic(None).starts_with("throng: internal error; please report"));
    }
}
