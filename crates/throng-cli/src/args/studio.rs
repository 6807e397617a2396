//! The command line of `throng studio`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct StudioArgs {
    /// The table (a file, a folder, a glob or a URL), or a policy (.toml); a page can open others from the working folder
    #[arg(value_name = "DATA|POLICY")]
    pub(crate) location: Option<String>,

    /// Port of the loopback interface [default: a free one]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,

    /// Do not open a browser; open the address on stdout yourself
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Show values of the table in previews of hierarchies and in classes; without it, names, counts and shares only
    #[arg(long)]
    pub(crate) show_values: bool,

    /// End when the last page is closed
    #[arg(long)]
    pub(crate) exit_when_closed: bool,
}
