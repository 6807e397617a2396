//! The command line of `throng sql`.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use super::ClusterArgs;

#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    #[command(flatten)]
    scripts: Scripts,

    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: SqlFormat,

    /// Show at most this many rows of a table [default: 100 on a terminal, else all]
    #[arg(long, value_name = "N")]
    pub(crate) max_rows: Option<usize>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// For people; the rows of a result are held in memory.
    Table,
    /// With a header; null is an empty field.
    Csv,
    /// Like csv, with tabs.
    Tsv,
    /// One array of objects for each statement.
    Json,
    /// One object for each row.
    Ndjson,
}

/// Where statements come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Written on the command line.
    Text(String),
    File(PathBuf),
    Stdin,
}

impl SqlArgs {
    /// Whether statements are typed at a terminal.
    pub(crate) fn is_shell(&self) -> bool {
        self.scripts.0.is_empty() && std::io::stdin().is_terminal()
    }

    /// The scripts to run, outside of the shell.
    pub(crate) fn scripts(&self) -> Vec<Script> {
        if self.scripts.0.is_empty() { vec![Script::Stdin] } else { self.scripts.0.clone() }
    }
}

/// The values of -c and -f, in the order in which they were written. Clap's derive keeps no order between options.
#[derive(Debug)]
struct Scripts(Vec<Script>);

impl FromArgMatches for Scripts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let places = |id: &str| matches.indices_of(id).into_iter().flatten();
        let texts = matches.get_many::<String>("command").into_iter().flatten().cloned().map(Script::Text);
        let files = matches.get_many::<PathBuf>("file").into_iter().flatten().map(|path| match path.to_str() {
            Some("-") => Script::Stdin,
            _ => Script::File(path.clone()),
        });
        let mut scripts: Vec<_> = places("command").zip(texts).chain(places("file").zip(files)).collect();
        scripts.sort_by_key(|(place, _)| *place);
        Ok(Self(scripts.into_iter().map(|(_, script)| script).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Scripts {
    fn augment_args(command: Command) -> Command {
        let text = Arg::new("command").short('c').long("command").value_name("SQL");
        let file = Arg::new("file").short('f').long("file").value_name("FILE");
        command
            .arg(text.action(ArgAction::Append).help("Run these statements; may be repeated, and mixed with -f"))
            .arg(
                file.action(ArgAction::Append)
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("Run the statements of this file (- for standard input); may be repeated"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
