//! The commands, one file each.

mod bound;
mod check;
mod clean;
mod demo;
mod document;
mod follow;
mod generate;
mod hierarchy;
mod init;
mod lab;
mod plan;
mod report;
mod risk;
mod run;
mod schema;
mod sql;
mod studio;
mod sweep;
mod text_table;
mod verify;
mod verify_series;

pub use bound::json as bound_json;
pub use check::json as check_json;
pub use lab::measured;
pub use plan::json as plan_json;
pub use risk::json as risk_json;
pub use run::append_json;
pub use sweep::json as sweep_json;
pub use verify::{Promised, json as verify_json, verify_location_json, verify_table_json};

use throng_job::{JobOptions, Stop};

use crate::args::{Command, Generate};
use crate::outcome::Outcome;
use crate::progress::observer;
use crate::telemetry::RunFiles;

/// Runs a command to completion.
pub(crate) async fn run(
    command: Command,
    threads: usize,
    memory_limit: Option<u64>,
    stop: Stop,
    files: &RunFiles,
) -> Outcome {
    // The progress bar of a job is dropped with its options, before the outcome is printed.
    let job =
        || JobOptions { threads, memory_limit, observer: observer(), stop: stop.clone(), ..JobOptions::default() };
    let result = match command {
        Command::Run(args) => run::run(&args, job(), files).await,
        Command::Check(args) => check::check(&args, &job()).await,
        Command::Bound(args) => bound::bound(&args, &job()).await,
        Command::Plan(args) => plan::plan(&args, &job()).await,
        Command::Verify(args) => verify::verify(&args, &job()).await,
        Command::Sql(args) => Ok(sql::sql(args, threads, memory_limit).await),
        Command::Report(args) => report::report(&args).await,
        Command::Sweep(args) => sweep::sweep(&args, &job()).await,
        Command::Studio(args) => studio::studio(args, threads, memory_limit, stop).await,
        Command::Clean(args) => clean::clean(&args).await,
        Command::Schema => schema::schema(),
        Command::Generate(Generate::Census(args)) => generate::census(args).await,
        Command::Demo(args) => demo::demo(&args, &job).await,
        Command::Init(args) => init::init(&args, &job()).await,
        Command::Utility(args) => lab::utility(&args, &job()).await,
        Command::Attack(args) => lab::attack(&args, &job()).await,
        Command::Diff(args) => lab::diff(&args, &job()).await,
        Command::Risk(args) => risk::risk(&args, &job()).await,
        Command::Hierarchy(command) => hierarchy::hierarchy(&command, &job()).await,
        Command::Completions(args) => document::completions(&args),
        Command::Man(args) => document::man(&args),
    };
    result.unwrap_or_else(Outcome::from)
}
