//! The command line, as it was written.

mod bound;
mod clean;
mod cluster;
mod cluster_security;
mod document;
mod hierarchy;
mod init;
mod lab;
mod logs;
mod report;
mod risk;
mod run;
mod sql;
mod studio;
mod sweep;
mod values;

pub(crate) use bound::BoundArgs;
pub(crate) use clean::CleanArgs;
pub(crate) use cluster::ClusterArgs;
pub(crate) use cluster_security::ClusterSecurityArgs;
pub(crate) use document::{CompletionsArgs, ManArgs};
pub(crate) use hierarchy::HierarchyCommand;
pub(crate) use init::InitArgs;
pub(crate) use lab::{AttackArgs, DiffArgs, RoleArgs, UtilityArgs};
pub(crate) use logs::{LogArgs, LogFormat};
pub(crate) use report::ReportArgs;
pub(crate) use risk::{RiskArgs, RiskFormat};
pub(crate) use run::RunArgs;
pub(crate) use sql::{Script, SqlArgs, SqlFormat};
pub(crate) use studio::StudioArgs;
pub(crate) use sweep::SweepArgs;
pub use sweep::algorithm;
pub(crate) use values::bytes;
use values::{page, share};

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use throng_policy::Overrides;

/// Output of `--version`. A build that leaks on purpose says so.
const VERSION: &str = if cfg!(feature = "leaky") {
    concat!(env!("CARGO_PKG_VERSION"), " LEAKY, for tests only")
} else {
    env!("CARGO_PKG_VERSION")
};

/// Above the options that every command has.
const EVERY: &str = "Options of every command";

/// Turns a table of people into one that can be released: p-sensitive k-anonymity for Parquet, CSV and Arrow.
///
/// Every class of people who look alike in the release has at least k members, and at least p different values of every
/// sensitive column. A release appears only after it has been read back and verified.
#[derive(Debug, Parser)]
#[command(
    name = "throng",
    version = VERSION,
    arg_required_else_help = true,
    after_help = "Start here:\n  \
        throng demo                  release a synthetic census and verify it\n  \
        throng studio people.parquet write a policy by looking, in the browser\n  \
        throng init people.parquet   draft a policy for a table of your own\n  \
        throng check policy.toml     list what is open or wrong in it, write nothing\n  \
        throng run policy.toml       release\n\n\
        Logs go to stderr. The last line on stdout is one JSON object with the outcome,\n\
        except of commands that print a document: schema, sql, completions, man,\n\
        hierarchy print and hierarchy convert.\n\n\
        Exit codes: 0 done, 2 usage, 3 privacy target can't be met,\n\
        4 verification failed, 65 bad data, 66 no input, 70 internal error,\n\
        75 temporary I/O failure (try again), 78 bad policy."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// How many threads to use [default: all cores]
    #[arg(long, global = true, help_heading = EVERY, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Keep the process within this much memory, like 512MiB or 4GB; rows that do not fit are spilled to disk
    #[arg(long, global = true, help_heading = EVERY, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

