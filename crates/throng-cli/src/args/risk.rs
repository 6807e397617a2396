//! The command line of `throng risk`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use throng_core::risk::SamplingFraction;

use super::{page, share};

#[derive(Debug, Args)]
pub(crate) struct RiskArgs {
    /// The table: a file, a folder, a glob or a URL
    pub(crate) data: String,

    /// The columns by which people could be found
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', required_unless_present = "policy")]
    pub(crate) quasi: Vec<String>,

    /// Columns that must not be learned; counts the classes that give them away
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) sensitive: Vec<String>,

    /// A policy whose quasi-identifiers and sensitive columns are taken
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["quasi", "sensitive"])]
    pub(crate) policy: Option<PathBuf>,

    /// Count the rows whose risk is above this; 0.2 is the risk in a class of 5
    #[arg(long, value_name = "SHARE", default_value_t = throng_core::risk::DEFAULT_THRESHOLD, value_parser = share)]
    pub(crate) threshold: f64,

    /// The share of the population that is in the table; estimates the risk of intruders who do not know who is in it
    #[arg(long, value_name = "FRACTION", value_parser = fraction)]
    pub(crate) fraction: Option<SamplingFraction>,

    /// The column with the number of people of the population that a row stands for, in place of a fraction
    #[arg(long, value_name = "COLUMN", conflicts_with = "fraction")]
    pub(crate) weight: Option<String>,

    /// A table of the population with the same columns and one row per person, in place of a fraction; counts the people of
    /// each class
    #[arg(long, value_name = "DATA", conflicts_with_all = ["fraction", "weight"])]
    pub(crate) population: Option<String>,

    /// Write a page with tables and plots to this file (.html); it fetches nothing and holds no value of the table
    #[arg(short, long, value_name = "FILE", value_parser = page)]
    pub(crate) output: Option<PathBuf>,

    /// How the figures are written to stdout
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: RiskFormat,
}

/// How the figures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RiskFormat {
    /// For people; the last line is the outcome as JSON.
    Table,
    /// Only the outcome as JSON.
    Json,
}

fn fraction(text: &str) -> Result<SamplingFraction, String> {
    let fraction = text.parse().ok().and_then(SamplingFraction::new);
    fraction.ok_or_else(|| "must be a number above 0 and at most 1".to_owned())
}
