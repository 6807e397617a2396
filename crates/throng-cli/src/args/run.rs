//! The command line of `throng run`.

use std::path::PathBuf;

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
    /// `mode = "overwrite"`: with `mode = "error"`, a release that stands is left alone if nothing has changed (exit code
    /// 0), and refused as always if something has (exit code 78).
    #[arg(long)]
    pub(crate) if_changed: bool,

    /// Begin a new series of releases, for a policy with `mode = "series"`
    ///
    /// The release takes the place of the one that stands, and is checked against none before it: someone who keeps releases
    /// of the old series may learn more from both than either promises. Needed when the ledger is lost, or the policy has
    /// changed.
    #[arg(long, conflicts_with = "if_changed")]
    pub(crate) rebase: bool,

    /// Write metrics of the run here when it is over, also when it has failed: text for the textfile collector of
    /// Prometheus' node_exporter
    #[arg(long, value_name = "PATH")]
    pub(crate) metrics_file: Option<PathBuf>,

    /// Write the lineage of the run here when it is over, also when it has failed: an OpenLineage event with the origin
    /// of every column, as one line of JSON
    #[arg(long, value_name = "PATH")]
    pub(crate) lineage_file: Option<PathBuf>,
}