impl Args {
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(cores, usize::from)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at a table and draft a policy for it, with a reason for every line
    ///
    /// What a table does not show is left as a question, `"?"`, which `check` and `run` insist on. The draft holds
    /// names of columns, counts and round numbers, and no value of the table.
    Init(InitArgs),
    /// Check a policy against its input: names, types, hierarchies, and whether k and p can be met
    ///
    /// Reads the input and writes nothing. Names every problem with its place in the policy file, and for each sensitive
    /// column the highest p that would work.
    Check(PolicyArgs),
    /// Anonymize the input of a policy, verify the release and publish it
    ///
    /// Reads Parquet, CSV or Arrow files, a folder or a glob; writes Parquet with `_throng/manifest.json`,
    /// `_throng/metrics.json` and `_SUCCESS`. Nothing is visible before it is verified, and an error removes what was
    /// staged.
    Run(RunArgs),
    /// Recompute the promises of a release from its values alone
    ///
    /// Works on any table, also on one that Throng has not made: `throng verify released/ --quasi age,zip --sensitive
    /// diagnosis -k 5 -p 2`. With --policy the columns, k and p are taken from there.
    Verify(VerifyArgs),
    /// Write a page about a release for people: the promise, the risk before and after, what was lost
    ///
    /// One HTML file that fetches nothing and needs no script. `report = true` under `[output]` publishes it with the release.
    Report(ReportArgs),
    /// Count the rows that could be found in a table as it is, and the columns that single them out
    ///
    /// Rows are counted: several rows of a person look like several people. A class is all rows with the same
    /// quasi-identifiers; someone who knows those of a person in a class of f rows finds the right row with a probability
    /// of 1/f. Prosecutor: the highest and average of it, and the rows above a threshold. Journalist and marketer look
    /// people up in a register of the population; the table stands in for it, so theirs are upper bounds. The share of a
    /// column is the part of the average risk that goes away when it is not known.
    Risk(RiskArgs),
    /// Measure how well a release answers the questions that the original would answer
    ///
    /// Random counts with one to three conditions, distributions of columns, association of pairs, models that are trained on
    /// the release and tested on the original. Values inside a label are assumed to be evenly spread. Works on any release, also on one
    /// that Throng has not made.
    Utility(UtilityArgs),
    /// Attack a release as an intruder would, and measure the gain
    ///
    /// Each attack has a chance of success without what it adds (prior), with the release, and with the original in place of
    /// the release. Gain is release / prior. With `[privacy.attacks] max_gain` in the policy, or --max-gain, a larger gain is
    /// an error, and `throng run` publishes nothing.
    Attack(AttackArgs),
    /// Find out what two releases of the same people reveal together
    ///
    /// Counts people with fewer than k candidates, or fewer than p possible values, for an intruder who compares the classes
    /// that cover a person in both. Works on released files alone, also on those that Throng has not made, and on releases
    /// under two policies.
    Diff(DiffArgs),
    /// Try out a grid of k, p and algorithms, and list the risk and the loss of each
    ///
    /// Reads the input once and publishes nothing. Every figure is that of recoded classes that were checked against their
    /// policy. A combination that can't be kept says why. `--utility` adds the errors of random counts.
    Sweep(SweepArgs),
    /// Prove how much any release under a policy loses at least, and how near to that its own release comes
    ///
    /// Reads the input and publishes nothing. Forms the classes of the policy in memory, and computes a lower bound of the
    /// loss of every release that keeps the policy. `bound = true` under `[algorithm]` puts both into the sidecar and the report.
    Bound(BoundArgs),
    /// Open a page on this machine on which a policy is written by looking at its effects
    ///
    /// Shows the columns of a table with their counts, and for every choice of roles, hierarchies, k and p the risk and the loss: on a
    /// sample first, exact soon after. Its product is a policy file next to the table. The page is served on 127.0.0.1 only, below a
    /// random path, and fetches nothing. The first line on stdout is a JSON object with its address; Ctrl-C ends it.
    Studio(StudioArgs),
    /// Show what a run would do: the plan, leaves, memory, and the approximate loss
    ///
    /// Reads the input and clusters a few of its leaves; writes nothing.
    Plan(PolicyArgs),
    /// Make, check, print and convert hierarchies
    #[command(subcommand)]
    Hierarchy(HierarchyCommand),
    /// Run SQL over files and tables: a shell, or statements from -c, -f or standard input
    ///
    /// Files are tables: `SELECT * FROM 'data/people.parquet'`, also a folder `'data/'`, a glob or s3://, gs://, az://.
    /// `CREATE EXTERNAL TABLE people STORED AS PARQUET LOCATION 'data/'` gives them a name. Results go to stdout and
    /// errors to stderr. After an error nothing more is run, and a script in which a statement can't be parsed is not
    /// begun. Without -c, -f and piped input a shell starts; \? lists its commands.
    Sql(SqlArgs),
    /// Remove what dead runs have left at an output
    ///
    /// A run that was killed leaves its staging folder, or staged objects on a store. The next run removes them; this does
    /// it without one. On this machine a lock shows which runs are alive; on a store all that a run has written must be older
    /// than a day. The release, runs that are alive and files of others are never touched.
    Clean(CleanArgs),
    /// Make synthetic data
    #[command(subcommand)]
    Generate(Generate),
    /// Make a synthetic census, release it, verify the release: everything in one command
    Demo(DemoArgs),
    /// Print the JSON schema of the policy file, for editors and checks
    Schema,
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual page, of throng or of one of its commands
    Man(ManArgs),
}

