//! Dataset names by the conventions of OpenLineage, so that a catalog can join the lineage of several tools.

use throng_policy::delta_table;
use url::Url;

use crate::store_variables::check_variable;

/// A dataset: a namespace for the store, and a name within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dataset {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// Variable with the Azure storage account, for locations that name only a container.
const AZURE_ACCOUNT: &str = "AZURE_STORAGE_ACCOUNT_NAME";

impl Dataset {
    /// Returns the dataset at a location of a policy. A glob is named by the folder above its first wildcard. Queries
    /// of URLs are dropped, because they may hold a secret.
    pub(super) fn at(location: &str) -> Self {
        let account = std::env::var(AZURE_ACCOUNT).ok();
        let location = delta_table(location).unwrap_or(location);
        Self::found(location, account.filter(|account| check_variable(AZURE_ACCOUNT, account).is_ok()))
    }

    fn found(location: &str, azure_account: Option<String>) -> Self {
        let fixed = without_pattern(location);
        match Url::parse(&fixed) {
            Ok(url) if fixed.contains("://") && url.scheme() != "file" => Self::in_store(&url, azure_account),
            Ok(url) if fixed.contains("://") => Self::local(url.path()),
            _ => {
                let path = std::path::absolute(&fixed).map(|path| path.display().to_string());
                Self::local(&path.unwrap_or(fixed))
            }
        }
    }

    fn local(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        Self { namespace: "file".to_owned(), name: if path.is_empty() { "/" } else { path }.to_owned() }
    }

    fn in_store(url: &Url, azure_account: Option<String>) -> Self {
        let host = url.host_str().unwrap_or_default();
        let namespace = match (url.scheme(), url.username(), azure_account) {
            ("s3" | "s3a", ..) => format!("s3://{host}"),
            ("abfs" | "abfss", container, _) if !container.is_empty() => format!("abfss://{container}@{host}"),
            ("az" | "azure" | "adl" | "abfs" | "abfss", _, Some(account)) => {
                format!("abfss://{host}@{account}.dfs.core.windows.net")
            }
            (scheme, ..) => match url.port() {
                Some(port) => format!("{scheme}://{host}:{port}"),
                None => format!("{scheme}://{host}"),
            },
        };
        let name = url.path().trim_matches('/');
        Self { namespace, name: if name.is_empty() { "/" } else { name }.to_owned() }
    }

    /// Returns the URI of the store.
    pub(super) fn uri(&self) -> String {
        if self.namespace == "file" { "file:///".to_owned() } else { self.namespace.clone() }
    }
}

/// Truncates a location to the folder above its first wildcard. An existing local path is kept, because its name may
/// contain such characters.
fn without_pattern(location: &str) -> String {
    let is_wild = |part: &str| part.contains(['*', '?', '[']);
    let (scheme, path) = location.split_once("://").unwrap_or(("", location));
    // In a URL of a web server a question mark starts the query.
    let is_plain = matches!(scheme, "http" | "https") || (scheme.is_empty() && std::path::Path::new(path).exists());
    if is_plain || !is_wild(path) {
        return location.to_owned();
    }
    let fixed: Vec<&str> = path.split('/').take_while(|part| !is_wild(part)).collect();
    match scheme {
        "" if fixed.is_empty() => ".".to_owned(),
        "" => format!("{}/", fixed.join("/")),
        scheme => format!("{scheme}://{}", fixed.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(location: &str) -> (String, String) {
        let dataset = Dataset::found(location, Some("lake".to_owned()));
        (dataset.namespace, dataset.name)
    }

    #[test]
    fn stores_are_named_as_other_tools_name_them() {
        for (location, namespace, name) in [
            ("s3://census/raw/2026/", "s3://census", "raw/2026"),
            ("s3a://census/raw", "s3://census", "raw"),
            ("s3://census", "s3://census", "/"),
            ("gs://census/raw/*.parquet", "gs://census", "raw"),
            ("az://people/raw/", "abfss://people@lake.dfs.core.windows.net", "raw"),
            ("abfss://people@other.dfs.core.windows.net/raw", "abfss://people@other.dfs.core.windows.net", "raw"),
            ("https://host:8443/raw/a.parquet?signature=secret#part", "https://host:8443", "raw/a.parquet"),
            ("/data/census/", "file", "/data/census"),
            ("/data/census/part-*.parquet", "file", "/data/census"),
            ("file:///data/census", "file", "/data/census"),
            ("/", "file", "/"),
        ] {
            assert_eq!(named(location), (namespace.to_owned(), name.to_owned()), "{location}");
        }
        let unknown = Dataset::found("az://people/raw", None);
        assert_eq!((unknown.namespace.as_str(), unknown.name.as_str()), ("az://people", "raw"));
    }

    #[test]
    fn relative_paths_are_made_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(named("data/*.csv").1, here.join("data").display().to_string());
        assert_eq!(named("*.csv").1, here.display().to_string());
    }
}
