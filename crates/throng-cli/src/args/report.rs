//! The arguments of `throng report`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::page;

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// The metrics.json of a release, or the folder or URL of the release
    pub(crate) metrics: String,

    /// Write the page to this file (.html)
    #[arg(short, long, value_name = "FILE", default_value = "report.html", value_parser = page)]
    pub(crate) output: PathBuf,
}
