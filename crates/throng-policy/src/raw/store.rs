//! How object stores are talked to.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::time_span::PATTERN;

/// How object stores are talked to. Where the environment speaks of the same, such as `AWS_ENDPOINT_URL`, the environment
/// wins, so that one policy runs in staging and in production.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Store")]
pub struct RawStore {
    /// The server of `s3://` locations, such as `https://minio.example.org`. `${NAME}` stands for an environment variable.
    /// By default that of the cloud. Those of `gs://` and `az://` come from the environment.
    pub endpoint: Option<String>,
    /// The region of `s3://` locations, such as `eu-central-1`.
    pub region: Option<String>,
    /// Whether stores may be talked to without encryption. By default they may not.
    #[schemars(extend("default" = false))]
    pub allow_http: Option<bool>,
    /// How long one request may take, its answer included: a time such as `500ms`, `30s` or `5min`. By default `30s`.
    #[schemars(extend("default" = "30s", "pattern" = PATTERN))]
    pub timeout: Option<String>,
    /// How long it may take to reach a server. By default `5s`.
    #[schemars(extend("default" = "5s", "pattern" = PATTERN))]
    pub connect_timeout: Option<String>,
    /// How often a request that failed is tried again, each time after a longer wait. By default 10.
    #[schemars(extend("default" = crate::Store::DEFAULT_RETRIES))]
    pub retries: Option<u64>,
    /// For how long a request that failed is tried again. By default `3min`.
    #[schemars(extend("default" = "3min", "pattern" = PATTERN))]
    pub retry_timeout: Option<String>,
}
