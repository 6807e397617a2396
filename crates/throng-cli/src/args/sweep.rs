//! The arguments of `throng sweep`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use throng_core::anonymize::PartitionChoice;
use throng_policy::{ClusterSetting, Overrides};

use super::{page, share};

#[derive(Debug, ClapArgs)]
pub(crate) struct SweepArgs {
    /// The policy file (TOML), of which k, p and the algorithm are varied
    pub(crate) policy: PathBuf,

    /// Read this instead of the policy's input; may be repeated
    #[arg(short, long, value_name = "LOCATION")]
    input: Vec<String>,

    /// The values of k to try, also below that of a preset [default: that of the policy]
    #[arg(short, long, value_name = "ROWS,...", value_delimiter = ',')]
    pub(crate) k: Vec<u64>,

    /// The values of p to try [default: that of the policy]
    #[arg(short, long, value_name = "VALUES,...", value_delimiter = ',')]
    pub(crate) p: Vec<u64>,

    /// The algorithms to try: a partition, or a partition and a cluster method, like mondrian, mdr, none/enhanced-pk
    /// [default: that of the policy]
    #[arg(long, value_name = "PARTITION[/CLUSTER],...", value_delimiter = ',', value_parser = algorithm)]
    pub(crate) algorithm: Vec<(PartitionChoice, ClusterSetting)>,

    /// Name the policy that has the lowest risk among those that lose at most this much, from 0 to 1
    #[arg(long, value_name = "NCP", value_parser = share)]
    pub(crate) loss: Option<f64>,

    /// Measure how far random counts in each release are from the true ones, as `throng utility` does
    ///
    /// Makes each release once more, in memory, and reads the input for it.
    #[arg(long)]
    pub(crate) utility: bool,

    /// How long the search for better classes may go on: fast, balanced, thorough, or a time such as 30s
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,

    /// Drives every random choice
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Write a page with the frontier of risk and loss to this file (.html)
    #[arg(short, long, value_name = "FILE", value_parser = page)]
    pub(crate) output: Option<PathBuf>,
}

impl SweepArgs {
    /// What the command line changes in the policy, besides what is varied.
    fn overrides(&self) -> Overrides {
        Overrides {
            input: (!self.input.is_empty()).then(|| self.input.clone()),
            budget: self.budget.clone(),
            seed: self.seed,
            ..Overrides::default()
        }
    }

    /// For the policy itself: what is varied needs no value in the file, and gets one here that no check minds.
    pub(crate) fn base(&self) -> Overrides {
        Overrides {
            k: (!self.k.is_empty()).then_some(u64::MAX),
            p: (!self.p.is_empty()).then_some(1),
            ..self.overrides()
        }
    }

    /// For one combination. A preset is a k among others here.
    pub(crate) fn combination(&self, k: u64, p: u64) -> Overrides {
        Overrides { k: Some(k), p: Some(p), without_preset: true, ..self.overrides() }
    }
}

/// Parses a partition, or a partition and a cluster method: `mondrian`, `none/enhanced-pk`.
pub fn algorithm(text: &str) -> Result<(PartitionChoice, ClusterSetting), String> {
    let (partition, cluster) = text.split_once('/').unwrap_or((text, ClusterSetting::Auto.as_str()));
    let partition = named("partition", partition, &PartitionChoice::ALL, PartitionChoice::as_str)?;
    let cluster = named("cluster method", cluster, &ClusterSetting::ALL, ClusterSetting::as_str)?;
    match (partition, cluster) {
        (PartitionChoice::None, ClusterSetting::None) => {
            Err("the whole table would be one class; choose another".to_owned())
        }
        (PartitionChoice::Incognito, cluster) if !matches!(cluster, ClusterSetting::Auto | ClusterSetting::None) => {
            Err("`incognito` forms classes by itself; leave the cluster method out".to_owned())
        }
        chosen => Ok(chosen),
    }
}

/// The choice with this name; else all of their names.
fn named<T: Copy>(what: &str, name: &str, choices: &[T], name_of: fn(T) -> &'static str) -> Result<T, String> {
    choices.iter().copied().find(|choice| name_of(*choice) == name).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| name_of(*choice)).collect();
        format!("there is no {what} `{name}`; choose from {}", names.join(", "))
    })
}
