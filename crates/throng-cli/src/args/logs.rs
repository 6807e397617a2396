//! The options of logging, which every command of both binaries has.

use clap::{Args as ClapArgs, ValueEnum};

use super::EVERY;

#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// How logs are written to stderr
    #[arg(
        long,
        global = true,
        env = "THRONG_LOG_FORMAT",
        help_heading = EVERY,
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,

    /// Log more; twice for everything
    #[arg(short, long, global = true, help_heading = EVERY, action = clap::ArgAction::Count)]
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
