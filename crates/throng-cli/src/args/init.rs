//! The command line of `throng init`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The table: a file, a folder, a glob or a URL; or several, which are read as one
    #[arg(required = true)]
    pub(crate) data: Vec<String>,

    /// Where the policy goes; a file that is already there is not replaced
    #[arg(short, long, value_name = "FILE", default_value = "policy.toml")]
    pub(crate) output: PathBuf,
}
