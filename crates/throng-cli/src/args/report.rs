//! The arguments of `throng report` and `throng sweep`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use throng_policy::Overrides;

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// The metrics.json of a release, or the folder or URL of the release
    pub(crate) metrics: String,

    /// Where the page is written
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SweepArgs {
    /// The policy file (TOML), of which k, p and the algorithm are varied
    pub(crate) policy: PathBuf,

    /// Read this instead of the policy's input; may be repeated
    #[arg(short, long, value_name = "LOCATION")]
    input: Vec<String>,

    /// The values of k to try [default: that of the policy]
    #[arg(short, long, value_name = "ROWS,...", value_delimiter = ',')]
    pub(crate) k: Vec<u64>,

    /// The values of p to try [default: that of the policy]
    #[arg(short, long, value_name = "VALUES,...", value_delimiter = ',')]
    pub(crate) p: Vec<u64>,

    /// The algorithms to try: a partition, or a partition and a cluster method, like mondrian, mdr, none/enhanced-pk
    /// [default: that of the policy]
    #[arg(long, value_name = "PARTITION[/CLUSTER],...", value_delimiter = ',')]
    pub(crate) algorithm: Vec<String>,

    /// Tell which policy has the lowest risk among those that lose at most this much, from 0 to 1
    #[arg(long, value_name = "NCP", value_parser = share)]
    pub(crate) loss: Option<f64>,

    /// How long the search for better classes may go on: fast, balanced, thorough, or a time such as 30s
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,

    /// Drives every random choice
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Write a page with the frontier of risk and loss
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl SweepArgs {
    /// What the command line changes in the policy, besides what is varied.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            input: (!self.input.is_empty()).then(|| self.input.clone()),
            budget: self.budget.clone(),
            seed: self.seed,
            ..Overrides::default()
        }
    }
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 1, like 0.05".to_owned())
}
