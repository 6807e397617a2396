//! How object stores are accessed.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::time_span::PATTERN;

/// How object stores are accessed. Variables of the environment, such as `AWS_ENDPOINT_URL`, take precedence, so one policy
/// runs in staging and in production.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Store")]
pub struct RawStore {
    /// The server of `s3://` locations, such as `https://minio.example.org`. `${NAME}` stands for an environment variable.
    /// By default that of the cloud. Those of `gs://` and `az://` come from the environment.
    pub endpoint: Option<String>,
    /// The region of `s3://` locations, such as `eu-central-1`.
    pub region: Option<String>,
    /// Whether unencrypted connections are allowed. By default they are not.
    #[schemars(extend("default" = false))]
    pub allow_http: Option<bool>,
    /// The time limit of a request, including its response: a time such as `500ms`, `30s` or `5min`. By default `30s`.
    #[schemars(extend("default" = "30s", "pattern" = PATTERN))]
    pub timeout: Option<String>,
    /// The time limit for connecting to a server. By default `5s`.
    #[schemars(extend("default" = "5s", "pattern" = PATTERN))]
    pub connect_timeout: Option<String>,
    /// How often a failed request is retried, each time after a longer wait. By default 10.
    #[schemars(extend("default" = crate::Store::DEFAULT_RETRIES))]
    pub retries: Option<u64>,
    /// For how long a failed request is retried. By default `3min`.
    #[schemars(extend("default" = "3min", "pattern" = PATTERN))]
    pub retry_timeout: Option<String>,
}
