//! `throng completions` and `throng man`: shell completions and manual pages.

use clap::CommandFactory;
use throng_job::{JobError, Kind};

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::outcome::{Outcome, write_out};

pub(super) fn completions(args: &CompletionsArgs) -> Result<Outcome, JobError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "throng", &mut text);
    print(text)
}

pub(super) fn man(args: &ManArgs) -> Result<Outcome, JobError> {
    let mut command = Args::command();
    // Propagates global options to the subcommands, and sets the name of each page, such as throng-run.
    command.build();
    let mut name = String::from("throng");
    for below in &args.command {
        name = format!("{name} {below}");
        let Some(found) = command.find_subcommand(below).cloned() else {
            return Err(JobError::new(Kind::BadQuery, format!("there is no command `{name}`")));
        };
        command = found;
    }
    let mut text = Vec::new();
    let written = clap_mangen::Man::new(command).render(&mut text);
    written.map_err(|_| JobError::new(Kind::Internal, "the manual page could not be written"))?;
    print(text)
}

fn print(text: Vec<u8>) -> Result<Outcome, JobError> {
    let text = String::from_utf8(text).map_err(|_| JobError::new(Kind::Internal, "what was written is not text"))?;
    write_out(text.trim_end());
    Ok(Outcome::printed())
}
