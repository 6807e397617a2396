//! The command line of `throng hierarchy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum HierarchyCommand {
    /// Make a hierarchy file for a column of a table, with a builder
    ///
    /// The builder is what would stand behind `hierarchy =` in a policy: `intervals = [5, 10, 20]`, `width = 5, levels = 3`,
    /// `date = ["month", "year"]`, `mask = "right"`. The file (ARX convention) has one line for each distinct value of the
    /// column, so keep it where the table is kept, and edit it where a rule knows less than you do.
    Make(MakeArgs),
    /// Check a hierarchy file, and whether it knows every value of a column
    ///
    /// Values that are missing are counted and never listed. Exit code 65 when there are any, 78 when the file itself is
    /// no hierarchy (repeated values, values with two parents, cycles, lines of different lengths).
    Check(CheckArgs),
    /// Print a hierarchy file as a tree
    Print(PrintArgs),
    /// Convert between a hierarchy file (ARX CSV) and the tree of a policy (TOML)
    ///
    /// `country.csv` becomes `hierarchy = { tree = ... }`, to be put below a column of a policy, and a .toml file with
    /// such a line becomes the lines of a file.
    Convert(ConvertArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// The table: a file, a folder, a glob or a URL
    pub(crate) data: String,

    /// The column of the table
    #[arg(long, value_name = "COLUMN")]
    pub(crate) column: String,

    /// The builder, as in a policy: `intervals = [5, 10, 20]`
    #[arg(long, value_name = "RULE")]
    pub(crate) builder: String,

    /// The hierarchy file; one that is already there is not replaced
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The hierarchy: a .csv file in the convention of ARX, or a .toml file with `hierarchy = { tree = ... }`
    pub(crate) file: PathBuf,

    /// A table whose column it is for
    #[arg(requires = "column")]
    pub(crate) data: Option<String>,

    /// The column of the table
    #[arg(long, value_name = "COLUMN", requires = "data")]
    pub(crate) column: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PrintArgs {
    /// The hierarchy: a .csv file in the convention of ARX, or a .toml file with `hierarchy = { tree = ... }`
    pub(crate) file: PathBuf,

    /// Print this many levels below the root [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The hierarchy: a .csv file in the convention of ARX, or a .toml file with `hierarchy = { tree = ... }`
    pub(crate) file: PathBuf,

    /// Where the other form goes, instead of stdout; a file that is already there is not replaced
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
