//! Enumerations of the policy file.
//!
//! They have the same meaning before and after validation, so both stages share them.

use schemars::JsonSchema;
use serde::Deserialize;

/// A format of input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Text with one record per line; see `delimiter` and `header`.
    Csv,
    /// Arrow IPC files.
    Arrow,
}

impl Format {
    /// Returns the name of the format in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Arrow => "arrow",
        }
    }
}

/// The form of a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// A folder of Apache Parquet files.
    #[default]
    Parquet,
    /// A Delta table. Each release is a version of it, and earlier versions stay readable for a while.
    Delta,
}

impl OutputFormat {
    /// Returns the name of the format in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            OutputFormat::Parquet => "parquet",
            OutputFormat::Delta => "delta",
        }
    }
}

/// What happens when the output location already holds a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The run stops and leaves it untouched.
    #[default]
    Error,
    /// The new release takes its place, once it has been verified.
    Overwrite,
    /// The new release takes its place, once it has been verified together with the releases before it; see `[series]`.
    Series,
    /// The rows of input files that it does not have yet are added to it, in separate files, once they have been verified.
    Append,
}

impl Mode {
    /// Returns the name of the mode in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Error => "error",
            Mode::Overwrite => "overwrite",
            Mode::Series => "series",
            Mode::Append => "append",
        }
    }
}

/// How a release on an object store becomes visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Commit {
    /// By a put that the store refuses when another run was faster. A store that ignores the condition is detected before
    /// anything is written, and refused.
    #[default]
    Conditional,
    /// By a plain put, for stores without conditional puts. A run checks whether another one was faster, but two that
    /// publish at the same moment may both report success: the manifest is then that of the last. Releases are whole
    /// nevertheless, and files that no manifest lists are removed only when they are a day old.
    LastWriterWins,
}

impl Commit {
    /// Returns the name of the choice in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Commit::Conditional => "conditional",
            Commit::LastWriterWins => "last-writer-wins",
        }
    }
}

/// How the rows of a part become classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Cluster")]
pub enum ClusterSetting {
    /// The best method for the data at hand.
    #[default]
    Auto,
    /// Grows each class from the nearest rows, without a later search. Rows that are alike are handled as one, so that
    /// it is fast.
    Greedy,
    /// GreedyPKClustering as published: grows one class after the other, row by row. Slow on large parts.
    GreedyPk,
    /// EnhancedPKClustering as published: as many classes as the sensitive values allow, all grown side by side. Slow on
    /// large parts.
    EnhancedPk,
    /// For `alpha`: forms classes without it first, and then swaps rows between classes until every one satisfies it.
    Switching,
    /// Microaggregation: each class grows around the row that is farthest from the mean of the rows that are left. For
    /// numbers, with `release = "mean"`.
    Mdav,
    /// Microaggregation: each class grows around the row that is nearest to a random point. For numbers, with
    /// `release = "mean"`.
    RandomSeed,
    /// Microaggregation: classes of rows near each other, then a search for lower squared errors. For numbers, with
    /// `release = "mean"`.
    Centroid,
    /// Every part is one class.
    None,
}

impl ClusterSetting {
    /// All methods, in the order of the enumeration.
    pub const ALL: [ClusterSetting; 9] = [
        ClusterSetting::Auto,
        ClusterSetting::Greedy,
        ClusterSetting::GreedyPk,
        ClusterSetting::EnhancedPk,
        ClusterSetting::Switching,
        ClusterSetting::Mdav,
        ClusterSetting::RandomSeed,
        ClusterSetting::Centroid,
        ClusterSetting::None,
    ];

    /// Returns the name of the method in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            ClusterSetting::Auto => "auto",
            ClusterSetting::Greedy => "greedy",
            ClusterSetting::GreedyPk => "greedy-pk",
            ClusterSetting::EnhancedPk => "enhanced-pk",
            ClusterSetting::Switching => "switching",
            ClusterSetting::Mdav => "mdav",
            ClusterSetting::RandomSeed => "random-seed",
            ClusterSetting::Centroid => "centroid",
            ClusterSetting::None => "none",
        }
    }
}

/// What a release should have, by which `auto` chooses the cluster method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// As little loss as possible.
    #[default]
    Loss,
    /// As many classes as possible: EnhancedPKClustering where the sensitive values limit their number, and
    /// GreedyPKClustering elsewhere. Slow on large parts.
    Classes,
}

impl Goal {
    /// Returns the name of the goal in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Goal::Loss => "loss",
            Goal::Classes => "classes",
        }
    }
}

/// How sensitive texts count that look alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LookAlikes {
    /// They count as one value, and text without a visible character counts as missing.
    #[default]
    Merged,
    /// Each of them counts as a value.
    Distinct,
}

impl LookAlikes {
    /// Returns the name of the choice in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            LookAlikes::Merged => "merged",
            LookAlikes::Distinct => "distinct",
        }
    }
}

/// Where the pseudonyms of two runs are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pseudonyms {
    /// Nowhere: a person has the same pseudonym in all tables of one run, and another one in every other run.
    #[default]
    PerRun,
    /// In all runs with the same secret and seed. Then releases can be joined with each other, and what several of them show
    /// of a person adds up. No promise covers that.
    Stable,
}

impl Pseudonyms {
    /// Returns the name of the choice in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Pseudonyms::PerRun => "per-run",
            Pseudonyms::Stable => "stable",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use throng_core::anonymize::PartitionChoice;

    use super::*;

    fn read<T: DeserializeOwned>(name: &str) -> T {
        serde_json::from_value(serde_json::Value::from(name)).unwrap()
    }

    #[test]
    fn a_choice_is_read_under_its_own_name() {
        for format in [Format::Parquet, Format::Csv, Format::Arrow] {
            assert_eq!(read::<Format>(format.as_str()), format);
        }
        for format in [OutputFormat::Parquet, OutputFormat::Delta] {
            assert_eq!(read::<OutputFormat>(format.as_str()), format);
        }
        for mode in [Mode::Error, Mode::Overwrite, Mode::Series] {
            assert_eq!(read::<Mode>(mode.as_str()), mode);
        }
        for look_alikes in [LookAlikes::Merged, LookAlikes::Distinct] {
            assert_eq!(read::<LookAlikes>(look_alikes.as_str()), look_alikes);
        }
        for pseudonyms in [Pseudonyms::PerRun, Pseudonyms::Stable] {
            assert_eq!(read::<Pseudonyms>(pseudonyms.as_str()), pseudonyms);
        }
        for commit in [Commit::Conditional, Commit::LastWriterWins] {
            assert_eq!(read::<Commit>(commit.as_str()), commit);
        }
        for partition in PartitionChoice::ALL {
            assert_eq!(read::<PartitionChoice>(partition.as_str()), partition);
        }
        for cluster in ClusterSetting::ALL {
            assert_eq!(read::<ClusterSetting>(cluster.as_str()), cluster);
        }
    }
}
