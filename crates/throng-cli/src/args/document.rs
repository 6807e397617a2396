//! The command lines of `throng completions` and `throng man`.

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell, whose documentation says where completions belong
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// A command, and one below it, such as `hierarchy make`; none for throng itself
    pub(crate) command: Vec<String>,
}
