//! Settings of object stores, without credentials.

use std::time::Duration;

/// Settings of `[store]`. Credentials are not part of it: they come only from the environment.
///
/// Environment variables for the same settings (`AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ALLOW_HTTP` and so on) take
/// precedence. One policy runs on a developer's machine, in staging and in production, and the environment decides
/// which server it uses. If the policy took precedence, a test could read from production.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Endpoint of `s3://` locations, an `http://` or `https://` URL; by default that of the cloud provider.
    pub endpoint: Option<String>,
    /// Region of `s3://` locations.
    pub region: Option<String>,
    /// Whether unencrypted connections are allowed.
    pub allow_http: bool,
    /// Timeout of a request, including its response.
    pub timeout: Duration,
    /// Timeout of a connection attempt.
    pub connect_timeout: Duration,
    /// Maximum number of retries of a request.
    pub retries: u64,
    /// Maximum total time of retries of a request.
    pub retry_timeout: Duration,
}

impl Store {
    /// Default of [`timeout`](Self::timeout).
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
    /// Default of [`connect_timeout`](Self::connect_timeout).
    pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
    /// Default of [`retries`](Self::retries).
    pub const DEFAULT_RETRIES: u64 = 10;
    /// Default of [`retry_timeout`](Self::retry_timeout).
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
