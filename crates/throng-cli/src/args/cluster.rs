//! The options of commands that can run on a cluster.

use clap::Args as ClapArgs;

use super::ClusterSecurityArgs;

#[cfg(feature = "cluster")]
use throng_cluster::{ClusterUrl, DEFAULT_SHUFFLE_PARTITIONS};

/// The shuffle partitions that help shows in a build that has no clusters.
#[cfg(not(feature = "cluster"))]
const DEFAULT_SHUFFLE_PARTITIONS: usize = 16;

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterArgs {
    /// Run on a cluster, named by its scheduler: df://host:port
    ///
    /// Rows are read, computed, written and verified by its executors, and the result is the same, byte for byte. Locations
    /// must mean the same to the scheduler and to each executor, as s3://, gs:// and az:// do.
    #[arg(long, env = "THRONG_CLUSTER", value_name = "URL")]
    pub(crate) cluster: Option<ClusterUrl>,

    /// The number of partitions that rows are shuffled into on a cluster; two or three for each slot do well
    #[arg(
        long,
        env = "THRONG_SHUFFLE_PARTITIONS",
        value_name = "N",
        default_value_t = DEFAULT_SHUFFLE_PARTITIONS as u16,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub(crate) shuffle_partitions: u16,

    #[command(flatten)]
    #[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "there is no cluster to connect to"))]
    pub(crate) security: ClusterSecurityArgs,
}

/// The URL of a cluster in a build that has no clusters: no text is one.
#[cfg(not(feature = "cluster"))]
#[derive(Clone, Debug)]
pub(crate) enum ClusterUrl {}

#[cfg(not(feature = "cluster"))]
impl std::str::FromStr for ClusterUrl {
    type Err = &'static str;

    fn from_str(_: &str) -> Result<Self, Self::Err> {
        Err("this build of throng has no support for clusters; make one that has it with \
             `cargo build --release -p throng-cli --features cluster`")
    }
}
