//! Backend of a job or statement: this process, or a compute cluster.

use std::time::Duration;

use throng_job::{AppendOutcome, JobError, JobOptions, PublishedRelease, SqlSession};
use throng_policy::Policy;

use crate::args::ClusterArgs;
#[cfg(feature = "cluster")]
use crate::args::ClusterSecurityArgs;

/// Where a command is executed. All backends return the same results.
pub(crate) enum Backend {
    /// In this process.
    Local,
    /// On the executors of a compute cluster; this process plans and publishes.
    #[cfg(feature = "cluster")]
    Cluster {
        /// URL of the scheduler.
        url: throng_cluster::ClusterUrl,
        /// Number of shuffle partitions.
        partitions: usize,
        /// Certificates and token of this process.
        security: ClusterSecurityArgs,
    },
}

impl Backend {
    /// Returns the backend that the command line selects.
    pub(crate) fn from_args(args: &ClusterArgs) -> Self {
        match &args.cluster {
            None => Self::Local,
            #[cfg(feature = "cluster")]
            Some(url) => Self::Cluster {
                url: url.clone(),
                partitions: usize::from(args.shuffle_partitions),
                security: args.security.clone(),
            },
            #[cfg(not(feature = "cluster"))]
            Some(url) => match *url {},
        }
    }

    /// Anonymizes the input of a policy, verifies the release and publishes it.
    pub(crate) async fn run(&self, policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
        match self {
            Self::Local => throng_job::run(policy, options).await,
            #[cfg(feature = "cluster")]
            Self::Cluster { url, partitions, security } => {
                throng_job::run_on(&connect(url, *partitions, security).await?, policy, options).await
            }
        }
    }

    /// Begins a new series of releases.
    pub(crate) async fn rebase(&self, policy: &Policy, options: &JobOptions) -> Result<PublishedRelease, JobError> {
        match self {
            Self::Local => throng_job::rebase(policy, options).await,
            #[cfg(feature = "cluster")]
            Self::Cluster { url, partitions, security } => {
                throng_job::rebase_on(&connect(url, *partitions, security).await?, policy, options).await
            }
        }
    }

    /// Appends the rows of new input files to the release of a policy.
    pub(crate) async fn append(&self, policy: &Policy, options: &JobOptions) -> Result<AppendOutcome, JobError> {
        match self {
            Self::Local => throng_job::append(policy, options, Duration::ZERO).await,
            #[cfg(feature = "cluster")]
            Self::Cluster { url, partitions, security } => {
                throng_job::append_on(&connect(url, *partitions, security).await?, policy, options).await
            }
        }
    }

    /// Returns a session for SQL. `threads` and `memory_limit` apply to this process.
    pub(crate) async fn sql_session(&self, threads: usize, memory_limit: Option<u64>) -> Result<SqlSession, JobError> {
        match self {
            Self::Local => SqlSession::new(threads, memory_limit),
            #[cfg(feature = "cluster")]
            Self::Cluster { url, partitions, security } => {
                Ok(SqlSession::over(connect(url, *partitions, security).await?.session))
            }
        }
    }
}

#[cfg(feature = "cluster")]
async fn connect(
    url: &throng_cluster::ClusterUrl,
    partitions: usize,
    security: &ClusterSecurityArgs,
) -> Result<throng_job::Cluster, JobError> {
    let options = throng_cluster::SessionOptions::default();
    let options = options.with_shuffle_partitions(partitions).with_security(security.load()?);
    Ok(throng_job::Cluster { session: throng_cluster::session(url, &options).await?, partitions })
}
