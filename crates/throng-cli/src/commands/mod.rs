//! The commands, one file each.

mod check;
mod demo;
mod generate;
mod run;
mod schema;
mod verify;

use std::sync::Arc;

use throng_pipeline::JobOptions;

use crate::args::{Command, Generate};
use crate::outcome::Outcome;
use crate::progress::observer;

/// Runs a command to its end.
pub(crate) async fn run(command: Command, threads: usize) -> Outcome {
    let options = JobOptions { threads, observer: observer() };
    let result = match command {
        Command::Run(args) => run::run(&args, &options).await,
        Command::Check(args) => check::check(&args, &options).await,
        Command::Verify(args) => verify::verify(&args, &options).await,
        Command::Schema => schema::schema(),
        Command::Generate(Generate::Census(args)) => generate::census(args).await,
        Command::Demo(args) => demo::demo(&args, &options).await,
    };
    // The bar goes away before the last words.
    drop(Arc::clone(&options.observer));
    drop(options);
    result.unwrap_or_else(Outcome::from)
}
