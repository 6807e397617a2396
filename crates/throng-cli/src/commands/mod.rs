//! The commands, one file each.

mod check;
mod demo;
mod generate;
mod run;
mod schema;
mod sql;
mod verify;

use throng_pipeline::{JobOptions, Stop};

use crate::args::{Command, Generate};
use crate::outcome::Outcome;
use crate::progress::observer;

/// Runs a command to its end.
pub(crate) async fn run(command: Command, threads: usize, stop: Stop) -> Outcome {
    // The progress bar of a job goes away with its options, before the last words.
    let job = || JobOptions { threads, observer: observer(), stop: stop.clone() };
    let result = match command {
        Command::Run(args) => run::run(&args, &job()).await,
        Command::Check(args) => check::check(&args, &job()).await,
        Command::Verify(args) => verify::verify(&args, &job()).await,
        Command::Sql(args) => Ok(sql::sql(args, threads).await),
        Command::Schema => schema::schema(),
        Command::Generate(Generate::Census(args)) => generate::census(args).await,
        Command::Demo(args) => demo::demo(&args, &job).await,
    };
    result.unwrap_or_else(Outcome::from)
}
