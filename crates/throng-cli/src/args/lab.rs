//! The command lines of `throng utility`, `throng attack` and `throng diff`.

use std::path::PathBuf;

use clap::Args;

/// Where the roles of columns come from: a policy, or names.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("roles").required(true).multiple(true).args(["policy", "quasi"]))]
pub(crate) struct RoleArgs {
    /// Take the columns, k and p from this policy
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["quasi", "sensitive"])]
    pub(crate) policy: Option<PathBuf>,

    /// The quasi-identifiers, by their names in the original
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) quasi: Vec<String>,

    /// The sensitive columns
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) sensitive: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct UtilityArgs {
    /// The release: a file, a folder, a glob or a URL
    pub(crate) release: String,

    /// The table that was released
    #[arg(long, value_name = "DATA")]
    pub(crate) original: String,

    #[command(flatten)]
    pub(crate) roles: RoleArgs,

    /// The column that models predict from the quasi-identifiers [default: the first sensitive one]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,

    /// How many random questions with one, two and three conditions each
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) queries: u32,

    /// Drives every random choice
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct AttackArgs {
    /// The release: a file, a folder, a glob or a URL
    pub(crate) release: String,

    /// The table that was released
    #[arg(long, value_name = "DATA")]
    pub(crate) original: String,

    /// The policy of the release
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: PathBuf,

    /// Earlier releases of the same people; may be repeated
    #[arg(long, alias = "against", value_name = "RELEASE", num_args = 1..)]
    pub(crate) previous: Vec<String>,

    /// People of the same population who are not in the table, with the same quasi-identifiers
    #[arg(long, value_name = "DATA")]
    pub(crate) population: Option<String>,

    /// How many people are attacked
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) targets: u32,

    /// Also guess who of two people has which value, and run Throng on each guess this many times; reads the original into memory
    #[arg(long, value_name = "TRIALS", default_value_t = 0)]
    pub(crate) oracle: u32,

    /// Exit with 4 if an attack gains more than this
    #[arg(long, value_name = "GAIN")]
    pub(crate) max_gain: Option<f64>,

    /// Drives every random choice
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first release: a file, a folder, a glob or a URL
    pub(crate) first: String,

    /// The second release
    pub(crate) second: String,

    #[command(flatten)]
    pub(crate) roles: RoleArgs,

    /// The policy of the second release, if it has another
    #[arg(long, value_name = "POLICY", requires = "policy")]
    pub(crate) policy_b: Option<PathBuf>,

    /// Take people from this table, instead of drawing them from the labels of the first release
    #[arg(long, value_name = "DATA", conflicts_with = "link")]
    pub(crate) original: Option<String>,

    /// A column that both releases show unchanged, and by which a row of one is found in the other
    #[arg(long, value_name = "COLUMN")]
    pub(crate) link: Option<String>,

    /// Count people with fewer candidates than this [default: k of the policy, or 2]
    #[arg(short, long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) k: Option<u64>,

    /// Count people with fewer possible values than this [default: p of the policy, or 2]
    #[arg(short, long, value_name = "VALUES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) p: Option<u64>,

    /// How many people of the original are examined
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) targets: u32,

    /// Drives every random choice
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
}
