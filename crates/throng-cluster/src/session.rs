//! Client sessions whose queries run on a compute cluster.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ballista::prelude::SessionContextExt;
use ballista_core::extension::SessionConfigExt;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use throng_job::{JobError, Kind, Stores};
use url::Url;

use crate::planners::ClusterPlanner;
use crate::security::is_admitted;
use crate::{HostPort, Security, codec, settings, stores};

/// Default number of shuffle partitions.
pub const DEFAULT_SHUFFLE_PARTITIONS: usize = 16;

/// Default port of a scheduler.
const DEFAULT_PORT: u16 = 50050;

/// URL of a compute cluster: `df://host:port` of its scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterUrl(HostPort);

impl FromStr for ClusterUrl {
    type Err = JobError;

    fn from_str(text: &str) -> Result<Self, JobError> {
        let wrong = || JobError::new(Kind::BadQuery, "a cluster is named by its scheduler: df://host:port");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let has_more = !matches!(url.path(), "" | "/") || url.query().is_some() || !url.username().is_empty();
        match url.host_str() {
            Some(host) if url.scheme() == "df" && !has_more && url.password().is_none() => {
                Ok(Self(HostPort { host: host.to_owned(), port: url.port().unwrap_or(DEFAULT_PORT) }))
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for ClusterUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "df://{}", self.0)
    }
}

/// Settings of a client session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    shuffle_partitions: usize,
    security: Option<Security>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { shuffle_partitions: DEFAULT_SHUFFLE_PARTITIONS, security: None }
    }
}

impl SessionOptions {
    /// Sets the number of shuffle partitions, which is the number of tasks of the stage after a shuffle.
    #[must_use]
    pub fn with_shuffle_partitions(self, partitions: usize) -> Self {
        Self { shuffle_partitions: partitions.max(1), ..self }
    }

    /// Sets the certificates and the token of the client. Without them it connects in plain text.
    #[must_use]
    pub fn with_security(self, security: Option<Security>) -> Self {
        Self { security, ..self }
    }
}

/// Returns a session whose queries run on a compute cluster. Tables and views are registered here; their files are read by
/// the scheduler and the executors, each with the credentials of its own environment. Connects on the first query; to a
/// secured cluster already here, and fails if the cluster and this process do not accept each other.
pub async fn session(cluster: &ClusterUrl, options: &SessionOptions) -> Result<SessionContext, JobError> {
    let failed = |_| JobError::new(Kind::Internal, "a session could not be started; this is a bug");
    let security = options.security.as_ref();
    if let Some(security) = security {
        // The first query reports that there is no scheduler.
        is_admitted(&cluster.0, security).await?;
    }
    let config = settings::secured(security).with_target_partitions(options.shuffle_partitions);
    let scheduler = format!("{}://{}", if security.is_some() { "https" } else { "http" }, cluster.0);
    let planner = ClusterPlanner::new(scheduler, &cluster.to_string(), config.ballista_config());
    let config = config
        .with_ballista_logical_extension_codec(codec::logical())
        .with_ballista_physical_extension_codec(codec::physical())
        .with_ballista_query_planner(Arc::new(planner));
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(stores::runtime(&Arc::new(Stores::default()), None).map_err(failed)?)
        .build();
    let context = SessionContext::remote_with_state(&cluster.to_string(), state).await.map_err(failed)?;
    // Creating the session has replaced its functions.
    throng_datafusion::register_all(&context);
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_by_its_scheduler() {
        for (text, expected) in
            [("df://localhost:7000", "df://localhost:7000"), ("df://throng-scheduler/", "df://throng-scheduler:50050")]
        {
            assert_eq!(text.parse::<ClusterUrl>().unwrap().to_string(), expected);
        }
        for text in ["", "localhost:7000", "http://localhost:7000", "df://", "df://u:hunter2@h:1", "df://h:1/path"] {
            let error = text.parse::<ClusterUrl>().unwrap_err().to_string();
            assert!(error.contains("df://host:port") && !error.contains("hunter2"), "{text}: {error}");
        }
    }

    #[tokio::test]
    async fn a_session_has_our_functions_and_settings() {
        let url = "df://localhost:1".parse().unwrap();
        let options = SessionOptions::default().with_shuffle_partitions(3);
        let context = session(&url, &options).await.unwrap();
        let state = context.state();
        assert_eq!(state.config().target_partitions(), 3);
        assert!(!state.config().ballista_adaptive_query_planner_enabled());
        assert!(state.table_functions().contains_key("anonymize"));
        assert!(state.scalar_functions().contains_key("generalize"));
    }

    #[tokio::test]
    async fn a_cluster_that_is_not_there_is_a_temporary_failure() {
        // No process listens on a port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("df://127.0.0.1:{port}").parse().unwrap();
        let context = session(&url, &SessionOptions::default()).await.unwrap();
        let error = context.sql("SELECT 1").await.unwrap().collect().await.unwrap_err();
        let failure = throng_job::running_failure(&error);
        assert_eq!(failure.kind(), Kind::TemporaryIo, "{failure}");
        assert!(failure.to_string().contains(&url.to_string()), "{failure}");
    }
}
