//! The command line of `throng run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

use super::{ClusterArgs, PolicyArgs};

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Do nothing if the release at the output was made from the same input by the same policy and version
    ///
    /// Reads no rows to find out: the location, size, time and tag of every input file must be as they were, and the files
    /// of the release must all be there. Wherever there is a doubt, the job runs. A scheduled job wants this together with
    /// `mode = "overwrite"`: with `mode = "error"`, an existing release is left alone if nothing has changed (exit code
    /// 0), and refused as always if something has (exit code 78).
    #[arg(long)]
    pub(crate) if_changed: bool,

    /// Begin a new series of releases, for a policy with `mode = "series"`
    ///
    /// The release replaces the current one, and is not checked against earlier ones: someone who keeps releases
    /// of the old series may learn more from both than either promises. Needed when the ledger is lost, or the policy has
    /// changed.
    #[arg(long, conflicts_with = "if_changed")]
    pub(crate) rebase: bool,

    /// Watch the input for new files, and append their rows to the release as they come, for a policy with `mode = "append"`
    ///
    /// Prints the outcome of each append as a line of JSON. New files whose rows alone can't satisfy the policy wait for more
    /// files. Local files are taken when nothing was written to them for two seconds. Ends at SIGTERM or SIGINT with exit code
    /// 0, after the append that is under way, and at an error that trying again would not help.
    #[arg(long, conflicts_with_all = ["if_changed", "rebase", "cluster"])]
    pub(crate) follow: bool,

    /// How long to wait before looking for new files again
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = poll_interval, requires = "follow")]
    pub(crate) poll: Duration,

    /// Write metrics of the run here when it is over, also when it has failed: text for the textfile collector of
    /// Prometheus' node_exporter
    #[arg(long, value_name = "PATH")]
    pub(crate) metrics_file: Option<PathBuf>,

    /// Write the lineage of the run here when it is over, also when it has failed: an OpenLineage event with the origin
    /// of every column, as one line of JSON
    #[arg(long, value_name = "PATH")]
    pub(crate) lineage_file: Option<PathBuf>,
}

fn poll_interval(text: &str) -> Result<Duration, String> {
    throng_policy::parse_time_span(text).ok_or_else(|| "give a time such as 500ms, 30s or 5min".to_owned())
}
