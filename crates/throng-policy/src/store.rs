//! How object stores are talked to, as far as it is not secret.

use std::time::Duration;

/// What `[store]` says. Credentials are no part of it: they come only from the environment.
///
/// Where the environment speaks of the same (`AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ALLOW_HTTP` and so on), the environment
/// wins. A policy is reviewed once and then runs on a developer's machine, in staging and in production; which server that
/// is belongs to the place where it runs. A policy that won over its surroundings would read from production in a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The server of `s3://` locations, an `http://` or `https://` URL; by default that of the cloud.
    pub endpoint: Option<String>,
    /// The region of `s3://` locations.
    pub region: Option<String>,
    /// Whether stores may be talked to without encryption.
    pub allow_http: bool,
    /// How long one request may take, its answer included.
    pub timeout: Duration,
    /// How long it may take to reach a server.
    pub connect_timeout: Duration,
    /// How often a request is tried again.
    pub retries: u64,
    /// For how long a request is tried again.
    pub retry_timeout: Duration,
}

impl Store {
    /// [`timeout`](Self::timeout) where a policy names none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
    /// [`connect_timeout`](Self::connect_timeout) where a policy names none.
    pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// [`retries`](Self::retries) where a policy names none.
    pub const DEFAULT_RETRIES: u64 = 10;
    /// [`retry_timeout`](Self::retry_timeout) where a policy names none.
    pub const DEFAULT_RETRY_TIMEOUT: Duration = Duration::from_secs(180);
}

impl Default for Store {
    fn default() -> Self {
        Self {
            endpoint: None,
            region: None,
            allow_http: false,
            timeout: Self::DEFAULT_TIMEOUT,
            connect_timeout: Self::DEFAULT_CONNECT_TIMEOUT,
            retries: Self::DEFAULT_RETRIES,
            retry_timeout: Self::DEFAULT_RETRY_TIMEOUT,
        }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
