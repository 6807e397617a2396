//! Object stores that are opened when a statement first names them, configured from the environment.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use url::Url;

use super::location::check_location;
use crate::error::JobError;
use crate::store_path::StorePath;

/// Object store registry of a session or a process. `Debug` shows no store, because a store holds credentials.
#[derive(Default)]
pub struct Stores {
    known: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl Stores {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn ObjectStore>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stores")
    }
}

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.known().insert(key(url), store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let unknown = || DataFusionError::Plan("the object store is not known".to_owned());
        self.known().remove(&key(url)).ok_or_else(unknown)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let key = key(url);
        if let Some(store) = self.known().get(&key) {
            return Ok(Arc::clone(store));
        }
        let store = open(url).map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(Arc::clone(self.known().entry(key).or_insert(store)))
    }
}

/// Opens a store as the environment configures it.
fn open(url: &Url) -> Result<Arc<dyn ObjectStore>, JobError> {
    check_location(url.as_str())?;
    Ok(StorePath::parse(url.as_str())?.store)
}

/// Returns the key of a store. It includes the user part of the URL, which is the container of an Azure URL.
fn key(url: &Url) -> String {
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    format!("{}://{}@{host}", url.scheme(), url.username())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_store_is_made_once_for_each_bucket() {
        let stores = Stores::default();
        let one = stores.get_store(&url("s3://first-bucket/a/b.parquet")).unwrap();
        let again = stores.get_store(&url("s3://first-bucket/c/")).unwrap();
        let other = stores.get_store(&url("s3://other-bucket/")).unwrap();
        assert!(Arc::ptr_eq(&one, &again) && !Arc::ptr_eq(&one, &other));
        stores.get_store(&url("file:///")).unwrap();
    }

    #[test]
    fn containers_of_one_account_are_two_stores() {
        let (one, other) = ("abfss://one@account.dfs.core.windows.net/", "abfss://two@account.dfs.core.windows.net/");
        assert_ne!(key(&url(one)), key(&url(other)));
    }

    #[test]
    fn what_is_refused_shows_no_secret() {
        let stores = Stores::default();
        for text in ["s3://key:hunter2@first-bucket/", "ftp://hunter2@host/"] {
            let error = stores.get_store(&url(text)).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
        stores.get_store(&url("s3://first-bucket/")).unwrap();
        assert_eq!(format!("{stores:?}"), "Stores");
    }
}
