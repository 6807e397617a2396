//! The commands, one file each.

mod check;
mod demo;
mod generate;
mod run;
mod schema;
mod verify;

use throng_pipeline::JobOptions;

use crate::args::{Command, Generate};
use crate::outcome::Outcome;
use crate::progress::observer;

/// Runs a command to its end.
pub(crate) async fn run(command: Command, threads: usize) -> Outcome {
    let result = match command {
        Command::Run(args) => run::run(&args, threads).await,
        Command::Check(args) => check::check(&args, threads).await,
        Command::Verify(args) => verify::verify(&args, threads).await,
        Command::Schema => schema::schema(),
        Command::Generate(Generate::Census(args)) => generate::census(args).await,
        Command::Demo(args) => demo::demo(&args, threads).await,
    };
    result.unwrap_or_else(Outcome::from)
}

/// Options for one job. Its progress bar goes away with them.
fn job(threads: usize) -> JobOptions {
    JobOptions { threads, observer: observer() }
}