impl Command {
    /// Whether the command sends its work to a cluster.
    pub(crate) fn runs_on_cluster(&self) -> bool {
        match self {
            Self::Run(args) => args.cluster.cluster.is_some(),
            Self::Sql(args) => args.cluster.cluster.is_some(),
            _ => false,
        }
    }
}

/// A policy, and what the command line changes in it.
#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyArgs {
    /// The policy file (TOML); `throng schema` describes it
    pub(crate) policy: PathBuf,

    /// Read this instead of the policy's input; may be repeated
    #[arg(short, long, value_name = "LOCATION")]
    input: Vec<String>,

    /// Write here instead of the policy's output
    #[arg(short, long, value_name = "LOCATION")]
    output: Option<String>,

    /// Replace a release that is already at the output, once the new one is verified
    #[arg(long)]
    overwrite: bool,

    /// Require at least this many rows in each class
    #[arg(short, long, value_name = "ROWS")]
    k: Option<u64>,

    /// Require at least this many distinct values of each sensitive column in each class
    #[arg(short, long, value_name = "VALUES")]
    p: Option<u64>,

    /// How long the search for better classes may go on: fast, balanced, thorough, or a time such as 30s
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,

    /// Drives every random choice and the order of the release
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

impl PolicyArgs {
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            input: (!self.input.is_empty()).then(|| self.input.clone()),
            output: self.output.clone(),
            overwrite: self.overwrite,
            k: self.k,
            p: self.p,
            budget: self.budget.clone(),
            seed: self.seed,
            without_preset: false,
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["policy", "quasi"]))]
pub(crate) struct VerifyArgs {
    /// The release: a file, a folder, a glob or a URL
    pub(crate) path: String,

    /// Take columns, k and p from this policy
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["quasi", "sensitive", "k", "p"])]
    pub(crate) policy: Option<PathBuf>,

    /// The quasi-identifiers, by their names in the release
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "k")]
    pub(crate) quasi: Vec<String>,

    /// The sensitive columns
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "p")]
    pub(crate) sensitive: Vec<String>,

    /// Require at least this many rows in each class
    #[arg(short, long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) k: Option<u64>,

    /// Require at least this many distinct values of each sensitive column in each class
    #[arg(short, long, value_name = "VALUES", requires = "sensitive", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) p: Option<u64>,

    /// Count the different values of this column, such as people, instead of rows
    #[arg(long, value_name = "COLUMN", requires = "quasi")]
    pub(crate) unit: Option<String>,

    /// Compare with this earlier release as an intruder would, from released files alone; may be repeated
    ///
    /// Rows that are equal in every released column are followed from one release to the other. What stayed in a class, moved
    /// from one to another, left or came must be empty or satisfy k and p. Each earlier release is compared on its own: what
    /// several of them reveal only together, `--ledger` finds.
    #[arg(long, value_name = "PREVIOUS")]
    pub(crate) against: Vec<String>,

    /// Compare with the ledger of the series, whose key is in THRONG_LEDGER_KEY
    ///
    /// The release at the output of the policy must have the rows that the ledger remembers, and the remembered releases must
    /// be safe together.
    #[arg(long, requires = "policy")]
    pub(crate) ledger: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// A census extract with 15 skewed and correlated columns, for which configs/census.toml is made
    Census(CensusArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CensusArgs {
    /// How many people
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) rows: u64,

    /// The folder for the Parquet files
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,

    /// The same seed makes the same people
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Write the people to this many files [default: one per million]
    #[arg(long, value_name = "N")]
    pub(crate) files: Option<usize>,

    /// Replace part files that are already there
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// How many people
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) rows: u64,

    /// The folder for input, policy and release; kept afterwards, to look around
    #[arg(short, long, value_name = "DIR", default_value = "throng-demo")]
    pub(crate) output: PathBuf,
}
