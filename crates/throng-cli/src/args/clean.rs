//! What `throng clean` takes.

use std::time::Duration;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct CleanArgs {
    /// A policy file, whose output is cleaned; or the location of an output
    #[arg(value_name = "POLICY|LOCATION")]
    pub(crate) target: String,

    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// On a store: treat a run as dead that has written nothing for this long, like 90min or 24h [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) older_than: Option<Duration>,
}

fn time(text: &str) -> Result<Duration, String> {
    throng_policy::parse_time_span(text).ok_or_else(|| "give a time such as 30s, 90min or 24h".to_owned())
}
