//! Opens object stores, configured by the URL of a location, `[store]` of the policy, and the environment, which takes
//! precedence.
//!
//! The clients of the stores read credentials from the environment and never expose them: no setting of ours holds
//! them, and a [`StorePath`](crate::store_path::StorePath) shows nothing of its store.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use throng_policy::Store;
use url::Url;

use crate::error::{JobError, Kind};
use crate::store_variables::check_variable;

/// A kind of object store.
struct StoreFamily {
    schemes: &'static [&'static str],
    /// Prefix of its environment variables.
    prefix: &'static str,
    /// Variables that usually have to be set.
    usual: &'static str,
    /// Whether the client supports an option, by its lowercase name.
    knows: fn(&str) -> bool,
    open: fn(&Url, Vec<(String, String)>, RetryConfig) -> OpenResult,
}

type OpenResult = Result<Arc<dyn ObjectStore>, OpenFailure>;

/// The reason why a store could not be opened. The text of a client's error may quote the environment and is dropped.
enum OpenFailure {
    Unconfigured,
    Unencrypted,
}

const FAMILIES: [StoreFamily; 3] = [
    StoreFamily {
        schemes: &["s3", "s3a"],
        prefix: "AWS_",
        usual: "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL",
        knows: |name| name.parse::<AmazonS3ConfigKey>().is_ok(),
        open: open_s3,
    },
    StoreFamily {
        schemes: &["gs"],
        prefix: "GOOGLE_",
        usual: "GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT",
        knows: |name| name.parse::<GoogleConfigKey>().is_ok(),
        open: open_google,
    },
    StoreFamily {
        schemes: &["az", "adl", "azure", "abfs", "abfss"],
        prefix: "AZURE_",
        usual: "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
        knows: |name| name.parse::<AzureConfigKey>().is_ok(),
        open: open_azure,
    },
];

/// Opens the store of a URL, as configured by the environment of the process.
pub(crate) fn open(url: &Url, settings: &Store) -> Result<Arc<dyn ObjectStore>, JobError> {
    // Variables that are not UTF-8 are skipped.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    open_in(url, settings, variables)
}

fn open_in(
    url: &Url,
    settings: &Store,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Arc<dyn ObjectStore>, JobError> {
    let bad = |why: String| JobError::new(Kind::BadPolicy, format!("a location is not usable: {why}"));
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: usize::try_from(settings.retries).unwrap_or(usize::MAX),
        retry_timeout: settings.retry_timeout,
    };
    if matches!(url.scheme(), "http" | "https") {
        return open_web(url, settings, retry).map_err(|_| bad("its server has no usable name".to_owned()));
    }
    let Some(family) = FAMILIES.iter().find(|family| family.schemes.contains(&url.scheme())) else {
        return Err(bad("its scheme is not one of s3, gs, az, http, https or file".to_owned()));
    };
    let mut options = vec![
        ("timeout".to_owned(), text(settings.timeout)),
        ("connect_timeout".to_owned(), text(settings.connect_timeout)),
        ("allow_http".to_owned(), settings.allow_http.to_string()),
    ];
    if family.prefix == "AWS_" {
        options.extend(settings.endpoint.iter().map(|endpoint| ("endpoint".to_owned(), endpoint.clone())));
        options.extend(settings.region.iter().map(|region| ("region".to_owned(), region.clone())));
    }
    // Later options take precedence.
    for (name, value) in variables.filter(|(name, _)| name.starts_with(family.prefix)) {
        let key = name.to_ascii_lowercase();
        if (family.knows)(&key) {
            check_variable(&name, &value)?;
        }
        options.push((key, value));
    }
    (family.open)(url, options, retry).map_err(|unopened| match unopened {
        OpenFailure::Unconfigured => {
            bad(format!("its store is not configured in the environment; look at {}", family.usual))
        }
        OpenFailure::Unencrypted => bad("the endpoint of its store begins with http://, which is not encrypted; use \
                                      https://, or set AWS_ALLOW_HTTP=true or `allow_http = true` under [store]"
            .to_owned()),
    })
}

/// Formats a duration for the options of a client.
fn text(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// Sets the options that a builder supports.
fn configured<B, K: FromStr>(builder: B, options: Vec<(String, String)>, set: fn(B, K, String) -> B) -> B {
    options.into_iter().fold(builder, |builder, (name, value)| match name.parse() {
        Ok(key) => set(builder, key, value),
        Err(_) => builder,
    })
}

fn open_s3(url: &Url, options: Vec<(String, String)>, retry: RetryConfig) -> OpenResult {
    let builder = AmazonS3Builder::new().with_url(url.as_str()).with_retry(retry);
    let builder = configured(builder, options, |builder, key, value| builder.with_config(key, value));
    let setting = |key: AmazonS3ConfigKey| builder.get_config_value(&key).unwrap_or_default().to_ascii_lowercase();
    let endpoint = match setting(AmazonS3ConfigKey::S3Endpoint) {
        none if none.is_empty() => setting(AmazonS3ConfigKey::Endpoint),
        endpoint => endpoint,
    };
    let allowed = setting(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    if endpoint.starts_with("http://") && !["1", "true", "on", "yes", "y"].contains(&allowed.as_str()) {
        return Err(OpenFailure::Unencrypted);
    }
    builder.build().map(|store| Arc::new(store) as _).map_err(|_| OpenFailure::Unconfigured)
}

fn open_google(url: &Url, options: Vec<(String, String)>, retry: RetryConfig) -> OpenResult {
    let builder = GoogleCloudStorageBuilder::new().with_url(url.as_str()).with_retry(retry);
    let builder = configured(builder, options, |builder, key, value| builder.with_config(key, value));
    builder.build().map(|store| Arc::new(store) as _).map_err(|_| OpenFailure::Unconfigured)
}

fn open_azure(url: &Url, options: Vec<(String, String)>, retry: RetryConfig) -> OpenResult {
    let builder = MicrosoftAzureBuilder::new().with_url(url.as_str()).with_retry(retry);
    let builder = configured(builder, options, |builder, key, value| builder.with_config(key, value));
    builder.build().map(|store| Arc::new(store) as _).map_err(|_| OpenFailure::Unconfigured)
}

/// Opens a web server, which is read-only. A URL with `http://` opts out of encryption.
fn open_web(url: &Url, settings: &Store, retry: RetryConfig) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let client = ClientOptions::new()
        .with_allow_http(url.scheme() == "http")
        .with_timeout(settings.timeout)
        .with_connect_timeout(settings.connect_timeout);
    let server = &url[..url::Position::BeforePath];
    let store = HttpBuilder::new().with_url(server).with_client_options(client).with_retry(retry).build()?;
    Ok(Arc::new(store))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
