//! The arguments of `throng report`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// The metrics.json of a release, or the folder or URL of the release
    pub(crate) metrics: String,

    /// Where the page is written
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
}
